import ClientEngine
import MediaContract
import MediaTransport
import MediaWire
import RoomProtocol

/// What the server's `rtpcaps` say: under which numbers a client sends and receives, by position one codec of each kind.
struct MediaNumbers: Sendable, Hashable {
    struct Line: Sendable, Hashable {
        var codec: Codec
        var sends: UInt8
        var receives: UInt8
        var sendsRepair: UInt8?
        var receivesRepair: UInt8?
        /// Missing packets are asked for.
        var hasNack: Bool
    }

    var audio: Line?
    var video: Line?
    private var audioExtensions: [HeaderExtensionKind: UInt8] = [:]
    private var videoExtensions: [HeaderExtensionKind: UInt8] = [:]

    /// What is not understood is left out; a client then says so when it publishes.
    init(_ capabilities: RTPCapabilities) {
        for codec in capabilities.codecs {
            guard let line = MediaNumbers.line(codec) else { continue }
            if line.codec.kind == .audio { audio = audio ?? line } else { video = video ?? line }
        }
        for header in capabilities.headerExtensions {
            guard let kind = HeaderExtensionKind(uri: header.uri), let id = UInt8(exactly: header.sendId),
                1...14 ~= id
            else { continue }
            if header.kind == .audio { audioExtensions[kind] = id } else { videoExtensions[kind] = id }
        }
    }

    static func line(_ codec: RTPCapabilities.Codec) -> Line? {
        guard let known = Codec(name: codec.name), known.kind == (codec.kind == .audio ? .audio : .video),
            let sends = UInt8(exactly: codec.sendPayloadType), let receives = UInt8(exactly: codec.recvPayloadType)
        else { return nil }
        return Line(
            codec: known, sends: sends, receives: receives,
            sendsRepair: codec.sendRtxPayloadType.flatMap { UInt8(exactly: $0) },
            receivesRepair: codec.recvRtxPayloadType.flatMap { UInt8(exactly: $0) },
            hasNack: codec.rtcpFeedback.contains { $0.type == "nack" && ($0.parameter ?? "").isEmpty })
    }

    func line(_ kind: RoomProtocol.TrackKind) -> Line? { kind == .audio ? audio : video }

    /// A sent stream of a section.
    func sending(_ section: ClientOffer.Section, mid: String, firstSequence: UInt16) -> [OutboundStreamSettings] {
        guard let line = line(section.kind) else { return [] }
        let ids = section.kind == .audio ? audioExtensions : videoExtensions
        return section.encodings.map { encoding in
            var settings = OutboundStreamSettings(
                ssrc: encoding.ssrc, payloadType: line.sends, codec: line.codec, firstSequenceNumber: firstSequence)
            if let ssrc = encoding.repairSSRC, let type = line.sendsRepair {
                settings.repair = OutboundStreamSettings.Repair(ssrc: ssrc, payloadType: type)
            }
            settings.mid = mid
            settings.rid = encoding.rid
            settings.extensions = OutboundStreamSettings.Extensions(
                mid: ids[.mid], rid: ids[.rid], repairedRID: ids[.repairedRid], transportCC: ids[.transportWideCC])
            return settings
        }
    }

    /// A received stream, as the answer to a subscription describes it; `nil`: it does not.
    func receiving(_ result: SubscribedTrackResult, kind: RoomProtocol.TrackKind) -> InboundStreamSettings? {
        guard let rtp = result.rtpParameters, let encoding = rtp.encodings.first,
            let line = rtp.codec.flatMap({ MediaNumbers.line($0) }) ?? line(kind)
        else { return nil }
        var repair: InboundStreamSettings.Repair?
        if encoding.rtx.ssrc != 0, let type = line.receivesRepair {
            repair = InboundStreamSettings.Repair(ssrc: encoding.rtx.ssrc, payloadType: type)
        }
        return InboundStreamSettings(
            ssrc: encoding.ssrc, codec: line.codec, repair: repair, asksForMissing: line.hasNack)
    }
}

/// The transport that an answer to `pubpc` or `subpc` names.
struct MediaEndpoint: Sendable {
    struct Candidate: Sendable, Hashable {
        var address: TransportAddress
        var priority: UInt32
        var isStream: Bool
    }

    var remote: ICECredentials
    var candidates: [Candidate]
    var fingerprints: [DTLSFingerprint] = []
    /// Which end of the handshake the node is.
    var nodeRole = DTLSRole.server

    /// - Throws: 21005 with what is missing.
    init<Track>(_ answer: ConnectionAnswer<Track>, to request: String) throws(RTCError) {
        guard let ice = answer.iceParameters, !ice.usernameFragment.isEmpty, !ice.password.isEmpty else {
            throw RTCError(.fatal, "the answer to \(request) has no iceParameters")
        }
        remote = ICECredentials(usernameFragment: ice.usernameFragment, password: ice.password)
        candidates = (answer.iceCandidates ?? []).compactMap { candidate in
            guard let port = UInt16(exactly: candidate.port),
                let address = TransportAddress(host: candidate.ip, port: port)
            else { return nil }
            switch candidate.protocol.lowercased() {
            case "udp": return Candidate(address: address, priority: candidate.priority, isStream: false)
            case "tcp" where candidate.tcpType ?? "passive" == "passive":
                return Candidate(address: address, priority: candidate.priority, isStream: true)
            default: return nil
            }
        }
        guard let dtls = answer.dtlsParameters else { return }
        nodeRole = dtls.role == .client ? .client : .server
        fingerprints = dtls.fingerprints.compactMap { fingerprint in
            guard let hash = DTLSFingerprint.Hash(rawValue: fingerprint.algorithm.lowercased()) else { return nil }
            let bytes = fingerprint.value.split(separator: ":").compactMap { UInt8($0, radix: 16) }
            return DTLSFingerprint(hash: hash, bytes: bytes)
        }
    }
}
