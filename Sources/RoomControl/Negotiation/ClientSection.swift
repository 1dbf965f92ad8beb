import MediaWire
import RoomProtocol

/// One section of a client's capabilities: what it offers of that which Parlor uses.
struct ClientSection {
    /// Where its m-line stands.
    var line: Int
    var kind: MediaKind
    /// The payload type of each codec that suits best, and of those that suit alike the first one.
    var codecs: [Codec: Offered] = [:]
    /// In the order of the offer.
    var extensions: [HeaderExtensionMapping] = []

    struct Offered {
        var payloadType: UInt8
        var rtxPayloadType: UInt8?
        /// Of the codec with redundancy (RFC 2198).
        var redPayloadType: UInt8?
        var parameters: [String: RTPCapabilities.Parameter]
        var feedback: ClientFeedback
        fileprivate var rank: Int

        /// RED, as rtpcaps appends it behind the two codecs: the clients write its fmtp themselves.
        var redCapability: RTPCapabilities.Codec? {
            redPayloadType.map {
                RTPCapabilities.Codec(name: "red", kind: .audio, clockRate: 48_000, channels: 2, payloadType: Int($0))
            }
        }

        func capability(_ codec: Codec) -> RTPCapabilities.Codec {
            RTPCapabilities.Codec(
                name: codec.name, kind: TrackKind(codec.kind), clockRate: Int(codec.clockRate),
                channels: codec == .opus ? 2 : nil, parameters: parameters, rtcpFeedback: feedback.list,
                payloadType: Int(payloadType), rtxPayloadType: rtxPayloadType.map { Int($0) })
        }
    }

    /// The first section of a kind that is not rejected.
    static func first(_ kind: MediaKind, in session: SessionDescription) throws(NegotiationError) -> ClientSection {
        guard let media = session.media.first(where: { $0.kind == kind && !$0.isRejected }) else {
            throw NegotiationError(
                .codecMissing, reason: "the client's offer has no \(kind.name) section, or rejects it with port 0")
        }
        return try ClientSection(media, kind: kind)
    }

    /// At most this many: a browser shows four, and only the first of each kind has to be right.
    private static let maximum = 8

    static func all(in session: SessionDescription) throws(NegotiationError) -> [ClientSection] {
        var result: [ClientSection] = []
        for media in session.media where !media.isRejected {
            guard let kind = media.kind else { continue }
            result.append(try ClientSection(media, kind: kind))
            if result.count == maximum { break }
        }
        return result
    }

    private init(_ media: MediaDescription, kind: MediaKind) throws(NegotiationError) {
        line = media.line
        self.kind = kind
        try readCodecs(media)
        try readExtensions(media)
    }

    private mutating func readCodecs(_ media: MediaDescription) throws(NegotiationError) {
        var maps: [UInt8: RTPMap] = [:]
        for map in media.rtpMaps {
            if let other = maps.updateValue(map, forKey: map.payloadType), other != map {
                throw NegotiationError(
                    .malformed, line: media.line, reason: "payload type \(map.payloadType) has two a=rtpmap lines")
            }
        }
        var parameters: [String: FormatParameters] = [:]
        for line in media.formatParameters where parameters[line.format] == nil { parameters[line.format] = line }
        var feedback: [UInt8: ClientFeedback] = [:]
        var feedbackOfAll: ClientFeedback = []
        for line in media.feedback {
            guard let known = ClientFeedback.known.first(where: { $0.line == line.value.lowercased() }) else {
                continue
            }
            if let type = line.payloadType {
                feedback[type, default: []].insert(known.value)
            } else {
                feedbackOfAll.insert(known.value)
            }
        }
        let formats = media.payloadTypes
        // RFC 4588, section 8.1: apt says whose packets it repeats. The first one counts.
        var rtx: [UInt8: UInt8] = [:]
        for type in formats where maps[type]?.name.lowercased() == "rtx" {
            guard maps[type]?.clockRate == (kind == .audio ? 48_000 : 90_000),
                let text = parameters[String(type)]?.value(of: "apt"),
                let base = UInt8(text), rtx[base] == nil
            else { continue }
            rtx[base] = type
        }
        defer { readRedundancy(formats, maps, parameters) }
        for type in formats {
            guard let codec = maps[type]?.codec, codec.kind == kind else { continue }
            let own = parameters[String(type)]
            guard let fit = ClientFit(codec, own), fit.rank > codecs[codec]?.rank ?? -1 else { continue }
            codecs[codec] = Offered(
                payloadType: type, rtxPayloadType: kind == .video ? rtx[type] : nil, parameters: fit.parameters,
                feedback: feedback[type, default: []].union(feedbackOfAll)
                    .intersection(ClientFeedback.used(with: kind)),
                rank: fit.rank)
        }
    }

    /// `a=rtpmap:63 red/48000/2` with `a=fmtp:63 111/111`: Opus in RED, if every block of it is the Opus that counts.
    private mutating func readRedundancy(
        _ formats: [UInt8], _ maps: [UInt8: RTPMap], _ parameters: [String: FormatParameters]
    ) {
        guard let opus = codecs[.opus]?.payloadType else { return }
        codecs[.opus]?.redPayloadType = formats.first { type in
            guard let map = maps[type], map.name.lowercased() == "red", map.clockRate == 48_000, map.channels == 2,
                let blocks = parameters[String(type)]?.text.split(separator: "/", omittingEmptySubsequences: false)
            else { return false }
            return (2...32).contains(blocks.count) && blocks.allSatisfy { UInt8($0) == opus }
        }
    }

    /// Extensions that rtpcaps names, by kind. What else the client offers stays off: the SDK strips the video orientation
    /// from its offers, and the node has no use for the others.
    private static func used(with kind: MediaKind) -> [HeaderExtensionKind] {
        let both: [HeaderExtensionKind] = [
            .absoluteSendTime, .transportWideCC, .mid, .playoutDelay, .absoluteCaptureTime,
        ]
        return both
            + (kind == .audio
                ? [.audioLevel] : [.transmissionOffset, .rid, .repairedRid, .dependencyDescriptor])
    }

    private mutating func readExtensions(_ media: MediaDescription) throws(NegotiationError) {
        var uris: [UInt16: String] = [:]
        for map in media.extensions {
            if let other = uris.updateValue(map.uri, forKey: map.id), other != map.uri {
                throw NegotiationError(
                    .malformed, line: map.line, reason: "the header extension id \(map.id) has two meanings")
            }
            // The clients' descriptions have no extmap-allow-mixed, so ids are those of the one-byte form (RFC 8285,
            // section 4.2).
            guard let use = map.kind, ClientSection.used(with: kind).contains(use), (1...14).contains(map.id),
                let id = UInt8(exactly: map.id), ClientSection.isUsable(use, map.direction),
                !extensions.contains(where: { $0.kind == use })
            else { continue }
            extensions.append(HeaderExtensionMapping(id: id, kind: use))
        }
    }

    /// rtpcaps knows no directions, so an extension must go both ways. Layers have names on the way to the node only.
    private static func isUsable(_ use: HeaderExtensionKind, _ direction: SDPDirection?) -> Bool {
        switch direction {
        case nil, .sendrecv: true
        case .sendonly: use == .rid || use == .repairedRid
        case .recvonly, .inactive: false
        }
    }
}
