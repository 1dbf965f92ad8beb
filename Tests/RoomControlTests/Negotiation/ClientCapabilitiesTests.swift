import Foundation
import MediaWire
import RoomControl
import RoomProtocol
import Testing

@Suite struct ClientCapabilitiesTests {
    private typealias Feedback = RTPCapabilities.Feedback

    private static let audioLevel = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
    private static let sendTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
    private static let transportCC = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
    private static let mid = "urn:ietf:params:rtp-hdrext:sdes:mid"
    private static let rid = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
    private static let repairedRid = "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
    private static let offset = "urn:ietf:params:rtp-hdrext:toffset"

    private static let allVideo = [
        Feedback("transport-cc"), Feedback("goog-remb"), Feedback("ccm", "fir"), Feedback("nack"),
        Feedback("nack", "pli"),
    ]

    private static func read(_ name: String, _ codec: Codec) throws -> ClientMediaProfile {
        try ClientCapabilities.capabilities(of: ClientOffers.text(name), videoCodec: codec)
    }

    /// An offer with these sections only.
    private static func offer(
        audio: [String] = ["a=rtpmap:111 opus/48000/2"], audioFormats: String = "111",
        video: [String] = ["a=rtpmap:96 VP8/90000"], videoFormats: String = "96 97"
    ) -> String {
        let lines =
            ["v=0", "m=audio 9 UDP/TLS/RTP/SAVPF \(audioFormats)"] + audio
            + ["m=video 9 UDP/TLS/RTP/SAVPF \(videoFormats)"] + video
        return lines.joined(separator: "\n")
    }

    // MARK: Browsers

