package import MediaWire

/// Why an offer gets no answer. The reason is a sentence for the client; it never holds a key.
package struct NegotiationError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The text is no session description.
        case malformed
        /// It is one, but holds nothing that can be answered, or something that must not be.
        case notAcceptable
        /// It offers no codec that the room needs.
        case codecMissing
        /// The tracks of a publication do not fit their m-sections.
        case tracksMismatch
        /// A publication without tracks.
        case nothingPublished
        /// More tracks than a publication may have.
        case tooMany
    }

    package var kind: Kind
    package var reason: String
    /// The line of the offer, counted from 1; `nil`: the offer as a whole.
    package var line: Int?

    package init(_ kind: Kind, line: Int? = nil, reason: String) {
        self.kind = kind
        self.line = line
        self.reason = reason
    }

    package init(_ error: SDPError) {
        self.init(.malformed, line: error.line > 0 ? error.line : nil, reason: error.reason)
    }

    /// RFC 9725, section 4.2: 400 for what is malformed, 406 for what cannot be taken.
    package var httpStatus: Int { kind == .malformed ? 400 : 406 }

    package var description: String { line.map { "line \($0): \(reason)" } ?? reason }
}
