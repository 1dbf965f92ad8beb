import Foundation
import MediaContract
import MediaWire
import RoomControl
import Testing

/// Offers of the clients that Parlor meets (those of Chromium and aiortc are their own, the others have their shape), and
/// what is made of them.
@Suite struct WebRTCOfferTests {
    static func text(_ name: String) throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fuzz/Offer/corpus/\(name).sdp")
        return String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }

    static func read(_ text: String, _ purpose: LegPurpose) throws -> WebRTCOffer {
        guard case .webRTC(let offer) = try Negotiator.read(text, purpose: purpose, client: Offers.client) else {
            throw NegotiationError(.notAcceptable, reason: "taken for a plain offer")
        }
        return offer
    }

    /// A changed offer; `nil`: it is taken.
    static func refusal(
        _ name: String, _ purpose: LegPurpose = .publish, _ changes: (String, String)...
    ) throws -> NegotiationError? {
        var text = try text(name)
        for (old, new) in changes {
            #expect(text.contains(old), "\(old)")
            text = text.replacing(old, with: new)
        }
        do {
            _ = try read(text, purpose)
            return nil
        } catch let error as NegotiationError { return error }
    }

    /// The accepted lines, settled, and the answer.
    private static func answered(
        _ name: String, _ purpose: LegPurpose, codec: Codec = .vp8
    ) throws -> (lines: [WebRTCOffer.AcceptedLine], answer: SessionDescription, offer: WebRTCOffer) {
        let text = try text(name)
        #expect(WebRTCOfferCheck.check(try read(text, purpose), of: text) == nil)
        var offer = try read(text, purpose)
        let answer = WebRTCOfferCheck.answer(&offer, codec: codec)
        return (offer.acceptedLines.map(\.line), try SessionDescription(parsing: answer.text), offer)
    }

    /// Descriptors above 16 bytes need the two-byte form beside the other one; where that is not allowed none is negotiated.
    @Test(arguments: [true, false]) func theDependencyDescriptorNeedsMixedForms(isAllowed: Bool) throws {
        var text = try Self.text("chromium-simulcast")
        if !isAllowed { text = text.replacing("a=extmap-allow-mixed\r\n", with: "") }
        var offer = try Self.read(text, .publish)
        for index in offer.lines.indices { offer.settle(.av1, forLine: index) }
        let kinds = offer.acceptedLines.flatMap { $0.line.extensions.map(\.mapping.kind) }
        #expect(offer.allowsMixedExtensions == isAllowed)
        #expect(kinds.contains(.dependencyDescriptor) == isAllowed)
        #expect(kinds.contains(.playoutDelay))
    }

    // MARK: Publishers

    /// Who publishes what, with the codec of a room whose video is VP8.
    @Test(
        arguments: [
            ("chromium-whip", 111, Codec.vp8, 96, 97, 63, DTLSRole.server),
            ("firefox-whip", 109, .vp8, 120, 124, nil, .server),
            ("safari-whip", 111, .vp8, 102, 103, 63, .server),
            ("obs-whip", 111, .h264, 96, nil, nil, .server),
            ("ffmpeg-whip", 111, .h264, 106, nil, nil, .client),
            ("gstreamer-whip", 98, .vp8, 96, 97, nil, .server),
            ("aiortc-whip", 96, .vp8, 97, 98, nil, .server),
        ] as [(String, UInt8, Codec, UInt8, UInt8?, UInt8?, DTLSRole)])
    func publishers(
        name: String, audio: UInt8, codec: Codec, video: UInt8, rtx: UInt8?, red: UInt8?, role: DTLSRole
    ) throws {
        let (lines, answer, offer) = try Self.answered(name, .publish)
        let sound = try #require(lines.first { $0.kind == .audio })
        let picture = try #require(lines.first { $0.kind == .video })
        #expect(sound.codecs.map(\.payloadType) == [audio] && sound.codecs[0].redPayloadType == red)
        #expect(picture.codecs.map(\.codec) == [codec] && picture.codecs[0].payloadType == video)
        #expect(picture.codecs[0].rtxPayloadType == rtx)
        #expect(offer.transport.role == role)
        #expect(answer.bundles.first?.mids.count == 2)
        #expect(picture.encodings.count == 1 && picture.encodings[0].rid == nil)
        #expect(answer.media.allSatisfy { $0.direction == .recvonly })
        // What is not there is not estimated by it: OBS says transport-cc and numbers nothing.
        let numbers = picture.extensions.contains { $0.mapping.kind == .transportWideCC }
        #expect(picture.codecs[0].feedback.contains(.transportCC) == numbers)
    }

    @Test func repairStreamsAreKnown() throws {
        let (lines, _, _) = try Self.answered("chromium-whip", .publish)
        let video = try #require(lines.first { $0.kind == .video })
        #expect(video.encodings == [EncodingSpec(ssrcs: [1_544_837_697], rtxSSRC: 3_271_000_095)])
        // GStreamer without retransmission, and OBS: one stream.
        #expect(try Self.answered("obs-whip", .publish).lines[1].encodings == [EncodingSpec(ssrcs: [2_071_582_012])])
    }

    /// From the smallest picture to the largest, and answered in the client's order.
    @Test(arguments: [
        ("chromium-simulcast", ["l", "m", "h"], "recv h;m;l"), ("firefox-simulcast", ["l", "m", "h"], "recv h;m;l"),
        ("obs-simulcast", ["2", "1", "0"], "recv 0;1;2"),
    ])
    func simulcast(name: String, rids: [String], answered: String) throws {
        let (lines, answer, _) = try Self.answered(name, .publish)
        #expect(lines[1].encodings.map(\.rid) == rids)
        #expect(answer.media[1].own("simulcast")?.value == answered)
        #expect(Set(answer.media[1].rids.map(\.id)) == Set(rids))
        #expect(answer.media[1].rids.allSatisfy { !$0.isSend })
    }

    /// Scripts that list their layers from the smallest on.
    @Test(arguments: [("q", "h", "f"), ("l", "m", "h"), ("low", "medium", "high"), ("lo", "mid", "hi")])
    func namesSayWhichLayerIsSmaller(low: String, medium: String, high: String) throws {
        for order in [[low, medium, high], [high, medium, low], [medium, low, high]] {
            var text = try Self.text("obs-simulcast")
            for (old, new) in zip(["0", "1", "2"], order) {
                text = text.replacing("a=rid:\(old) send", with: "a=rid:\(new) send")
            }
            text = text.replacing("send 0;1;2", with: "send \(order.joined(separator: ";"))")
            let offer = try Self.read(text, .publish)
            #expect(offer.acceptedLines[1].line.encodings.map(\.rid) == [low, medium, high], "\(order)")
        }
    }

    @Test func theRoomsCodecGoesBeforeTheClients() throws {
        for (codec, payloadType) in [(Codec.vp8, 102), (.h264, 98), (.vp9, 104), (.av1, 98)] as [(Codec, UInt8)] {
            let (lines, _, _) = try Self.answered("safari-whip", .publish, codec: codec)
            // AV1 is not offered, so it is the client's first; of H.264 it is the profile that everybody decodes.
            #expect(lines[1].codecs.map(\.payloadType) == [payloadType], "\(codec)")
        }
    }

    @Test func switchedOffLinesAreRejectedAndNoMore() throws {
        let (lines, answer, offer) = try Self.answered("firefox-video-only", .publish)
        #expect(lines.map(\.kind) == [.video])
        #expect(answer.media.map(\.port) == [0, 9] && answer.media[0].direction == .inactive)
        #expect(offer.bundle == ["1"] && offer.taggedLine == 1)
    }

    @Test func severalFingerprintsAreKept() throws {
        let offer = try Self.read(try Self.text("aiortc-whip"), .publish)
        #expect(offer.transport.fingerprints.map(\.hash) == [.sha256, .sha384, .sha512])
        #expect(!"\(offer.transport)".contains(offer.transport.icePassword))
        #expect(Mirror(reflecting: offer.transport).children.count == 2)
    }

    // MARK: Players

    @Test(
        arguments: [
            ("chromium-whep", 111, 96, 97), ("firefox-whep", 109, 120, 124), ("safari-whep", 111, 102, 103),
            ("gstreamer-whep", 97, 96, nil), ("aiortc-whep", 96, 97, 98), ("pion-whep", 111, 96, nil),
        ] as [(String, UInt8, UInt8, UInt8?)])
    func players(name: String, audio: UInt8, video: UInt8, rtx: UInt8?) throws {
        let (lines, answer, _) = try Self.answered(name, .play)
        let sound = try #require(lines.first { $0.kind == .audio })
        let picture = try #require(lines.first { $0.kind == .video })
        #expect(sound.codecs.first?.payloadType == audio)
        // The codec of the track that is there first; what else the player takes stays for those who come.
        #expect(picture.codecs.first?.payloadType == video && picture.codecs.first?.rtxPayloadType == rtx)
        for media in answer.media where media.port != 0 {
            #expect(media.direction == .sendonly && media.own("msid") != nil)
            #expect(media.ssrcs.count == (media.ssrcGroups.isEmpty ? 1 : 2))
            #expect(media.ssrcs.allSatisfy { $0.cname == "node" })
        }
        #expect(picture.codecs.allSatisfy { !$0.feedback.contains(.transportCC) })
    }

    @Test func everyCodecOfAPlayerOnce() throws {
        let (lines, answer, _) = try Self.answered("chromium-whep", .play, codec: .h264)
        let codecs = lines[1].codecs.map(\.codec)
        #expect(codecs.first == .h264 && Set(codecs) == [.h264, .vp8, .vp9, .av1])
        let fmtp = answer.media[1].formatParameters.first { $0.format == answer.media[1].formats[0] }
        #expect(fmtp?.value(of: "packetization-mode") == "1")
        #expect(fmtp?.value(of: "profile-level-id")?.hasPrefix("42e0") == true)
    }

    // MARK: What is refused

    @Test func oneTransportForAll() throws {
        let error = try Self.refusal("gstreamer-unbundled")
        #expect(error?.httpStatus == 406 && error?.reason.contains("BUNDLE") == true)
        #expect(try Self.refusal("chromium-whip", .publish, ("BUNDLE 0 1", "BUNDLE 0"))?.httpStatus == 406)
        #expect(try Self.refusal("chromium-whip", .publish, ("BUNDLE 0 1", "BUNDLE 0 1 1"))?.httpStatus == 400)
        // One line alone needs no bundle.
        let one = try Self.text("obs-whip").split(separator: "m=video")[0].replacing("a=group:BUNDLE 0 1\r\n", with: "")
        let offer = try Self.read(String(one), .publish)
        #expect(offer.bundle.isEmpty && offer.acceptedLines.count == 1)
    }

    @Test func rolesOfDTLS() throws {
        for (setup, role) in [("active", DTLSRole.server), ("passive", .client), ("actpass", .server)] {
            let text = try Self.text("ffmpeg-whip").replacing("setup:passive", with: "setup:\(setup)")
            #expect(try Self.read(text, .publish).transport.role == role)
        }
        #expect(try Self.refusal("ffmpeg-whip", .publish, ("setup:passive", "setup:holdconn"))?.httpStatus == 406)
    }

    @Test func transportsThatCannotBe() throws {
        let fingerprint = "a=fingerprint:sha-256 "
        for (changes, status) in [
            ([("a=ice-ufrag:b5c01c9d\r\n", "")], 400), ([("a=ice-pwd:4c8e0b1a3d5f7a9c2e4b6d8f0a1c3e5f\r\n", "")], 400),
            ([(fingerprint, "a=fingerprint:sha-1 ")], 400), ([(fingerprint, "a=x:")], 400),
            ([("s=FFmpegPublishSession\r\n", "s=-\r\na=ice-lite\r\n")], 406), ([("a=rtcp-mux\r\n", "")], 406),
            ([("a=sendonly", "a=recvonly")], 406), ([("opus/48000/2", "G722/8000"), ("H264/", "THEORA/")], 406),
            ([("SAVPF 106", "SAVPF 70"), ("rtpmap:106", "rtpmap:70"), ("opus", "PCMU")], 406),
            ([("a=ssrc:2837465124", "a=ssrc:2837465123")], 400), ([("106", "111")], 400),
        ] {
            var text = try Self.text("ffmpeg-whip")
            for (old, new) in changes { text = text.replacing(old, with: new) }
            let error = #expect(throws: NegotiationError.self, "\(changes)") { try Self.read(text, .publish) }
            #expect(error?.httpStatus == status && error?.reason.isEmpty == false, "\(changes): \(error as Any)")
        }
    }

    @Test func moreLayersThanThereMayBe() throws {
        let error = try Self.refusal(
            "obs-simulcast", .publish, ("send 0;1;2", "send 0;1;2;3"), ("a=rid:2 send", "a=rid:2 send\r\na=rid:3 send"))
        #expect(error?.httpStatus == 406)
        #expect(try Self.refusal("obs-simulcast", .publish, ("a=extmap:2 ", "a=extmap:2/recvonly "))?.httpStatus == 406)
    }

    /// Any one line of an offer lost or doubled gives an answer that keeps its promises, or a refusal.
    @Test(arguments: [
        "chromium-whip", "firefox-simulcast", "safari-whep", "gstreamer-whip", "pion-whep", "ffmpeg-whip",
    ])
    func lostLines(name: String) throws {
        let lines = try Self.text(name).split(separator: "\r\n", omittingEmptySubsequences: true)
        for index in lines.indices {
            for replacement in [[], [lines[index], lines[index]]] {
                var changed = lines
                changed.replaceSubrange(index...index, with: replacement)
                let text = changed.joined(separator: "\r\n") + "\r\n"
                #expect(OfferExercise.run([UInt8](text.utf8)) == nil, "\(name), line \(index + 1): \(lines[index])")
            }
        }
    }

    // MARK: Fragments

    @Test func fragments() throws {
        let candidates = try TrickleFragment(parsing: try Self.text("fragment-candidates"))
        #expect(candidates.iceUfrag == "EsAw" && candidates.candidates == 3 && candidates.isEndOfCandidates)
        let restart = try TrickleFragment(parsing: try Self.text("fragment-restart"))
        #expect(restart.icePassword == "vw5LmwG4y/e6dPP/zAP9Gp5k" && restart.candidates == 0)
        for (text, line) in [
            ("", nil), ("a=mid:0\r\n", nil), ("a=ice-ufrag:abcd\r\n", nil), ("hello\r\n", 1),
            ("a=mid:0\r\na=ice-ufrag:a b c\r\na=ice-pwd:0123456789012345678901\r\n", 2),
            ("a=ice-ufrag:abcd\r\na=ice-pwd:short\r\n", 2), ("a=candidate:1 1 udp\r\n", 1),
            (String(repeating: "a=mid:0\n", count: 1025), 1025), (String(repeating: "a", count: 65_537), nil),
        ] as [(String, Int?)] {
            let error = #expect(throws: NegotiationError.self) { try TrickleFragment(parsing: text) }
            #expect(error?.httpStatus == 400 && error?.line == line, "\(text.prefix(60))")
        }
    }
}
