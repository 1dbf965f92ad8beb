/// What the node answered for one m-line of a plain offer.
package struct PlainAnswerLine: Sendable {
    package var kind: MediaKind
    package var mid: String?
    /// Lines with the same number share address and keys: the place of the m-line that carries them.
    package var transport: Int
    package var rtp: TransportAddress
    /// The same as `rtp` when muxed.
    package var rtcp: TransportAddress
    package var rtcpMux: Bool
    package var reducedSizeRTCP: Bool
    /// The key of the offer that the node chose: it seals what the client sends.
    package var clientKey: SRTPMasterKey
    /// It opens what the node sends.
    package var nodeKey: SRTPMasterKey
    package var formats: [PlainOfferBuilder.Format]
    /// What the node will send under, if it sends.
    package var ssrc: UInt32?
    package var extensions: [HeaderExtensionMapping]
    /// The values of `a=rtcp-fb`, such as `nack pli`.
    package var feedback: [String]
}

/// Reads the node's answer to a plain offer.
package enum PlainAnswerReader {
    /// One element for each m-line of the offer, `nil` where the node rejected it.
    ///
    /// Errors: the text is malformed, or is no answer to that offer (RFC 3264, section 6; RFC 4568, section 5.1.2).
    package static func read(
        _ text: String, for offer: PlainOfferBuilder
    ) throws(SDPError) -> [PlainAnswerLine?] {
        let session = try SessionDescription(parsing: text)
        guard session.media.count == offer.lines.count else {
            throw SDPError(
                line: 0, reason: "the answer has \(session.media.count) m-lines, and the offer \(offer.lines.count)")
        }
        let bundle = session.bundles.first?.mids ?? []
        guard offer.bundled || bundle.isEmpty else {
            // RFC 9143, section 7.3: an answer bundles only what the offer does.
            throw SDPError(line: 0, reason: "the answer bundles m-lines, and the offer does not")
        }
        let tagged = bundle.first.flatMap { mid in session.media.firstIndex { $0.mid == mid } }
        var result: [PlainAnswerLine?] = []
        for (index, media) in session.media.enumerated() {
            guard !media.isRejected else {
                result.append(nil)
                continue
            }
            let isBundled = media.mid.map { bundle.contains($0) } ?? false
            let place = isBundled ? tagged ?? index : index
            guard session.media[place].port != 0 else {
                // Its address is the bundle's (RFC 9143, section 7.3.1).
                throw SDPError(
                    line: session.media[place].line, reason: "the m-line whose port the bundle uses has none")
            }
            result.append(try line(media, transport: place, carrier: session.media[place], offer: offer))
        }
        return result
    }

    private static func line(
        _ media: MediaDescription, transport: Int, carrier: MediaDescription, offer: PlainOfferBuilder
    ) throws(SDPError) -> PlainAnswerLine {
        guard let kind = media.kind else {
            throw SDPError(line: media.line, reason: "the answer takes \(media.media), which was not offered")
        }
        guard let crypto = carrier.cryptos.first, let nodeKey = crypto.masterKey else {
            throw SDPError(line: carrier.line, reason: "the m-line has no usable a=crypto line")
        }
        let offered = offer.bundled ? offer.lines[0].keys : offer.lines[transport].keys
        guard offered.indices.contains(crypto.tag - 1), offered[crypto.tag - 1].profile == nodeKey.profile else {
            throw SDPError(line: crypto.line, reason: "the tag \(crypto.tag) with \(crypto.suite) was not offered")
        }
        guard let connection = carrier.connection, let rtp = connection.address(port: carrier.port) else {
            throw SDPError(line: carrier.line, reason: "the m-line has no c= line with a literal address")
        }
        var rtcp = rtp
        if !carrier.rtcpMux {
            let next = UInt16(exactly: Int(carrier.port) + 1)
            guard let port = carrier.rtcp?.port ?? next, port != 0,
                let address = (carrier.rtcp?.connection ?? connection).address(port: port)
            else { throw SDPError(line: carrier.line, reason: "the m-line has no port for RTCP") }
            rtcp = address
        }

        var formats: [PlainOfferBuilder.Format] = []
        let parameters = media.formatParameters
        for map in media.rtpMaps where media.formats.contains(String(map.payloadType)) {
            guard let codec = map.codec, codec.kind == kind else { continue }
            let own = parameters.first { $0.format == String(map.payloadType) }
            formats.append(
                PlainOfferBuilder.Format(codec, payloadType: map.payloadType, parameters: own?.text ?? ""))
        }
        guard !formats.isEmpty else {
            throw SDPError(line: media.line, reason: "the m-line has no payload type of a known codec")
        }
        return PlainAnswerLine(
            kind: kind, mid: media.mid, transport: transport, rtp: rtp, rtcp: rtcp, rtcpMux: carrier.rtcpMux,
            reducedSizeRTCP: carrier.rtcpReducedSize, clientKey: offered[crypto.tag - 1], nodeKey: nodeKey,
            formats: formats, ssrc: media.ssrcs.first?.ssrc,
            extensions: media.extensions.compactMap { map in
                guard let kind = map.kind, let id = UInt8(exactly: map.id) else { return nil }
                return HeaderExtensionMapping(id: id, kind: kind)
            },
            feedback: media.feedback.map(\.value))
    }
}
