/// The offer of a plain SRTP client: what `parlor sdp` and parlor-load post to the node.
package struct PlainOfferBuilder: Sendable {
    package enum Purpose: Hashable, Sendable {
        case publish, play
    }

    /// A payload type that is offered.
    package struct Format: Hashable, Sendable {
        package var codec: Codec
        package var payloadType: UInt8
        /// What stands in `a=fmtp`; empty: nothing.
        package var parameters: String

        /// With the payload type that clients commonly use for the codec (96...127, RFC 3551, section 3).
        package init(_ codec: Codec, payloadType: UInt8? = nil, parameters: String? = nil) {
            self.codec = codec
            self.payloadType =
                switch codec {
                case .opus: payloadType ?? 111
                case .vp8: payloadType ?? 96
                case .vp9: payloadType ?? 98
                case .h264: payloadType ?? 102
                case .av1: payloadType ?? 106
                }
            self.parameters =
                switch codec {
                case .opus: parameters ?? "minptime=10;useinbandfec=1"
                case .h264: parameters ?? "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"
                case .vp9: parameters ?? "profile-id=0"
                case .vp8, .av1: parameters ?? ""
                }
        }
    }

    /// One m-line.
    package struct Line: Sendable {
        /// The preferred one first, all of one kind; a publisher offers what it sends.
        package var formats: [Format]
        /// Where the client receives RTP. A publisher that does not know its port yet writes 9: the node learns the address
        /// from the first authentic packet.
        package var port: UInt16
        /// `nil`: the next port. Of no meaning with muxed RTCP.
        package var rtcpPort: UInt16?
        /// The keys that the client offers to seal with, the preferred one first; the n-th has the tag n.
        package var keys: [SRTPMasterKey]
        package var mid: String?
        /// What a publisher will send under.
        package var ssrc: UInt32?

        package init(
            formats: [Format], port: UInt16 = 9, rtcpPort: UInt16? = nil, keys: [SRTPMasterKey], mid: String? = nil,
            ssrc: UInt32? = nil
        ) {
            self.formats = formats
            self.port = port
            self.rtcpPort = rtcpPort
            self.keys = keys
            self.mid = mid
            self.ssrc = ssrc
        }
    }

    package var purpose: Purpose
    /// The client's own address; the port is not used. The node sends to it only if the request comes from it too.
    package var address: TransportAddress
    package var lines: [Line]
    package var rtcpMux: Bool
    /// All m-lines on the first one's port and keys (RFC 9143): every line then needs a mid, and RTCP is muxed.
    package var bundled: Bool
    /// NACK, PLI and FIR, by the profile RTP/SAVPF (RFC 5124); else RTP/SAVP.
    package var feedback: Bool
    package var reducedSizeRTCP: Bool
    package var extensions: [HeaderExtensionMapping]
    package var cname: String

    package init(
        purpose: Purpose, address: TransportAddress, lines: [Line], rtcpMux: Bool = true, bundled: Bool = false,
        feedback: Bool = true, reducedSizeRTCP: Bool = false, extensions: [HeaderExtensionMapping] = [],
        cname: String = "client"
    ) {
        self.purpose = purpose
        self.address = address
        self.lines = lines
        self.rtcpMux = rtcpMux || bundled
        self.bundled = bundled
        self.feedback = feedback
        self.reducedSizeRTCP = reducedSizeRTCP
        self.extensions = extensions
        self.cname = cname
    }

    /// The offer to post, with content type `application/sdp`.
    package var text: String { session.text }

    package var session: SessionDescription {
        let connection = SDPConnection(address)
        var session = SessionDescription(
            origin: "- 1 1 \(connection.text)", name: "-", connection: connection, timing: ["0 0"])
        if bundled {
            session.attributes.append(SDPGroup(semantics: "BUNDLE", mids: lines.compactMap(\.mid)).attribute)
        }
        session.media = lines.map { media($0, in: connection) }
        return session
    }

    private func media(_ line: Line, in connection: SDPConnection) -> MediaDescription {
        // In a bundle, all m-lines name the same address (RFC 9143, section 7.1.3 lets later offers do so; the node takes
        // it from the start).
        let place = bundled ? lines.first ?? line : line
        var attributes: [SDPAttribute] = []
        if let mid = line.mid { attributes.append(SDPAttribute("mid", mid)) }
        attributes.append(SDPAttribute(purpose == .publish ? "sendonly" : "recvonly"))
        if rtcpMux {
            attributes.append(SDPAttribute("rtcp-mux"))
        } else if let port = line.rtcpPort {
            attributes.append(RTCPAttribute(port: port, connection: connection).attribute)
        }
        if reducedSizeRTCP { attributes.append(SDPAttribute("rtcp-rsize")) }
        for (index, key) in place.keys.enumerated() {
            attributes += [CryptoAttribute(tag: index + 1, key: key).attribute].compactMap { $0 }
        }
        for format in line.formats {
            attributes.append(RTPMap(payloadType: format.payloadType, codec: format.codec).attribute)
            if !format.parameters.isEmpty {
                attributes.append(FormatParameters(payloadType: format.payloadType, text: format.parameters).attribute)
            }
            guard feedback else { continue }
            for value in format.codec.kind == .audio ? ["nack"] : ["nack", "nack pli", "ccm fir"] {
                attributes.append(RTCPFeedbackLine(payloadType: format.payloadType, value: value).attribute)
            }
        }
        for mapping in extensions where mapping.kind != .mid || line.mid != nil {
            attributes.append(ExtensionMap(id: mapping.id, kind: mapping.kind).attribute)
        }
        if let ssrc = line.ssrc { attributes.append(DeclaredSSRC(ssrc: ssrc, cname: cname).attribute) }
        return MediaDescription(
            media: (line.formats.first?.codec.kind ?? .audio).name, port: place.port,
            transport: feedback ? "RTP/SAVPF" : "RTP/SAVP", formats: line.formats.map { String($0.payloadType) },
            attributes: attributes)
    }
}
