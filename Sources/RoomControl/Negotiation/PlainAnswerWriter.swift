import MediaContract
import MediaWire

/// Writes the session description of a plain answer (RFC 3264, section 6).
struct PlainAnswerWriter {
    var offer: PlainOffer
    var ports: [PlainPorts]
    var specs: [TransportSpec]
    var playLines: [PlayLine]
    var terms: PlainAnswer.Terms
    var sessionID: UInt64

    var session: SessionDescription {
        let connection = SDPConnection(terms.announced)
        var session = SessionDescription(
            origin: "- \(sessionID) 1 \(connection.text)", name: "-", connection: connection, timing: ["0 0"])
        for plan in offer.transports where !plan.bundle.isEmpty {
            session.attributes.append(SDPGroup(semantics: "BUNDLE", mids: plan.bundle).attribute)
        }
        if offer.allowsMixedExtensions { session.attributes.append(SDPAttribute("extmap-allow-mixed")) }
        // As many m-lines as the offer has, in its order (RFC 3264, section 6).
        for index in offer.lines.indices {
            let line = offer.lines[index]
            switch line.outcome {
            case .accepted(let accepted): session.media.append(answer(accepted, index: index, offered: line.media))
            case .refused: session.media.append(line.media.refusal())
            }
        }
        return session
    }

    private func answer(
        _ line: PlainOffer.AcceptedLine, index: Int, offered: MediaDescription
    ) -> MediaDescription {
        let plan = offer.transports[line.transport]
        let port = ports[line.transport]
        var attributes: [SDPAttribute] = []
        if let mid = line.mid { attributes.append(SDPAttribute("mid", mid)) }
        let direction = offer.purpose == .publish ? SDPDirection.recvonly : .sendonly
        attributes.append(SDPAttribute(direction.rawValue))

        if plan.rtcpMux {
            attributes.append(SDPAttribute("rtcp-mux"))
        } else {
            attributes.append(
                RTCPAttribute(port: port.rtcpPort, connection: SDPConnection(terms.announced)).attribute)
        }
        if plan.reducedSizeRTCP { attributes.append(SDPAttribute("rtcp-rsize")) }
        // In a bundle the transport's attributes stand at the tagged m-line only (RFC 9143, section 7.3.1).
        if index == plan.taggedLine {
            let crypto = CryptoAttribute(tag: plan.cryptoTag, key: specs[line.transport].outbound)
            attributes += [crypto.attribute].compactMap { $0 }
        }

        for codec in line.codecs {
            attributes.append(RTPMap(payloadType: codec.payloadType, codec: codec.codec).attribute)
            if !codec.parameters.isEmpty {
                attributes.append(FormatParameters(payloadType: codec.payloadType, text: codec.parameters).attribute)
            }
            for value in codec.feedback.values {
                attributes.append(RTCPFeedbackLine(payloadType: codec.payloadType, value: value).attribute)
            }
        }
        for offered in line.extensions {
            let map = ExtensionMap(
                id: offered.mapping.id, direction: offered.direction?.reversed, kind: offered.mapping.kind)
            attributes.append(map.attribute)
        }
        if let play = playLines.first(where: { $0.index == index }) {
            attributes.append(DeclaredSSRC(ssrc: play.ssrc, cname: terms.cname).attribute)
        }
        return MediaDescription(
            media: offered.media, port: port.port, transport: offered.transport,
            formats: line.codecs.map { String($0.payloadType) }, attributes: attributes)
    }
}

extension FeedbackSet {
    /// The members and how `a=rtcp-fb` writes them (RFC 4585, section 4.2; RFC 5104, section 7.1).
    static let written: [(FeedbackSet, String)] = [(.nack, "nack"), (.pli, "nack pli"), (.fir, "ccm fir")]

    var values: [String] { FeedbackSet.written.filter { contains($0.0) }.map(\.1) }

    /// What a line says, if it is something that Parlor does.
    init(line value: String) {
        self = FeedbackSet.written.first { $0.1 == value.lowercased() }?.0 ?? []
    }
}
