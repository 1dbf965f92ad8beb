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
