package import MediaContract
import MediaWire
package import RoomProtocol

/// The answer to a WebRTC offer of a leg. Step 2 of 2.
package struct WebRTCAnswer: Sendable {
    /// The session description. It holds the ICE password: it goes to the client and nowhere else.
    package var text: String
    /// Under which the node's reports leave.
    package var localSSRC: UInt32
    /// Playing: the SSRCs that the answer names, one for each accepted m-line, in their order.
    package var streams: [Stream]

    package struct Stream: Hashable, Sendable {
        package var ssrc: UInt32
        /// `nil`: the client has no retransmission.
        package var rtxSSRC: UInt32?
    }

    /// What the node brings to an answer.
    package struct Terms: Sendable {
        package var credentials: ICECredentials
        /// SHA-256 of the node's certificate, as SDP writes it.
        package var fingerprint: String
        package var candidates: [ICECandidate]
        /// The CNAME under which the node sends on this leg (RFC 3550, section 6.5.1): plain ASCII, no space.
        package var cname: String

        package init(credentials: ICECredentials, fingerprint: String, candidates: [ICECandidate], cname: String) {
            self.credentials = credentials
            self.fingerprint = fingerprint
            self.candidates = candidates
            self.cname = cname
        }
    }

    /// The node's side of a new ICE session as a fragment (RFC 9725, section 4.3.3): what the client applies in place of the
    /// answer's. It holds the ICE password.
    package static func fragment(
        _ sections: [TrickleFragment.Section], credentials: ICECredentials, candidates: [ICECandidate]
    ) -> String {
        var lines = ["a=ice-lite", "a=ice-options:trickle"]
        let mids = sections.compactMap(\.mid)
        if !mids.isEmpty { lines.append("a=group:BUNDLE \(mids.joined(separator: " "))") }
        if let first = sections.first {
            lines.append("m=\(first.kind.name) 9 \(first.transport) \(first.format)")
            if let mid = first.mid { lines.append("a=mid:\(mid)") }
        }
        lines += ["a=ice-ufrag:\(credentials.usernameFragment)", "a=ice-pwd:\(credentials.password)"]
        lines += candidates.map { "a=\($0.attribute.name):\($0.attribute.value ?? "")" }
        lines.append("a=end-of-candidates")
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    /// Makes the answer.
    ///
    /// - Parameter offer: settled, if it publishes: each m-line has one codec.
    package static func make(
        _ offer: WebRTCOffer, terms: Terms, random: inout some RandomNumberGenerator
    ) -> WebRTCAnswer {
        var taken = Set(offer.acceptedLines.flatMap { $0.line.encodings.flatMap(\.sources) })
        func freshSSRC(_ random: inout some RandomNumberGenerator) -> UInt32 {
            let ssrc = SSRCPool.draw(besides: taken, using: &random)
            taken.insert(ssrc)
            return ssrc
        }
        let localSSRC = freshSSRC(&random)
        var streams: [Stream] = []
        if offer.purpose == .play {
            for (_, line) in offer.acceptedLines {
                let hasRTX = line.codecs.contains { $0.rtxPayloadType != nil }
                streams.append(Stream(ssrc: freshSSRC(&random), rtxSSRC: hasRTX ? freshSSRC(&random) : nil))
            }
        }
        let writer = WebRTCAnswerWriter(
            offer: offer, terms: terms, streams: streams,
            // 62 bits, as RFC 8829, section 5.2.1 wishes the session id to be a positive 64-bit number.
            sessionID: UInt64.random(in: 0..<(1 << 62), using: &random))
        return WebRTCAnswer(text: writer.session.text, localSSRC: localSSRC, streams: streams)
    }
}

/// Writes the session description of a WebRTC answer (RFC 3264, section 6; RFC 8829, section 5.3).
struct WebRTCAnswerWriter {
    var offer: WebRTCOffer
    var terms: WebRTCAnswer.Terms
    var streams: [WebRTCAnswer.Stream]
    var sessionID: UInt64

    var session: SessionDescription {
        var session = SessionDescription(
            origin: "- \(sessionID) 1 IN IP4 0.0.0.0", name: "-", timing: ["0 0"])
        // All checks are the client's (RFC 8445, section 2.5).
        session.attributes.append(SDPAttribute("ice-lite"))
        if !offer.bundle.isEmpty {
            session.attributes.append(SDPGroup(semantics: "BUNDLE", mids: offer.bundle).attribute)
        }
        session.attributes.append(SDPAttribute("msid-semantic", "WMS *"))
        if offer.allowsMixedExtensions { session.attributes.append(SDPAttribute("extmap-allow-mixed")) }
        var accepted = 0
        // As many m-lines as the offer has, in its order (RFC 3264, section 6).
        for index in offer.lines.indices {
            let line = offer.lines[index]
            guard let usable = line.accepted else {
                session.media.append(
                    line.media.refusal(connection: SDPConnection(isIPv6: false, host: "0.0.0.0")))
                continue
            }
            session.media.append(answer(usable, place: accepted, index: index, offered: line.media))
            accepted += 1
        }
        return session
    }

    private func answer(
        _ line: WebRTCOffer.AcceptedLine, place: Int, index: Int, offered: MediaDescription
    ) -> MediaDescription {
        var attributes: [SDPAttribute] = []
        if let mid = line.mid { attributes.append(SDPAttribute("mid", mid)) }
        attributes.append(SDPAttribute(offer.purpose == .publish ? "recvonly" : "sendonly"))
        attributes += transport(isTagged: index == offer.taggedLine)
        attributes.append(SDPAttribute("rtcp-mux"))
        if offered.rtcpReducedSize { attributes.append(SDPAttribute("rtcp-rsize")) }
        var formats: [UInt8] = []
        for codec in line.codecs {
            formats.append(codec.payloadType)
            attributes += self.attributes(of: codec)
        }
        // Behind all codecs: what stands first is what is sent.
        for codec in line.codecs {
            if let type = codec.rtxPayloadType {
                formats.append(type)
                attributes.append(SDPAttribute("rtpmap", "\(type) rtx/\(codec.codec.clockRate)"))
                attributes.append(FormatParameters(payloadType: type, text: "apt=\(codec.payloadType)").attribute)
            }
            if let type = codec.redPayloadType {
                formats.append(type)
                attributes.append(SDPAttribute("rtpmap", "\(type) red/\(codec.codec.clockRate)/2"))
                attributes.append(
                    FormatParameters(payloadType: type, text: "\(codec.payloadType)/\(codec.payloadType)").attribute)
            }
        }
        for offered in line.extensions {
            let map = ExtensionMap(
                id: offered.mapping.id, direction: offered.direction?.reversed, kind: offered.mapping.kind)
            attributes.append(map.attribute)
        }
        if !line.layers.isEmpty {
            attributes += line.layers.map { SDPAttribute("rid", "\($0) recv") }
            attributes.append(SDPAttribute("simulcast", "recv \(line.layers.joined(separator: ";"))"))
        }
        if streams.indices.contains(place) { attributes += declaration(of: streams[place], line.kind, place) }
        return MediaDescription(
            media: offered.media, port: 9, transport: offered.transport, formats: formats.map { String($0) },
            connection: SDPConnection(isIPv6: false, host: "0.0.0.0"), attributes: attributes)
    }

    /// Every m-line repeats them, for clients that look at each by itself; the candidates stand where the bundle's transport
    /// is described.
    private func transport(isTagged: Bool) -> [SDPAttribute] {
        var attributes = [
            SDPAttribute("ice-ufrag", terms.credentials.usernameFragment),
            SDPAttribute("ice-pwd", terms.credentials.password),
            SDPAttribute("fingerprint", "sha-256 \(terms.fingerprint)"),
            SDPAttribute("setup", offer.transport.role == .client ? "active" : "passive"),
        ]
        if offer.trickles { attributes.append(SDPAttribute("ice-options", "trickle")) }
        if isTagged {
            attributes += terms.candidates.map(\.attribute)
            attributes.append(SDPAttribute("end-of-candidates"))
        }
        return attributes
    }

    private func attributes(of codec: WebRTCOffer.OfferedCodec) -> [SDPAttribute] {
        var attributes = [RTPMap(payloadType: codec.payloadType, codec: codec.codec).attribute]
        if !codec.parameters.isEmpty {
            attributes.append(FormatParameters(payloadType: codec.payloadType, text: codec.parameters).attribute)
        }
        return attributes
            + codec.feedback.webRTCValues.map {
                RTCPFeedbackLine(payloadType: codec.payloadType, value: $0).attribute
            }
    }

    /// One stream of media for the whole leg: what it plays belongs together.
    private func declaration(of stream: WebRTCAnswer.Stream, _ kind: MediaKind, _ place: Int) -> [SDPAttribute] {
        var attributes = [SDPAttribute("msid", "\(terms.cname) \(kind.name)\(place)")]
        if let rtx = stream.rtxSSRC { attributes.append(SDPAttribute("ssrc-group", "FID \(stream.ssrc) \(rtx)")) }
        attributes.append(DeclaredSSRC(ssrc: stream.ssrc, cname: terms.cname).attribute)
        if let rtx = stream.rtxSSRC { attributes.append(DeclaredSSRC(ssrc: rtx, cname: terms.cname).attribute) }
        return attributes
    }
}

extension ICECandidate {
    /// `a=candidate` (RFC 8839, section 5.1; RFC 6544, section 4.5).
    var attribute: SDPAttribute {
        SDPAttribute(
            "candidate",
            "\(foundation) 1 \(`protocol`) \(priority) \(ip) \(port) typ \(type)"
                + (tcpType.map { " tcptype \($0)" } ?? ""))
    }
}
