package import MediaWire

/// What the client of a leg wants.
package enum LegPurpose: Hashable, Sendable {
    /// It sends media to the node (WHIP).
    case publish
    /// It receives media from the node (WHEP).
    case play
}

/// How the media of a leg is secured, by the transport that its m-lines name.
package enum LegTransportKind: Hashable, Sendable {
    /// SRTP with keys in `a=crypto` (RFC 4568).
    case plainSRTP
    /// ICE, DTLS and SRTP (RFC 8829).
    case webRTC
}

/// A validated offer of any kind.
package enum LegOffer: Sendable {
    case plain(PlainOffer)
    case webRTC(WebRTCOffer)
}

/// The door through which every offer comes.
///
/// Reading an offer and making its answer are pure functions: identifiers, random numbers and ports are arguments. So an
/// answer leaves without asking a worker anything, and a test needs no node.
package enum Negotiator {
    /// Reads an offer of whatever kind it is.
    ///
    /// - Parameters:
    ///   - text: the body of the request.
    ///   - client: where the HTTP request came from (its socket's peer, or what a trusted proxy said); only the host counts.
    package static func read(
        _ text: String, purpose: LegPurpose, client: TransportAddress
    ) throws(NegotiationError) -> LegOffer {
        let session = try parse(text)
        switch try transportKind(of: session) {
        case .plainSRTP:
            return .plain(try PlainOffer(session, purpose: purpose, client: client))
        case .webRTC: return .webRTC(try WebRTCOffer(session, purpose: purpose))
        }
    }

    static func parse(_ text: String) throws(NegotiationError) -> SessionDescription {
        do {
            return try SessionDescription(parsing: text)
        } catch {
            throw NegotiationError(error)
        }
    }

    /// One leg has one kind of transport, so what the first m-line that names one says goes for all; the others are then
    /// refused line by line.
    static func transportKind(of session: SessionDescription) throws(NegotiationError) -> LegTransportKind {
        guard !session.media.isEmpty else {
            throw NegotiationError(.malformed, reason: "the offer has no m-line")
        }
        for media in session.media where !media.isRejected {
            if isWebRTC(media) { return .webRTC }
            if case .secureRTP = media.profile { return .plainSRTP }
        }
        // Nothing that either of them could answer; the plain reader says so line by line.
        return .plainSRTP
    }

    /// Browsers name UDP/TLS/RTP/SAVPF. With fingerprint and ICE user fragment also RTP/SAVPF means DTLS (RFC 5763, section 5,
    /// as older WebRTC clients wrote it), unless the line carries a key of its own.
    private static func isWebRTC(_ media: MediaDescription) -> Bool {
        switch media.profile {
        case .dtlsRTP, .dtlsSCTP: true
        case .secureRTP: !media.has("crypto") && !media.fingerprints.isEmpty && media.iceUfrag != nil
        case .plainRTP, .other: false
        }
    }
}
