import Foundation
import MediaContract
import MediaWire
import RoomControl
import RoomProtocol
import Testing

@Suite struct PublishOfferTests {
    private static func read(_ name: String, _ tracks: PublishedTrack...) throws -> PublishOffer {
        try PublishOfferReader.read(sdp: ClientOffers.text(name), tracks: tracks)
    }

    /// The refusal of a changed offer; each change must find its text.
    private static func refusal(
        _ name: String = "chromium-compact", _ changes: [(String, String)] = [],
        _ tracks: [PublishedTrack] = [ClientOffers.track("0", .audio), ClientOffers.track("1", .video)]
    ) throws -> NegotiationError? {
        var text = try ClientOffers.text(name)
        for (old, new) in changes {
            try #require(text.contains(old), "\(old) is not in \(name)")
            text.replace(old, with: new)
        }
        return ClientOffers.refusal { () throws(NegotiationError) in
            try PublishOfferReader.read(sdp: text, tracks: tracks)
        }
    }

    // MARK: Browsers

    @Test func chromium() throws {
        let offer = try Self.read(
            "chromium-publish", ClientOffers.track("2", .audio, id: "mic"), ClientOffers.track("3", .video, id: "cam"))
        #expect(offer.transport.iceUfrag == "4ZcD")
        #expect(offer.transport.icePassword == "2/1muCWoOi3uLifh0NuRHlzz")
        #expect(offer.transport.fingerprints.map(\.hash) == [.sha256])
        let text = try ClientOffers.text("chromium-publish")
        #expect(text.contains("a=fingerprint:\(offer.transport.fingerprints[0].text)\r\n"))
        let (audio, video) = (offer.tracks[0], offer.tracks[1])
        #expect(audio.localID == "mic" && audio.localMid == "2" && audio.kind == .audio && audio.section == 2)
        #expect(audio.streams == .ssrcs([PublishOffer.Encoding(ssrc: 1_814_420_083)]))
        #expect(audio.cname == "GqXlM5QpOzk1hsQe")
        #expect(audio.codecs == [111: .opus])
        #expect(video.localID == "cam" && video.section == 3 && video.kind == .video)
        #expect(video.streams == .ssrcs([PublishOffer.Encoding(ssrc: 519_704_586, rtx: 1_800_671_454)]))
        #expect(video.codecs[96] == .vp8 && video.codecs[109] == .h264 && video.codecs[97] == nil)
    }

