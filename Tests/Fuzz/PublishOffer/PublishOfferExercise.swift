import MediaContract
import MediaWire
import RoomControl
import RoomProtocol

/// What must hold for any text that a WebRTC client sends as its capabilities or as a publish offer: nothing traps, every
/// refusal has a code and a sentence, and every number in a result stands in the offer. Run by the fuzzer, and by the
/// unit tests on the corpus.
enum PublishOfferExercise {
    /// The first broken promise, in words; `nil` if all were kept.
    static func run(_ bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        let lineCount = text.utf8.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        // Bounds that are wide enough for every text of the fuzzer's.
        let session = try? SessionDescription(
            parsing: text, bounds: SDPBounds(text: 1 << 20, lines: 1 << 16, media: 256))
        for codec in Codec.allCases {
            do throws(NegotiationError) {
                let profile = try ClientCapabilities.capabilities(of: text, videoCodec: codec)
                guard let session else { return "capabilities from a text that is no description" }
                if let broken = check(profile, codec, session) { return "\(codec.name): \(broken)" }
            } catch {
                if let broken = check(error, [.invalidParameter, .mediaNotSupported], lineCount) { return broken }
            }
        }
        for tracks in requests(for: session) {
            do throws(NegotiationError) {
                let offer = try PublishOfferReader.read(sdp: text, tracks: tracks)
                guard let session else { return "an offer from a text that is no description" }
                if let broken = check(offer, tracks, session) { return broken }
            } catch {
                let codes: Set<ResultCode> = [
                    .invalidParameter, .publishMismatch, .publishEmpty, .tooManyOperations,
                ]
                if let broken = check(error, codes, lineCount) { return broken }
            }
        }
        return nil
    }

    /// How many readings of a text succeed: as capabilities for each video codec, and as an offer.
    static func readings(of text: String) -> (capabilities: Int, offers: Int) {
        let capabilities = Codec.allCases.count {
            (try? ClientCapabilities.capabilities(of: text, videoCodec: $0)) != nil
        }
        let offers = requests(for: try? SessionDescription(parsing: text)).count {
            (try? PublishOfferReader.read(sdp: text, tracks: $0)) != nil
        }
        return (capabilities, offers)
    }

    // MARK: Requests

    /// A request that does not look at the text; each sending section by itself; and all of them.
    private static func requests(for session: SessionDescription?) -> [[PublishedTrack]] {
        let fixed = [track(2, "2", .audio), track(3, "3", .video)]
        let live = (session?.media ?? []).enumerated().filter { !$0.element.isRejected && $0.element.direction.sends }
        let tracks = live.prefix(65).compactMap { index, media -> PublishedTrack? in
            guard let kind = media.kind else { return nil }
            return track(index, media.mid, kind == .audio ? .audio : .video)
        }
        return [fixed, tracks] + tracks.prefix(4).map { [$0] }
    }

    private static func track(_ index: Int, _ mid: String?, _ kind: TrackKind) -> PublishedTrack {
        PublishedTrack(localID: "track \(index)", localMid: mid, kind: kind)
    }

    // MARK: Promises

    private static func check(_ error: NegotiationError, _ codes: Set<ResultCode>, _ lineCount: Int) -> String? {
        guard codes.contains(error.code) else { return "code \(error.code.rawValue): \(error)" }
        guard !error.reason.isEmpty, error.refused.text.utf8.count < 1000 else { return "no sentence: \(error)" }
        guard (1...lineCount).contains(error.line ?? 1) else { return "an error outside the text: \(error)" }
        return nil
    }

    private static func check(_ profile: ClientMediaProfile, _ codec: Codec, _ session: SessionDescription) -> String? {
        let capabilities = profile.rtpCapabilities
        let red = capabilities.codecs.dropFirst(2).map { Int($0.sendPayloadType) }
        guard red == [profile.audio.redPayloadType].compactMap({ $0.map { Int($0) } }),
            red.allSatisfy({ type in isOpusInRED(type, Int(profile.audio.payloadType), session) })
        else { return "RED under \(red), which was not offered" }
        guard profile.video.redPayloadType == nil, capabilities.codecs[0].name == "opus", codec.kind == .video,
            capabilities.codecs[1].name == codec.name, profile.audio.codec == .opus, profile.video.codec == codec
        else { return "not opus and \(codec.name), by position" }
        for stream in [profile.audio, profile.video] {
            guard let media = session.media.first(where: { $0.kind == stream.codec.kind && !$0.isRejected }) else {
                return "no section"
            }
            if let broken = check(stream, media) { return broken }
        }
        for (known, listed) in profile.codecs {
            let holds = session.media.contains { media in
                has(known, listed.sendPayloadType, media)
                    && (listed.sendRtxPayloadType.map { hasRTX($0, of: listed.sendPayloadType, media) } ?? true)
            }
            guard holds, listed.sendPayloadType == listed.recvPayloadType,
                listed.sendRtxPayloadType == listed.recvRtxPayloadType
            else { return "\(known.name) under \(listed.sendPayloadType), which was not offered" }
        }
        guard profile.codec(for: .opus) == capabilities.codecs[0], profile.codec(for: codec) == capabilities.codecs[1]
        else { return "the lookup says something else" }
        let ids = capabilities.headerExtensions
        for (place, one) in ids.enumerated() {
            let offered = session.media.contains { media in
                media.media == one.kind.rawValue
                    && media.extensions.contains { Int($0.id) == one.sendId && $0.uri == one.uri }
            }
            guard offered, (1...14).contains(one.sendId), one.sendId == one.recvId,
                one.uri != HeaderExtensionKind.videoOrientation.uri
            else { return "\(one.uri) under \(one.sendId), which was not offered" }
            for other in ids[..<place] {
                let sameID = other.sendId == one.sendId
                let sameURI = other.uri == one.uri
                guard other.kind == one.kind ? !sameID && !sameURI : !sameID || sameURI else {
                    return "the id \(one.sendId) or its URI stands twice"
                }
            }
        }
        return nil
    }

