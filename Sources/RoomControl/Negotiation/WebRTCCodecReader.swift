import MediaContract
import MediaWire

/// The usable payload types of a WebRTC m-line: each codec once, under the payload type that suits best, in the line's order.
struct WebRTCCodecReader {
    private(set) var codecs: [WebRTCOffer.OfferedCodec] = []

    private let kind: MediaKind
    private var maps: [UInt8: RTPMap] = [:]
    private var parameters: [String: FormatParameters] = [:]

    init(_ media: MediaDescription, kind: MediaKind, purpose: LegPurpose) throws(NegotiationError) {
        self.kind = kind
        for map in media.rtpMaps {
            if let other = maps.updateValue(map, forKey: map.payloadType), other != map {
                throw NegotiationError(
                    .malformed, line: media.line, reason: "payload type \(map.payloadType) has two a=rtpmap lines")
            }
        }
        for line in media.formatParameters where parameters[line.format] == nil { parameters[line.format] = line }
        let formats = media.payloadTypes
        let feedback = media.profile.hasFeedback ? media.feedback : []
        var ranks: [Int] = []
        for type in formats {
            guard let codec = maps[type]?.codec, codec.kind == kind,
                let fit = CodecFit(codec, parameters[String(type)])
            else { continue }
            var set: FeedbackSet = []
            for line in feedback where line.payloadType == nil || line.payloadType == type {
                set.formUnion(FeedbackSet(webRTC: line.value))
            }
            // Towards players nothing is estimated yet.
            if purpose == .play { set.remove(.transportCC) }
            let offered = WebRTCOffer.OfferedCodec(
                codec: codec, payloadType: type, parameters: fit.answered, feedback: set,
                rtxPayloadType: kind == .video && set.contains(.nack) ? retransmission(of: type, formats) : nil,
                redPayloadType: codec == .opus ? redundancy(of: type, formats) : nil)
            // Of the variants of a codec the one that everybody in the room can decode.
            let rank = (fit.isBest ? 2 : 0) + (ClientFit(codec, parameters[String(type)]) == nil ? 0 : 1)
            if let place = codecs.firstIndex(where: { $0.codec == codec }) {
                guard rank > ranks[place] else { continue }
                codecs[place] = offered
                ranks[place] = rank
            } else {
                codecs.append(offered)
                ranks.append(rank)
            }
        }
    }

    /// RFC 4588, section 8.1.
    private func retransmission(of type: UInt8, _ formats: [UInt8]) -> UInt8? {
        formats.first { format in
            maps[format]?.name.lowercased() == "rtx" && maps[format]?.clockRate == 90_000
                && parameters[String(format)]?.value(of: "apt") == String(type)
        }
    }

    /// RFC 2198, section 5, with blocks of this payload type alone.
    private func redundancy(of type: UInt8, _ formats: [UInt8]) -> UInt8? {
        formats.first { format in
            guard let map = maps[format], map.name.lowercased() == "red", map.clockRate == 48_000, map.channels == 2,
                let blocks = parameters[String(format)]?.text.split(separator: "/", omittingEmptySubsequences: false)
            else { return false }
            return (2...32).contains(blocks.count) && blocks.allSatisfy { UInt8($0) == type }
        }
    }
}

extension FeedbackSet {
    /// The members and how `a=rtcp-fb` writes them, with those that WebRTC has.
    private static let writtenWebRTC: [(FeedbackSet, String)] = [
        (.transportCC, "transport-cc"), (.remb, "goog-remb"), (.fir, "ccm fir"), (.nack, "nack"), (.pli, "nack pli"),
    ]

    var webRTCValues: [String] { FeedbackSet.writtenWebRTC.filter { contains($0.0) }.map(\.1) }

    init(webRTC value: String) {
        self = FeedbackSet.writtenWebRTC.first { $0.1 == value.lowercased() }?.0 ?? []
    }
}