    @Test func chromium() throws {
        let profile = try Self.read("chromium-capabilities", .vp8)
        let capabilities = profile.rtpCapabilities
        #expect(
            capabilities.codecs == [
                RTPCapabilities.Codec(
                    name: "opus", kind: .audio, clockRate: 48_000, channels: 2,
                    parameters: ["minptime": .number(10), "useinbandfec": .number(1)],
                    rtcpFeedback: [Feedback("transport-cc")], payloadType: 111),
                RTPCapabilities.Codec(
                    name: "VP8", kind: .video, clockRate: 90_000, rtcpFeedback: Self.allVideo, payloadType: 96,
                    rtxPayloadType: 97),
                RTPCapabilities.Codec(name: "red", kind: .audio, clockRate: 48_000, channels: 2, payloadType: 63),
            ])
        let audio: [(String, Int)] = [
            (Self.audioLevel, 1), (Self.sendTime, 2), (Self.transportCC, 3), (Self.mid, 4),
        ]
        let video: [(String, Int)] = [
            (Self.offset, 14), (Self.sendTime, 2), (Self.transportCC, 3),
            (HeaderExtensionKind.playoutDelay.uri, 5), (Self.mid, 4), (Self.rid, 10),
            (Self.repairedRid, 11),
        ]
        #expect(
            capabilities.headerExtensions
                == audio.map { RTPCapabilities.HeaderExtension(kind: .audio, uri: $0.0, id: $0.1) }
                + video.map { RTPCapabilities.HeaderExtension(kind: .video, uri: $0.0, id: $0.1) })
        #expect(profile.audio.payloadType == 111)
        #expect(profile.audio.rtxPayloadType == nil)
        #expect(profile.audio.feedback == [.transportCC])
        #expect(profile.video.payloadType == 96)
        #expect(profile.video.rtxPayloadType == 97)
        #expect(profile.video.feedback == [.nack, .pli, .fir, .remb, .transportCC])
        #expect(profile.video.id(of: .rid) == 10)
        #expect(profile.video.id(of: .audioLevel) == nil)
    }

    /// Of four H264 variants before and behind it the one that every browser has; VP9 and AV1 of profile 0.
    @Test func chromiumsOtherCodecs() throws {
        let h264 = try Self.read("chromium-capabilities", .h264)
        #expect(
            h264.rtpCapabilities.codecs[1].parameters == [
                "profile-level-id": .text("42e01f"), "packetization-mode": .number(1),
                "level-asymmetry-allowed": .number(1),
            ])
        #expect(h264.video.payloadType == 109)
        #expect(h264.video.rtxPayloadType == 114)
        let vp9 = try Self.read("chromium-capabilities", .vp9)
        #expect(vp9.video.payloadType == 98)
        #expect(vp9.rtpCapabilities.codecs[1].parameters == ["profile-id": .number(0)])
        let av1 = try Self.read("chromium-capabilities", .av1)
        #expect(av1.video.payloadType == 45)
        #expect(av1.video.rtxPayloadType == 46)
        // The lookup says the same in any room.
        for (codec, type) in [(Codec.opus, 111), (.vp8, 96), (.vp9, 98), (.h264, 109), (.av1, 45)] {
            #expect(h264.codec(for: codec)?.sendPayloadType == type)
            #expect(h264.codec(for: codec) == vp9.codec(for: codec))
        }
        #expect(h264.codec(for: .vp8)?.rtcpFeedback == Self.allVideo)
    }

    /// The descriptions that a client writes from rtpcaps never allow mixed forms of extensions; its own offer says whether it reads them.
    @Test(arguments: [true, false]) func theDependencyDescriptorNeedsMixedForms(isAllowed: Bool) throws {
        let descriptor = HeaderExtensionKind.dependencyDescriptor
        var text = try ClientOffers.text("chromium-capabilities")
            .replacing("a=extmap:10 ", with: "a=extmap:12 \(descriptor.uri)\r\na=extmap:10 ")
        if !isAllowed { text = text.replacing("a=extmap-allow-mixed\r\n", with: "") }
        let av1 = try ClientCapabilities.capabilities(of: text, videoCodec: .av1)
        #expect(av1.video.id(of: descriptor) == (isAllowed ? 12 : nil))
        #expect(av1.video.allowsMixedExtensions == isAllowed && av1.audio.allowsMixedExtensions == isAllowed)
        let vp8 = try ClientCapabilities.capabilities(of: text, videoCodec: .vp8)
        #expect(vp8.video.id(of: descriptor) == nil)
    }

    @Test func firefox() throws {
        let profile = try Self.read("firefox-capabilities", .vp8)
        #expect(profile.audio.payloadType == 109)
        #expect(profile.audio.feedback == [])
        #expect(profile.rtpCapabilities.codecs[0].parameters["stereo"] == .number(1))
        #expect(profile.video.payloadType == 120)
        #expect(profile.video.rtxPayloadType == 124)
        #expect(
            profile.rtpCapabilities.codecs[1].parameters == ["max-fs": .number(12288), "max-fr": .number(60)])
        // What goes one way only is left out.
        #expect(profile.audio.extensions.map(\.kind) == [.audioLevel, .mid])
        #expect(profile.video.extensions.map(\.id) == [3, 4, 5, 7])
        // 97 has packetization-mode 0.
        #expect(try Self.read("firefox-capabilities", .h264).video.payloadType == 126)
        let missing = ClientOffers.refusal { () throws(NegotiationError) in
            try ClientCapabilities.capabilities(
                of: (try? ClientOffers.text("firefox-capabilities")) ?? "", videoCodec: .av1)
        }
        #expect(missing?.code == .mediaNotSupported)
        #expect(missing?.reason.contains("the client offers H264, VP8, VP9 in its first video section") == true)
    }

    @Test func safari() throws {
        let profile = try Self.read("safari-capabilities", .h264)
        // 96 is of the high profile.
        #expect(profile.video.payloadType == 98)
        #expect(profile.video.rtxPayloadType == 99)
        #expect(profile.codec(for: .av1) == nil)
        #expect(profile.codec(for: .vp9)?.sendRtxPayloadType == 105)
    }

    /// What a client only receives is no codec for the room, but can be sent to it.
    @Test func aCodecOfTheSecondSection() throws {
        let text =
            Self.offer()
            + "\nm=video 9 UDP/TLS/RTP/SAVPF 96 98 99\na=recvonly\na=rtpmap:96 VP8/90000\na=rtpmap:98 VP9/90000\n"
            + "a=rtpmap:99 rtx/90000\na=fmtp:99 apt=98\n"
        let profile = try ClientCapabilities.capabilities(of: text, videoCodec: .vp8)
        #expect(profile.codec(for: .vp9)?.sendRtxPayloadType == 99)
        let refusal = ClientOffers.refusal { () throws(NegotiationError) in
            try ClientCapabilities.capabilities(of: text, videoCodec: .vp9)
        }
        #expect(refusal?.code == .mediaNotSupported)
    }

    /// The JSON is what the vendor's client reads.
    @Test func asJSON() throws {
        let profile = try Self.read("chromium-capabilities", .vp8)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json = String(decoding: try encoder.encode(profile.rtpCapabilities.codecs[0]), as: UTF8.self)
        #expect(
            json == #"{"channels":2,"clockRate":48000,"kind":"audio","mimeType":"audio/opus","name":"opus","#
                + #""parameters":{"minptime":10,"useinbandfec":1},"recvPayloadType":111,"#
                + #""rtcpFeedback":[{"type":"transport-cc"}],"sendPayloadType":111}"#)
    }

    // MARK: Details

    @Test(arguments: [
        ("42e01f", true), ("42E01F", true), ("42c01f", true), ("424028", true), ("4d801f", true), ("58c00a", true),
        ("42001f", false), ("640c1f", false), ("4d001f", false), ("42e01", false), ("42e01ff", false),
        ("+2e01f", false), ("42e0-1", false), ("", false),
    ])
    func constrainedBaseline(level: String, isTaken: Bool) {
        let text = Self.offer(video: [
            "a=rtpmap:96 H264/90000", "a=fmtp:96 packetization-mode=1;profile-level-id=\(level)",
        ])
        #expect(
            ClientOffers.refusal { () throws(NegotiationError) in
                try ClientCapabilities.capabilities(of: text, videoCodec: .h264)
            }?.code == (isTaken ? nil : .mediaNotSupported))
    }

    /// A profile of decimal digits stays a text, also behind a variant that suits less.
    @Test func theUsualH264IsPreferred() throws {
        let text = Self.offer(
            video: [
                "a=rtpmap:96 H264/90000", "a=fmtp:96 packetization-mode=1;profile-level-id=424010",
                "a=rtpmap:97 H264/90000", "a=fmtp:97 packetization-mode=1;profile-level-id=42e010",
            ])
        #expect(try ClientCapabilities.capabilities(of: text, videoCodec: .h264).video.payloadType == 97)
        let alone = text.replacingOccurrences(of: "42e010", with: "640010")
        let codec = try ClientCapabilities.capabilities(of: alone, videoCodec: .h264).rtpCapabilities.codecs[1]
        #expect(codec.sendPayloadType == 96)
        #expect(codec.parameters["profile-level-id"] == .text("424010"))
    }

    @Test func onlyIDsOfTheOneByteForm() throws {
        let text = Self.offer(video: [
            "a=rtpmap:96 VP8/90000", "a=extmap:15 \(Self.mid)", "a=extmap:14 \(Self.rid)", "a=extmap:13 \(Self.rid)",
            "a=extmap:16 \(Self.sendTime)", "a=extmap:0 \(Self.transportCC)", "a=extmap:5 urn:3gpp:video-orientation",
            "a=extmap:6/inactive \(Self.offset)", "a=extmap:7 \(Self.audioLevel)",
        ])
        let profile = try ClientCapabilities.capabilities(of: text, videoCodec: .vp8)
        #expect(profile.video.extensions == [HeaderExtensionMapping(id: 14, kind: .rid)])
        #expect(profile.rtpCapabilities.headerExtensions.count == 1)
    }

    @Test func feedbackForAllPayloadTypes() throws {
        let text = Self.offer(
            audio: ["a=rtpmap:111 opus/48000/2", "a=rtcp-fb:* nack", "a=rtcp-fb:* transport-cc"],
            video: ["a=rtpmap:96 VP8/90000", "a=rtcp-fb:* nack", "a=rtcp-fb:96 nack pli", "a=rtcp-fb:97 ccm fir"])
        let profile = try ClientCapabilities.capabilities(of: text, videoCodec: .vp8)
        #expect(profile.video.feedback == [.nack, .pli])
        // Nothing retransmits audio.
        #expect(profile.audio.feedback == [.transportCC])
    }

    @Test func aRetransmissionTypeThatReadsAsRTCPIsNone() throws {
        let text = Self.offer(
            video: ["a=rtpmap:96 VP8/90000", "a=rtpmap:72 rtx/90000", "a=fmtp:72 apt=96"], videoFormats: "96 72")
        #expect(try ClientCapabilities.capabilities(of: text, videoCodec: .vp8).video.rtxPayloadType == nil)
    }

    @Test func refusals() {
        func refusal(_ text: String, _ codec: Codec = .vp8) -> NegotiationError? {
            ClientOffers.refusal { () throws(NegotiationError) in
                try ClientCapabilities.capabilities(of: text, videoCodec: codec)
            }
        }
        #expect(refusal(Self.offer()) == nil)
        for text in ["", "no description", "v=0\nm=audio 9 X 1\na=rtpmap:x", String(repeating: "v", count: 1_048_577)] {
            #expect(refusal(text)?.code == .invalidParameter)
        }
        #expect(refusal("v=0\n")?.code == .mediaNotSupported)
        #expect(
            refusal("v=0\nm=audio 9 UDP/TLS/RTP/SAVPF 111\na=rtpmap:111 opus/48000/2\n")?.code == .mediaNotSupported)
        #expect(refusal(Self.offer(audio: ["a=rtpmap:111 PCMU/8000"]))?.code == .mediaNotSupported)
        // The payload type stands in no m-line.
        #expect(refusal(Self.offer(audioFormats: "0"))?.code == .mediaNotSupported)
        #expect(refusal(Self.offer(), .vp9)?.code == .mediaNotSupported)
        #expect(refusal(Self.offer(), .opus)?.code == .mediaNotSupported)
        let h264 = refusal(Self.offer(), .h264)
        #expect(h264?.reason.contains("the room's video is H264, and the client offers VP8") == true)
        #expect(h264?.line == 4)
        // One number with two meanings.
        #expect(
            refusal(Self.offer(video: ["a=rtpmap:96 VP8/90000", "a=rtpmap:96 VP9/90000"]))?.code == .invalidParameter)
        #expect(
            refusal(Self.offer(video: ["a=rtpmap:111 VP8/90000"], videoFormats: "111"))?.code == .invalidParameter)
        let twice = ["a=rtpmap:111 opus/48000/2", "a=extmap:3 \(Self.mid)", "a=extmap:3 \(Self.audioLevel)"]
        #expect(refusal(Self.offer(audio: twice))?.code == .invalidParameter)
        #expect(
            refusal(
                Self.offer(
                    audio: ["a=rtpmap:111 opus/48000/2", "a=extmap:3 \(Self.mid)"],
                    video: ["a=rtpmap:96 VP8/90000", "a=extmap:3 \(Self.sendTime)"]))?.code == .invalidParameter)
    }

    /// Whatever lines of a browser's offer are lost, doubled or renumbered: what is read still stands in the offer.
    @Test(arguments: ["chromium-capabilities", "firefox-capabilities", "safari-capabilities"])
    func everyNumberIsFromTheOffer(name: String) throws {
        let lines = try ClientOffers.text(name).components(separatedBy: "\r\n")
        var read = 0
        for seed in UInt64(1)...100 {
            var random = SeededRandom(seed: seed)
            var changed = lines
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: 1..<changed.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: changed.remove(at: place)
                case 1: changed.insert(changed[place], at: Int.random(in: place..<changed.count, using: &random))
                case 2: changed.swapAt(place, Int.random(in: 1..<changed.count, using: &random))
                default:
                    // Another number in its place.
                    let number = Int.random(in: 0...130, using: &random)
                    changed[place] = changed[place].replacing(/[0-9]+/, with: "\(number)", maxReplacements: 1)
                }
            }
            let text = changed.joined(separator: "\n")
            #expect(PublishOfferExercise.run([UInt8](text.utf8)) == nil, "seed \(seed), \(name)")
            read += PublishOfferExercise.readings(of: text).capabilities
        }
        #expect(read >= 100)
    }
}
