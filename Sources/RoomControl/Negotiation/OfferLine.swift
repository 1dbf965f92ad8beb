package import MediaWire

/// An m-line of an offer, and what the answer does with it.
package struct OfferLine<Accepted: Sendable>: Sendable {
    package enum Outcome: Sendable {
        case accepted(Accepted)
        /// Rejected by port 0 in the answer, for this reason.
        case refused(String)
    }

    package var media: MediaDescription
    package var outcome: Outcome

    package var accepted: Accepted? {
        guard case .accepted(let line) = outcome else { return nil }
        return line
    }
}

extension LegPurpose {
    /// Whether what the leg is for flows in that direction, which is the client's.
    func uses(_ direction: SDPDirection) -> Bool { self == .publish ? direction.sends : direction.receives }

    /// Why an m-line of that direction is refused; `nil`: it is not.
    func objection(to direction: SDPDirection) -> String? {
        if uses(direction) { return nil }
        switch self {
        case .publish: return "it is \(direction.rawValue), and publishing needs sendonly or sendrecv"
        case .play: return "it is \(direction.rawValue), and playing needs recvonly or sendrecv"
        }
    }
}

extension MediaKind {
    /// Why an m-line of this kind is refused of which no payload type can be used.
    var noUsablePayloadType: String {
        let names = Codec.allCases.filter { $0.kind == self }.map(\.name).joined(separator: ", ")
        return "none of its payload types is usable: \(names) with an a=rtpmap line is needed"
    }
}

extension NegotiationError {
    /// Every m-line was refused; the first few reasons say why.
    static func noUsableLine(_ refused: [(media: MediaDescription, reason: String)]) -> NegotiationError {
        let reasons = refused.prefix(8).enumerated().map { index, line in
            "m-line \(index + 1) (line \(line.media.line)): \(line.reason)"
        }
        let more = refused.count > 8 ? "; and \(refused.count - 8) more" : ""
        return NegotiationError(
            .notAcceptable, line: refused.first?.media.line,
            reason: "no m-line can be used. \(reasons.joined(separator: "; "))\(more)")
    }
}
