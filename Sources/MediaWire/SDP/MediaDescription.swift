/// One m-line with what follows it (RFC 8866, section 5.14).
package struct MediaDescription: Equatable, Sendable {
    /// `audio`, `video`, `application` and so on.
    package var media: String
    package var port: UInt16
    /// As written, such as `RTP/SAVPF`.
    package var transport: String
    /// Payload types, for RTP; other words for other transports.
    package var formats: [String]
    /// Its own `c=` line.
    package var ownConnection: SDPConnection?
    /// Lines of other types (`i`, `b`, `k`), in their order.
    package var otherLines: [SDPLine]
    package var attributes: [SDPAttribute]
    /// Where the m-line stands; 0 if it was made here. No part of equality.
    package var line: Int

    /// What the session level says for every m-line that does not say it itself.
    var sessionConnection: SDPConnection?
    var sessionAttributes: [SDPAttribute] = []

    package init(
        media: String, port: UInt16, transport: String, formats: [String], connection: SDPConnection? = nil,
        otherLines: [SDPLine] = [], attributes: [SDPAttribute] = [], line: Int = 0
    ) {
        self.media = media
        self.port = port
        self.transport = transport
        self.formats = formats
        ownConnection = connection
        self.otherLines = otherLines
        self.attributes = attributes
        self.line = line
    }

    /// Of the formats, the payload types that RTP can have beside muxed RTCP, each once: with the marker bit, 64 to 95 read as
    /// types of RTCP packets (RFC 5761, section 4).
    package var payloadTypes: [UInt8] {
        var seen: Set<UInt8> = []
        return formats.compactMap { format in
            guard let type = UInt8(format), String(type) == format, type < 64 || (96...127).contains(type),
                seen.insert(type).inserted
            else { return nil }
            return type
        }
    }

    /// The m-line of an answer that refuses this one: port 0 and inactive, under its `a=mid`, with the offer's formats (RFC 3264,
    /// section 6), each once even where the offer repeats one.
    package func refusal(connection: SDPConnection? = nil) -> MediaDescription {
        var seen: Set<String> = []
        var refusal = MediaDescription(
            media: media, port: 0, transport: transport, formats: formats.filter { seen.insert($0).inserted },
            connection: connection)
        if let mid { refusal.attributes.append(SDPAttribute("mid", mid)) }
        refusal.attributes.append(SDPAttribute(SDPDirection.inactive.rawValue))
        return refusal
    }

    package static func == (a: MediaDescription, b: MediaDescription) -> Bool {
        a.media == b.media && a.port == b.port && a.transport == b.transport && a.formats == b.formats
            && a.ownConnection == b.ownConnection && a.otherLines == b.otherLines && a.attributes == b.attributes
            && a.sessionConnection == b.sessionConnection && a.sessionAttributes == b.sessionAttributes
    }
}

/// Which way media flows, seen by the one who wrote the description (RFC 8866, section 6.7).
package enum SDPDirection: String, Hashable, Sendable, CaseIterable {
    case sendrecv, sendonly, recvonly, inactive

    package var sends: Bool { self == .sendrecv || self == .sendonly }
    package var receives: Bool { self == .sendrecv || self == .recvonly }

    /// The same flow seen from the other side.
    package var reversed: SDPDirection {
        switch self {
        case .sendonly: .recvonly
        case .recvonly: .sendonly
        case .sendrecv, .inactive: self
        }
    }
}

extension MediaDescription {
    /// What the m-line carries, if it is audio or video.
    package var kind: MediaKind? { MediaKind.allCases.first { $0.name == media } }

    package var profile: SDPTransportProfile { SDPTransportProfile(transport) }

    /// Where media is expected: its own `c=`, else that of the session.
    package var connection: SDPConnection? { ownConnection ?? sessionConnection }

    /// Its own direction, else that of the session, else `sendrecv` (RFC 8866, section 6.7).
    package var direction: SDPDirection {
        for list in [attributes, sessionAttributes] {
            for attribute in list where attribute.value == nil {
                if let direction = SDPDirection(rawValue: attribute.name) { return direction }
            }
        }
        return .sendrecv
    }

    /// Names the m-line in groups and in the MID header extension (RFC 5888, section 4).
    package var mid: String? { own("mid")?.value }

    package var rtpMaps: [RTPMap] { views { a throws(SDPError) in try RTPMap(a) } }
    package var formatParameters: [FormatParameters] { views { a throws(SDPError) in try FormatParameters(a) } }
    package var feedback: [RTCPFeedbackLine] { views { a throws(SDPError) in try RTCPFeedbackLine(a) } }
    package var cryptos: [CryptoAttribute] { views { a throws(SDPError) in try CryptoAttribute(a) } }
    package var ssrcGroups: [SSRCGroup] { views { a throws(SDPError) in try SSRCGroup(a) } }
    package var rids: [RestrictionID] { views { a throws(SDPError) in try RestrictionID(a) } }

