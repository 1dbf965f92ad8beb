package import MediaWire
package import RoomProtocol

/// The offers that a client writes: one that shows what it can do, and the ones that publish.
///
/// Sections 0 (audio) and 1 (video) are inactive and carry the bundle's transport (RFC 9143); tracks follow from mid 2
/// on, and a removed one leaves a dead section behind (RFC 8829, section 5.2.2).
package struct ClientOffer: Sendable {
    /// ICE credentials (RFC 8445, section 5.3) and certificate of the client's side.
    package struct Transport: Sendable, Equatable {
        package var iceUfrag: String
        package var icePwd: String
        /// Of the certificate, SHA-256: pairs of hexadecimal digits with colons between.
        package var fingerprint: String

        package init(iceUfrag: String, icePwd: String, fingerprint: String) {
            self.iceUfrag = iceUfrag
            self.icePwd = icePwd
            self.fingerprint = fingerprint
        }

        /// New credentials: 24 and 144 bits of randomness (RFC 8839, section 5.4, demands 24 and 128).
        package static func random(
            fingerprint: String, using random: inout some RandomNumberGenerator
        ) -> Transport {
            Transport(
                iceUfrag: text(4, &random), icePwd: text(24, &random), fingerprint: fingerprint)
        }

        private static func text(_ count: Int, _ random: inout some RandomNumberGenerator) -> String {
            let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
            return String((0..<count).map { _ in letters[Int.random(in: 0..<letters.count, using: &random)] })
        }
    }

    /// A track in the offer.
    package struct Section: Sendable, Equatable {
        package var localID: String
        package var kind: RoomProtocol.TrackKind
        /// One, or from the smallest picture to the largest.
        package var encodings: [Encoding]
        package fileprivate(set) var isRemoved = false

        package init(localID: String, kind: RoomProtocol.TrackKind, ssrc: UInt32, repairSSRC: UInt32?) {
            self.init(localID: localID, kind: kind, encodings: [Encoding(ssrc: ssrc, repairSSRC: repairSSRC)])
        }

        package init(localID: String, kind: RoomProtocol.TrackKind, encodings: [Encoding]) {
            self.localID = localID
            self.kind = kind
            self.encodings = encodings
        }
    }

    /// One RTP stream of a track.
    package struct Encoding: Sendable, Equatable {
        package var ssrc: UInt32
        /// Of the retransmissions; video only.
        package var repairSSRC: UInt32?
        /// Its RTP stream id (RFC 8851), when the track has several: then no SSRC stands in the offer.
        package var rid: String?

        package init(ssrc: UInt32, repairSSRC: UInt32?, rid: String? = nil) {
            self.ssrc = ssrc
            self.repairSSRC = repairSSRC
            self.rid = rid
        }
    }

    package let transport: Transport
    private let sessionID: UInt64
    private let cname: String
    private var version = 1
    private var sections: [Section] = []

    package init(transport: Transport, sessionID: UInt64, cname: String) {
        self.transport = transport
        // RFC 8829, section 5.2.1: 62 bits.
        self.sessionID = sessionID & 0x3FFF_FFFF_FFFF_FFFF
        self.cname = cname
    }

    /// Sections of tracks, dead ones too, bounded so that an offer stays one frame.
    package static let sectionLimit = 128

    package var isFull: Bool { sections.count >= ClientOffer.sectionLimit }

    /// - Returns: the track's mid.
    package mutating func add(_ section: Section) -> String {
        sections.append(section)
        version += 1
        return String(sections.count + 1)
    }

    package mutating func remove(localID: String) {
        guard let place = sections.firstIndex(where: { $0.localID == localID && !$0.isRemoved }) else { return }
        sections[place].isRemoved = true
        version += 1
    }

    /// The offer as it is now.
    package var description: SessionDescription {
        var media = [
            ClientOffer.section(.audio, mid: "0", .inactive, transport),
            ClientOffer.section(.video, mid: "1", .inactive, transport),
        ]
        var mids = ["0", "1"]
        for (place, section) in sections.enumerated() {
            let mid = String(place + 2)
            if section.isRemoved {
                media.append(ClientOffer.deadSection(section.kind, mid: mid))
                continue
            }
            mids.append(mid)
            var line = ClientOffer.section(section.kind, mid: mid, .sendonly, transport)
            line.attributes.append(SDPAttribute("msid", "\(cname) \(section.localID)"))
            line.attributes += sources(section)
            media.append(line)
        }
        return ClientOffer.session(sessionID, version: version, mids: mids, media)
    }

    /// How the streams of a section are recognised.
    private func sources(_ section: Section) -> [SDPAttribute] {
        let rids = section.encodings.compactMap(\.rid)
        // The largest first, as browsers write them.
        if !rids.isEmpty {
            return rids.reversed().map { SDPAttribute("rid", "\($0) send") }
                + [SDPAttribute("simulcast", "send \(rids.reversed().joined(separator: ";"))")]
        }
        var attributes: [SDPAttribute] = []
        for encoding in section.encodings {
            if let repair = encoding.repairSSRC {
                attributes.append(SDPAttribute("ssrc-group", "FID \(encoding.ssrc) \(repair)"))
            }
            for ssrc in [encoding.ssrc, encoding.repairSSRC].compactMap({ $0 }) {
                attributes.append(DeclaredSSRC(ssrc: ssrc, cname: cname).attribute)
                attributes.append(SDPAttribute("ssrc", "\(ssrc) msid:\(cname) \(section.localID)"))
            }
        }
        return attributes
    }

    /// `capsdp`: two sections that send and receive, two that only receive; opus, VP8, VP9, H264.
    package static func capabilities(_ transport: Transport) -> SessionDescription {
        session(
            1, version: 1, mids: ["0", "1", "2", "3"],
            [
                section(.audio, mid: "0", .inactive, transport), section(.video, mid: "1", .inactive, transport),
                section(.audio, mid: "2", .recvonly, transport), section(.video, mid: "3", .recvonly, transport),
            ])
    }

    // MARK: Parts

    private static let profile = "UDP/TLS/RTP/SAVPF"

    private static func session(
        _ id: UInt64, version: Int, mids: [String], _ media: [MediaDescription]
    ) -> SessionDescription {
        SessionDescription(
            origin: "- \(id) \(version) IN IP4 127.0.0.1", name: "-",
            attributes: [
                SDPGroup(semantics: "BUNDLE", mids: mids).attribute, SDPAttribute("msid-semantic", "WMS"),
            ],
            media: media)
    }

    private static func section(
        _ kind: RoomProtocol.TrackKind, mid: String, _ direction: SDPDirection, _ transport: Transport
    ) -> MediaDescription {
        let formats = kind == .audio ? audioFormats : videoFormats
        var attributes = [
            RTCPAttribute(port: 9, connection: SDPConnection(isIPv6: false, host: "0.0.0.0")).attribute,
            SDPAttribute("ice-ufrag", transport.iceUfrag), SDPAttribute("ice-pwd", transport.icePwd),
            SDPAttribute("ice-options", "trickle"),
            SDPAttribute("fingerprint", "sha-256 \(transport.fingerprint)"), SDPAttribute("setup", "actpass"),
            SDPAttribute("mid", mid),
        ]
        attributes += extensions(kind).map { ExtensionMap(id: $0.id, kind: $0.kind).attribute }
        attributes += [
            SDPAttribute(direction.rawValue), SDPAttribute("rtcp-mux"), SDPAttribute("rtcp-rsize"),
        ]
        for format in formats { attributes += format.attributes }
        return MediaDescription(
            media: kind.rawValue, port: 9, transport: profile,
            formats: formats.flatMap { [$0.payloadType] + [$0.repairType].compactMap { $0 } }.map { String($0) },
            connection: SDPConnection(isIPv6: false, host: "0.0.0.0"), attributes: attributes)
    }

    private static func deadSection(_ kind: RoomProtocol.TrackKind, mid: String) -> MediaDescription {
        let format = (kind == .audio ? audioFormats : videoFormats)[0]
        return MediaDescription(
            media: kind.rawValue, port: 0, transport: profile, formats: [String(format.payloadType)],
            connection: SDPConnection(isIPv6: false, host: "0.0.0.0"),
            attributes: [
                SDPAttribute("mid", mid), SDPAttribute("inactive"),
                RTPMap(payloadType: format.payloadType, codec: format.codec).attribute,
            ])
    }

    /// The numbers are the ones browsers use for these codecs.
    private struct Format: Sendable {
        var codec: Codec
        var payloadType: UInt8
        var repairType: UInt8?
        var parameters: String?

        var attributes: [SDPAttribute] {
            var result = [RTPMap(payloadType: payloadType, codec: codec).attribute]
            let feedback =
                codec == .opus ? ["transport-cc"] : ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"]
            result += feedback.map { RTCPFeedbackLine(payloadType: payloadType, value: $0).attribute }
            if let parameters {
                result.append(FormatParameters(payloadType: payloadType, text: parameters).attribute)
            }
            if let repairType {
                result.append(SDPAttribute("rtpmap", "\(repairType) rtx/90000"))
                result.append(FormatParameters(payloadType: repairType, text: "apt=\(payloadType)").attribute)
            }
            return result
        }
    }

    private static let audioFormats = [
        Format(codec: .opus, payloadType: 111, parameters: "minptime=10;useinbandfec=1")
    ]

    private static let videoFormats = [
        Format(codec: .vp8, payloadType: 96, repairType: 97),
        Format(codec: .vp9, payloadType: 98, repairType: 99, parameters: "profile-id=0"),
        Format(
            codec: .h264, payloadType: 102, repairType: 103,
            parameters: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"),
    ]

    private static func extensions(
        _ kind: RoomProtocol.TrackKind
    ) -> [(id: UInt8, kind: HeaderExtensionKind)] {
        let shared: [(id: UInt8, kind: HeaderExtensionKind)] = [
            (2, .absoluteSendTime), (3, .transportWideCC), (4, .mid),
        ]
        return kind == .audio
            ? [(1, .audioLevel)] + shared
            : [(14, .transmissionOffset)] + shared + [(10, .rid), (11, .repairedRid)]
    }
}