    /// pub-tracks: the whole offer with a dead section, and one new track.
    @Test func oneMore() throws {
        let offer = try Self.read("chromium-publish-more", ClientOffers.track("4", .video))
        #expect(offer.tracks.map(\.section) == [4])
        #expect(offer.tracks[0].streams == .ssrcs([PublishOffer.Encoding(ssrc: 752_065_464, rtx: 315_455_386)]))
        #expect(
            try Self.refusal("chromium-publish-more", [], [ClientOffers.track("2", .audio)])?.code == .publishMismatch)
    }

    @Test func layersBySSRC() throws {
        let offer = try Self.read("chromium-simulcast-ssrc", ClientOffers.track("2", .video))
        let layers = [1_000_001, 1_000_002, 1_000_003].map { (ssrc: UInt32) in
            PublishOffer.Encoding(ssrc: ssrc, rtx: ssrc + 1_000_000)
        }
        #expect(offer.tracks[0].streams == .ssrcs(layers))
        #expect(offer.tracks[0].streams.count == 3)
    }

    @Test(arguments: ["chromium-simulcast-rid", "firefox-simulcast-rid"])
    func layersByRID(name: String) throws {
        let offer = try Self.read(name, ClientOffers.track("2", .video))
        #expect(offer.tracks[0].streams == .rids(["lo", "hi"]))
    }

    /// The fingerprint stands at the session level.
    @Test func firefox() throws {
        let offer = try Self.read(
            "firefox-publish", ClientOffers.track("3", .video), ClientOffers.track("2", .audio))
        #expect(offer.tracks.map(\.section) == [3, 2])
        #expect(offer.tracks[0].streams == .ssrcs([PublishOffer.Encoding(ssrc: 3_405_691_582, rtx: 3_405_691_583)]))
        #expect(offer.transport.iceUfrag == "2b0a5d4d")
    }

    @Test func safari() throws {
        let offer = try Self.read("safari-publish", ClientOffers.track("2", .audio), ClientOffers.track("3", .video))
        #expect(offer.tracks.map(\.streams.count) == [1, 1])
    }

    /// A section that waits for its bundle has port 0 and no transport of its own (RFC 9143, section 6).
    @Test func bundleOnly() throws {
        let offer = try Self.read("bundle-only", ClientOffers.track("0", .audio), ClientOffers.track("1", .video))
        #expect(offer.tracks[1].streams == .ssrcs([PublishOffer.Encoding(ssrc: 6)]))
    }

    // MARK: Tracks that do not fit

    @Test func tracksWithoutSections() throws {
        func refusal(_ tracks: PublishedTrack...) throws -> NegotiationError? {
            try Self.refusal("chromium-compact", [], tracks)
        }
        #expect(try refusal(ClientOffers.track("0", .audio), ClientOffers.track("1", .video)) == nil)
        #expect(try refusal()?.code == .publishEmpty)
        let missing = try refusal(ClientOffers.track("7", .audio))
        #expect(missing?.code == .publishMismatch)
        #expect(missing?.reason == "tracks[0].localmid \"7\" is the mid of no section in the offer")
        #expect(try refusal(ClientOffers.track(nil, .audio))?.code == .invalidParameter)
        #expect(try refusal(ClientOffers.track("", .audio, id: "x"))?.code == .invalidParameter)
        #expect(try refusal(ClientOffers.track("0", .audio, id: ""))?.code == .invalidParameter)
        let long = String(repeating: "x", count: 257)
        #expect(try refusal(ClientOffers.track("0", .audio, id: long))?.code == .invalidParameter)
        let twice = try refusal(ClientOffers.track("0", .audio, id: "a"), ClientOffers.track("1", .video, id: "a"))
        #expect(twice?.code == .invalidParameter)
        #expect(twice?.reason == "tracks[1].localid stands twice in one request")
        let shared = try refusal(ClientOffers.track("0", .audio, id: "a"), ClientOffers.track("0", .audio, id: "b"))
        #expect(shared?.code == .publishMismatch)
        let kind = try refusal(ClientOffers.track("0", .video))
        #expect(kind?.code == .publishMismatch)
        #expect(kind?.reason == "the section \"0\" of tracks[0] is \"audio\", and the track is video")
        // A word of the client's is shown short and printable.
        let strange = try refusal(ClientOffers.track(String(repeating: "\u{1}é", count: 50_000), .audio, id: "x"))
        #expect(strange?.description.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } == true)
        #expect((strange?.description.utf8.count ?? 0) < 200)
    }

    @Test(arguments: [
        ("m=audio 9", "m=audio 0", "is switched off with port 0"),
        ("a=sendonly", "a=inactive", "is inactive; sendonly or sendrecv is needed"),
        ("a=sendonly", "a=recvonly", "is recvonly; sendonly or sendrecv is needed"),
        ("UDP/TLS/RTP/SAVPF", "RTP/AVPF", "has the transport \"RTP/AVPF\"; UDP/TLS/RTP/SAVPF is needed"),
        ("a=rtcp-mux\r\n", "", "has no a=rtcp-mux"),
        ("a=ssrc", "a=x-ssrc", "declares no SSRC and no simulcast"),
        ("a=ssrc:11 cname", "a=ssrc:12 cname", "has 2 streams, and one is right, or a group SIM of all of them"),
        ("a=ssrc-group:FID 21 22\r\n", "", "has 2 streams"),
        ("a=ssrc-group:FID 21 22", "a=ssrc-group:SIM 21 22 23 24", "not of 2 or 3 streams"),
        ("a=ssrc-group:FID 21 22", "a=ssrc-group:SIM 21 22\r\na=ssrc:23 cname:x", "just the streams of the section"),
        ("a=ssrc-group:FID 21 22", "a=ssrc-group:SIM 21 22\r\na=ssrc-group:SIM 21 22", "a group SIM that is not"),
        ("a=ssrc-group:FID 21 22", "a=ssrc-group:FID 21 21", "a group FID"),
        ("a=ssrc-group:FID 21 22", "a=ssrc-group:FID 21 22 23", "a group FID"),
        ("a=ssrc-group:FID 21 22", "a=ssrc-group:FID 21 22\r\na=ssrc-group:FID 21 23", "a group FID"),
        ("a=ssrc-group:FID 21 22", "a=ssrc-group:FID 21 22\r\na=ssrc-group:FID 22 21", "retransmission stream of"),
        ("a=ssrc-group:FID 21 22", "a=ssrc-group:FID 21 22\r\na=ssrc-group:FID 23 22", "retransmission stream of"),
        (
            "a=ssrc-group:FID 21 22", "a=ssrc-group:FID 21 22\r\na=ssrc-group:SIM 21 23",
            "a group FID for some layers and not for all"
        ),
        ("a=ssrc:11 msid", "a=ssrc-group:SIM 11 12\r\na=ssrc:11 msid", "only video has layers"),
        ("a=ssrc:21 msid", "a=ssrc:0 cname:x\r\na=ssrc:21 msid", "declares the SSRC 0"),
        ("a=ssrc:21 msid", "a=ssrc:11 cname:x\r\na=ssrc:21 msid", "the SSRC 11 is declared by two sections"),
        ("a=ssrc:21 msid", "a=simulcast:send a\r\na=ssrc:21 msid", "not one a=rid with send for each layer"),
    ])
    func sectionsThatDoNotFit(old: String, new: String, reason: String) throws {
        let refusal = try Self.refusal("chromium-compact", [(old, new)])
        #expect(refusal?.reason.contains(reason) == true, "\(refusal?.description ?? "taken")")
        #expect([.invalidParameter, .publishMismatch].contains(refusal?.code))
        #expect(refusal?.line != nil)
    }

    @Test(arguments: [
        ("hi;lo", "hi;lo;mid;max", "4 layers"),
        ("hi;lo", "hi,lo", "alternatives"),
        ("hi;lo", "hi", "not one a=rid with send"),
        ("hi;lo", "hi;hi", "not one a=rid with send"),
        ("a=rid:lo send", "a=rid:lo recv", "not one a=rid with send"),
        ("lo", "l.o", "has the rid \"l.o\""),
        ("lo", "lolololololololol", "has the rid"),
        ("a=simulcast:send hi;lo\r\n", "", "declares no SSRC and no simulcast"),
        ("sdes:rtp-stream-id", "sdes:other", "without the header extension"),
        ("sdes:mid", "sdes:other", "without the header extension"),
        ("a=extmap:10 ", "a=extmap:10/recvonly ", "without the header extension"),
        ("a=extmap:10 ", "a=extmap:20 ", "without the header extension"),
    ])
    func layersThatDoNotFit(old: String, new: String, reason: String) throws {
        let refusal = try Self.refusal("chromium-simulcast-rid", [(old, new)], [ClientOffers.track("2", .video)])
        #expect(refusal?.reason.contains(reason) == true, "\(refusal?.description ?? "taken")")
        #expect([.invalidParameter, .publishMismatch].contains(refusal?.code))
    }

    /// A stream with a name and without simulcast.
    @Test func oneRID() throws {
        let text = try ClientOffers.text("chromium-simulcast-rid")
            .replacingOccurrences(of: "a=simulcast:send hi;lo\r\n", with: "")
            .replacingOccurrences(of: "a=rid:lo send\r\n", with: "")
        let offer = try PublishOfferReader.read(sdp: text, tracks: [ClientOffers.track("2", .video)])
        #expect(offer.tracks[0].streams == .rids(["hi"]))
    }

    /// Streams for forward error correction are no layers.
    @Test func errorCorrectionIsLeftOut() throws {
        let text = try ClientOffers.text("chromium-compact").replacingOccurrences(
            of: "a=ssrc-group:FID 21 22",
            with: "a=ssrc-group:FID 21 22\r\na=ssrc-group:FEC-FR 21 23\r\na=ssrc:23 cname:x")
        let offer = try PublishOfferReader.read(sdp: text, tracks: [ClientOffers.track("1", .video)])
        #expect(offer.tracks[0].streams == .ssrcs([PublishOffer.Encoding(ssrc: 21, rtx: 22)]))
    }

    // MARK: The transport

    @Test func oneTransport() throws {
        let line = "a=fingerprint:sha-256 "
        let text = try ClientOffers.text("chromium-compact")
        let print = try #require(text.firstRange(of: line)).upperBound
        let value = String(text[print...].prefix(95))
        #expect(
            try Self.refusal("chromium-compact", [(line + value + "\r\n", "")])?.reason.contains("fingerprint") == true)
        #expect(try Self.refusal("chromium-compact", [(line, "a=fingerprint:sha-1 ")])?.code == .invalidParameter)
        #expect(try Self.refusal("chromium-compact", [(value, "AB:CD")])?.reason.contains("32 bytes, not 2") == true)
        // Another algorithm beside it is no matter.
        #expect(
            try Self.refusal("chromium-compact", [(line, "a=fingerprint:sha-1 AB\r\n" + line)]) == nil)
        #expect(
            try Self.refusal("chromium-compact", [(line, "a=fingerprint:sha-512 AB\r\n" + line)])?.kind == .malformed)
        let other = String(value.dropLast(2)) + "00"
        for (old, new) in [
            (value, "\(value)\r\n\(line)\(other)"), ("a=ice-ufrag:4ZcD\r\n", ""),
            ("a=ice-pwd:2/1muCWoOi3uLifh0NuRHlzz\r\n", ""), ("a=setup:actpass", "a=setup:active"),
            ("a=setup:actpass", "a=setup:holdconn"), ("BUNDLE 0 1", "BUNDLE 0"), ("a=group:BUNDLE 0 1\r\n", ""),
        ] {
            #expect(try Self.refusal("chromium-compact", [(old, new)])?.code == .invalidParameter, "\(old) -> \(new)")
        }
        // A second section that says something else.
        for (old, new) in [(value, other), ("4ZcD", "4ZcE"), ("NuRHlzz", "NuRHlzy")] {
            let place = try #require(text.ranges(of: old).last)
            let changed = text.replacingCharacters(in: place, with: new)
            let refusal = ClientOffers.refusal { () throws(NegotiationError) in
                try PublishOfferReader.read(sdp: changed, tracks: [ClientOffers.track("0", .audio)])
            }
            #expect(refusal?.code == .invalidParameter, "\(old) -> \(new)")
            #expect(refusal?.description.contains("2/1muCWoOi3u") == false)
        }
    }

    @Test func noDescriptionShowsThePassword() throws {
        let transport = try Self.read("chromium-compact", ClientOffers.track("0", .audio)).transport
        var dumped = ""
        dump(transport, to: &dumped)
        #expect(!"\(transport)\([transport])\(dumped)".contains(transport.icePassword))
    }

    /// The codec stands under the number that rtpcaps gave.
    @Test func againstTheCapabilities() throws {
        let tracks = [ClientOffers.track("2", .audio), ClientOffers.track("3", .video)]
        for name in ["chromium", "firefox", "safari"] {
            let profile = try ClientCapabilities.capabilities(
                of: ClientOffers.text("\(name)-capabilities"), videoCodec: .h264)
            let offer = try PublishOfferReader.read(sdp: ClientOffers.text("\(name)-publish"), tracks: tracks)
            try offer.check(against: profile)
            let other = try ClientCapabilities.capabilities(
                of: ClientOffers.text(name == "firefox" ? "safari-capabilities" : "firefox-capabilities"),
                videoCodec: .h264)
            let refusal = ClientOffers.refusal { () throws(NegotiationError) in try offer.check(against: other) }
            #expect(refusal?.code == .mediaNotSupported)
        }
    }

    // MARK: Bounds

    @Test func bounds() throws {
        let audio = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=rtcp-mux\r\na=sendonly\r\n"
        func offer(_ sections: Int) throws -> String {
            let compact = try ClientOffers.text("chromium-compact")
            let fingerprint = try #require(compact.split(separator: "\r\n").first { $0.hasPrefix("a=fingerprint") })
            let mids = (0..<sections).map { "\($0)" }.joined(separator: " ")
            return
                "v=0\r\na=group:BUNDLE \(mids)\r\n\(fingerprint)\r\na=ice-ufrag:abcd\r\n"
                + "a=ice-pwd:abcdefghijklmnopqrstuv\r\n"
                + (0..<sections).map { audio + "a=mid:\($0)\r\na=ssrc:\($0 + 1) cname:x\r\n" }.joined()
        }
        func refusal(_ text: String, tracks: Int) -> NegotiationError? {
            ClientOffers.refusal { () throws(NegotiationError) in
                try PublishOfferReader.read(
                    sdp: text, tracks: (0..<tracks).map { ClientOffers.track("\($0)", .audio) })
            }
        }
        #expect(refusal(try offer(256), tracks: 64) == nil)
        #expect(refusal(try offer(256), tracks: 65)?.code == .tooManyOperations)
        #expect(refusal(try offer(257), tracks: 1)?.code == .invalidParameter)
        let padding = try offer(2)
        let filler = 1_048_576 - padding.utf8.count - 4
        #expect(refusal(padding + "a=" + String(repeating: "x", count: filler) + "\r\n", tracks: 2) == nil)
        #expect(
            refusal(padding + "a=" + String(repeating: "x", count: filler + 1) + "\r\n", tracks: 2)?.code
                == .invalidParameter)
        let sources = (0..<16).map { "a=ssrc:\(100 + $0) cname:x\r\n" }.joined()
        #expect(refusal(try offer(1) + sources, tracks: 1)?.reason.contains("declares 17 SSRCs") == true)
    }

    /// Whatever lines of an offer are lost, doubled or swapped.
    @Test(arguments: ["chromium-publish", "chromium-simulcast-ssrc", "firefox-simulcast-rid", "bundle-only"])
    func changedOffers(name: String) throws {
        let lines = try ClientOffers.text(name).components(separatedBy: "\r\n")
        var read = 0
        for seed in UInt64(1)...150 {
            var random = SeededRandom(seed: seed)
            var changed = lines
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 1..<changed.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: changed.remove(at: place)
                case 1: changed.insert(changed[place], at: Int.random(in: place..<changed.count, using: &random))
                default: changed.swapAt(place, Int.random(in: 1..<changed.count, using: &random))
                }
            }
            let text = changed.joined(separator: "\n")
            #expect(PublishOfferExercise.run([UInt8](text.utf8)) == nil, "seed \(seed), \(name)")
            read += PublishOfferExercise.readings(of: text).offers
        }
        #expect(read >= 50)
    }
}