    /// Its own, and those that the session declares for every m-line (RFC 8285, section 5).
    package var extensions: [ExtensionMap] {
        (attributes + sessionAttributes).compactMap { try? ExtensionMap($0) }
    }

    /// The SSRCs that `a=ssrc` declares, each once, in their order (RFC 5576, section 4.1).
    package var ssrcs: [DeclaredSSRC] {
        var result: [DeclaredSSRC] = []
        var places: [UInt32: Int] = [:]
        for attribute in attributes {
            guard let line = try? SSRCLine(attribute) else { continue }
            let place = places[line.ssrc] ?? result.count
            if place == result.count {
                places[line.ssrc] = place
                result.append(DeclaredSSRC(ssrc: line.ssrc, cname: nil))
            }
            if line.name == "cname", result[place].cname == nil { result[place].cname = line.value }
        }
        return result
    }

    /// `a=simulcast` (RFC 8853, section 5.1).
    package var simulcast: Simulcast? { attributes.lazy.compactMap { try? Simulcast($0) }.first }

    /// `a=rtcp` (RFC 3605).
    package var rtcp: RTCPAttribute? { attributes.lazy.compactMap { try? RTCPAttribute($0) }.first }

    /// RTP and RTCP on one port (RFC 5761), wished or demanded (RFC 8858).
    package var rtcpMux: Bool { has("rtcp-mux") || has("rtcp-mux-only") }

    /// Reduced-size RTCP (RFC 5506).
    package var rtcpReducedSize: Bool { has("rtcp-rsize") }

    /// Only wanted inside a bundle; its port 0 is then no rejection (RFC 9143, section 6).
    package var isBundleOnly: Bool { has("bundle-only") }

    package var allowsMixedExtensions: Bool { has("extmap-allow-mixed") || inherited("extmap-allow-mixed") != nil }

    /// Rejected in an answer; not wanted (any more) in an offer.
    package var isRejected: Bool { port == 0 && !isBundleOnly }

    // WebRTC: its own, else those of the session
    package var iceUfrag: String? { inherited("ice-ufrag")?.value }
    package var icePwd: String? { inherited("ice-pwd")?.value }
    package var setup: String? { inherited("setup")?.value }
    package var fingerprints: [Fingerprint] {
        let own: [Fingerprint] = views { a throws(SDPError) in try Fingerprint(a) }
        return own.isEmpty ? sessionAttributes.compactMap { try? Fingerprint($0) } : own
    }

    /// The first attribute of that name on the m-line itself.
    package func own(_ name: String) -> SDPAttribute? { attributes.first { $0.name == name } }

    package func has(_ name: String) -> Bool { own(name) != nil }

    /// The first attribute of that name on the m-line, else at session level.
    package func inherited(_ name: String) -> SDPAttribute? {
        own(name) ?? sessionAttributes.first { $0.name == name }
    }

    /// The values of all attributes of that name on the m-line itself, such as candidates.
    package func values(_ name: String) -> [String] { attributes.filter { $0.name == name }.map { $0.value ?? "" } }

    private func views<T>(_ make: (SDPAttribute) throws(SDPError) -> T?) -> [T] {
        var result: [T] = []
        for attribute in attributes {
            if let view = try? make(attribute) { result.append(view) }
        }
        return result
    }
}

/// The transports that m-lines name.
package enum SDPTransportProfile: Hashable, Sendable {
    /// RTP without protection.
    case plainRTP(feedback: Bool)
    /// SRTP with keys from the description (RFC 4568).
    case secureRTP(feedback: Bool)
    /// SRTP with keys from DTLS (RFC 5764): WebRTC.
    case dtlsRTP(feedback: Bool)
    /// SCTP over DTLS (RFC 8841): WebRTC data channels.
    case dtlsSCTP
    case other

    package init(_ text: some StringProtocol) {
        self =
            switch text.uppercased() {
            case "RTP/AVP": .plainRTP(feedback: false)
            case "RTP/AVPF": .plainRTP(feedback: true)
            case "RTP/SAVP": .secureRTP(feedback: false)
            case "RTP/SAVPF": .secureRTP(feedback: true)
            case "UDP/TLS/RTP/SAVP", "TCP/TLS/RTP/SAVP": .dtlsRTP(feedback: false)
            case "UDP/TLS/RTP/SAVPF", "TCP/TLS/RTP/SAVPF": .dtlsRTP(feedback: true)
            case "UDP/DTLS/SCTP", "TCP/DTLS/SCTP", "DTLS/SCTP": .dtlsSCTP
            default: .other
            }
    }

    /// The AVPF family (RFC 4585, RFC 5124): feedback messages may be negotiated.
    package var hasFeedback: Bool {
        switch self {
        case .plainRTP(let feedback), .secureRTP(let feedback), .dtlsRTP(let feedback): feedback
        case .dtlsSCTP, .other: false
        }
    }

    package var isRTP: Bool {
        switch self {
        case .plainRTP, .secureRTP, .dtlsRTP: true
        case .dtlsSCTP, .other: false
        }
    }
}