    private static func isOpusInRED(_ type: Int, _ opus: Int, _ session: SessionDescription) -> Bool {
        session.media.contains { media in
            media.rtpMaps.contains { $0.payloadType == type && $0.name.lowercased() == "red" }
                && media.formatParameters.contains {
                    $0.format == String(type) && $0.text.split(separator: "/").allSatisfy { Int($0) == opus }
                }
        }
    }

    private static func check(_ stream: ClientMediaProfile.Stream, _ media: MediaDescription) -> String? {
        guard has(stream.codec, Int(stream.payloadType), media) else { return "payload type \(stream.payloadType)" }
        if let rtx = stream.rtxPayloadType, !hasRTX(Int(rtx), of: Int(stream.payloadType), media) {
            return "the retransmission payload type \(rtx) was not offered"
        }
        let words: [(ClientFeedback, String)] = [
            (.nack, "nack"), (.pli, "nack pli"), (.fir, "ccm fir"), (.remb, "goog-remb"),
            (.transportCC, "transport-cc"),
        ]
        for (feedback, line) in words where stream.feedback.contains(feedback) {
            let isOffered = media.feedback.contains {
                ($0.payloadType ?? stream.payloadType) == stream.payloadType && $0.value.lowercased() == line
            }
            guard isOffered else { return "the feedback \(line) was not offered" }
        }
        return nil
    }

    private static func has(_ codec: Codec, _ payloadType: Int, _ media: MediaDescription) -> Bool {
        media.formats.contains(String(payloadType))
            && media.rtpMaps.contains { Int($0.payloadType) == payloadType && $0.codec == codec }
    }

    private static func hasRTX(_ payloadType: Int, of base: Int, _ media: MediaDescription) -> Bool {
        media.formats.contains(String(payloadType))
            && media.rtpMaps.contains { Int($0.payloadType) == payloadType && $0.name.lowercased() == "rtx" }
            && media.formatParameters.contains {
                $0.format == String(payloadType) && UInt8($0.value(of: "apt") ?? "").map { Int($0) } == base
            }
    }

    private static func check(
        _ offer: PublishOffer, _ tracks: [PublishedTrack], _ session: SessionDescription
    ) -> String? {
        guard offer.tracks.map(\.localID) == tracks.map(\.localID) else { return "not the tracks of the request" }
        guard !offer.transport.fingerprints.isEmpty,
            offer.transport.fingerprints.allSatisfy({ $0.bytes.count == $0.hash.length }),
            session.media.contains(where: { media in
                media.fingerprints.contains { line in offer.transport.fingerprints.contains { $0.bytes == line.bytes } }
            }),
            session.media.contains(where: { $0.iceUfrag == offer.transport.iceUfrag }),
            session.media.contains(where: { $0.icePwd == offer.transport.icePassword })
        else { return "a transport that was not offered" }
        guard Set(offer.tracks.map(\.section)).count == offer.tracks.count else { return "two tracks on one section" }
        var used: Set<UInt32> = []
        for track in offer.tracks {
            guard session.media.indices.contains(track.section) else { return "a section that is not there" }
            let media = session.media[track.section]
            guard media.mid == track.localMid, media.kind == track.kind, media.direction.sends, !media.isRejected,
                (1...3).contains(track.streams.count), track.kind == .video || track.streams.count == 1
            else { return "a track that does not fit its section" }
            switch track.streams {
            case .ssrcs(let encodings):
                let named = media.ssrcs.map(\.ssrc) + media.ssrcGroups.flatMap(\.ssrcs)
                for ssrc in encodings.flatMap({ [$0.ssrc] + ($0.rtx.map { [$0] } ?? []) }) {
                    guard named.contains(ssrc), used.insert(ssrc).inserted, ssrc != 0 else {
                        return "the SSRC \(ssrc) was not offered, or is used twice"
                    }
                }
            case .rids(let names):
                guard Set(names).count == names.count,
                    names.allSatisfy({ name in media.rids.contains { $0.isSend && $0.id == name } })
                else { return "rids that were not offered" }
            }
            for (payloadType, codec) in track.codecs where !has(codec, Int(payloadType), media) {
                return "\(codec.name) under \(payloadType), which was not offered"
            }
        }
        return nil
    }
}
