import MediaContract
import MediaWire
import RoomControl
import Testing

@Suite struct PlainOfferTests {
    /// What is wrong with the whole offer: status, line, and a part of the sentence.
    struct Refusal: Sendable, CustomTestStringConvertible {
        var name: String
        var purpose: LegPurpose = .publish
        var text: String
        var status = 406
        var line: Int?
        var reason: String
        var testDescription: String { name }
    }

    static let webRTC = Offers.session(
        ["a=fingerprint:sha-256 AB:CD", "a=ice-ufrag:abcd", "a=ice-pwd:0123456789012345678901", "a=setup:actpass"],
        ["m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=sendonly", "a=rtpmap:111 opus/48000/2"])

    static let refusals: [Refusal] = [
        Refusal(name: "no description", text: "hello", status: 400, line: 1, reason: "a line begins with a letter"),
        Refusal(name: "empty", text: "", status: 400, reason: "begins with v=0"),
        Refusal(name: "no m-line", text: Offers.session(), status: 400, reason: "the offer has no m-line"),
        Refusal(
            name: "wrong key length",
            text: Offers.session([], ["m=audio 9 RTP/SAVP 111", "a=crypto:1 AEAD_AES_128_GCM inline:AAAA"]),
            status: 400, line: 7, reason: "the key and salt of AEAD_AES_128_GCM are 28 bytes, not 3"),
        Refusal(
            name: "WebRTC", text: webRTC, line: 10, reason: "m-line 1 (line 10): it has no a=rtcp-mux"),
        Refusal(
            name: "WebRTC of old",
            text: webRTC.replacing("UDP/TLS/RTP/SAVPF", with: "RTP/SAVPF"), line: 10,
            reason: "m-line 1 (line 10): it has no a=rtcp-mux"),
        Refusal(
            name: "data channel only",
            text: Offers.session([], ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel"]), line: 6,
            reason: "only audio and video are carried on legs"),
        Refusal(
            name: "not protected", text: Offers.session([], ["m=audio 9 RTP/AVP 111", "a=rtpmap:111 opus/48000/2"]),
            line: 6, reason: "no m-line can be used. m-line 1 (line 6): RTP/AVP is not protected"),
        Refusal(
            name: "no key", text: Offers.session([], ["m=audio 9 RTP/SAVP 111", "a=rtpmap:111 opus/48000/2"]),
            line: 6, reason: "m-line 1 (line 6): it has no a=crypto line"),
        Refusal(
            name: "only MKI",
            text: Offers.session(
                [],
                [
                    "m=audio 9 RTP/SAVP 111", "a=rtpmap:111 opus/48000/2",
                    Offers.crypto(1, .aesCM128HmacSHA1_80) + "|2^20|1:4",
                ]), line: 6,
            reason: "its a=crypto of line 8 cannot be used: it names a master key identifier (MKI)"),
        Refusal(
            name: "unknown suite",
            text: Offers.session(
                [], ["m=audio 9 RTP/SAVP 111", "a=rtpmap:111 opus/48000/2", "a=crypto:1 NULL inline:AAAA"]), line: 6,
            reason: "its a=crypto of line 8 cannot be used: the suite \"NULL\" is not one of"),
        Refusal(
            name: "recvonly publishes", text: Offers.session([], Offers.audio(9, "recvonly")), line: 6,
            reason: "it is recvonly, and publishing needs sendonly or sendrecv"),
        Refusal(
            name: "inactive publishes", text: Offers.session([], Offers.audio(9, "inactive")), line: 6,
            reason: "it is inactive, and publishing needs"),
        Refusal(
            name: "sendonly plays", purpose: .play, text: Offers.session([], Offers.audio(5000, "sendonly")), line: 6,
            reason: "it is sendonly, and playing needs recvonly or sendrecv"),
        Refusal(
            name: "static payload types",
            text: Offers.session([], ["m=audio 9 RTP/SAVP 0 8", Offers.crypto(1, .aeadAES128GCM)]), line: 6,
            reason: "none of its payload types is usable: opus with an a=rtpmap line is needed"),
        Refusal(
            name: "audio codec on video",
            text: Offers.session(
                [], ["m=video 9 RTP/SAVP 111", "a=rtpmap:111 opus/48000/2", Offers.crypto(1, .aeadAES128GCM)]), line: 6,
            reason: "usable: VP8, VP9, H264, AV1 with an a=rtpmap line is needed"),
        Refusal(
            name: "wrong clock rate",
            text: Offers.session(
                [], ["m=audio 9 RTP/SAVP 111", "a=rtpmap:111 opus/44100/2", Offers.crypto(1, .aeadAES128GCM)]), line: 6,
            reason: "none of its payload types is usable"),
        Refusal(
            name: "payload type that reads as RTCP",
            text: Offers.session(
                [],
                ["m=audio 9 RTP/SAVP 72", "a=rtpmap:72 opus/48000/2", "a=rtcp-mux", Offers.crypto(1, .aeadAES128GCM)]),
            line: 6, reason: "none of its payload types is usable"),
        Refusal(
            name: "interleaved H.264",
            text: Offers.session(
                [],
                [
                    "m=video 9 RTP/SAVP 96", "a=rtpmap:96 H264/90000", "a=fmtp:96 packetization-mode=2",
                    Offers.crypto(1, .aeadAES128GCM),
                ]), line: 6, reason: "none of its payload types is usable"),
        Refusal(
            name: "everything rejected", text: Offers.session([], Offers.audio(0), Offers.video(0)), line: 6,
            reason: "m-line 1 (line 6): its port is 0; m-line 2 (line 10): its port is 0"),
        Refusal(
            name: "two rtpmaps", text: Offers.session([], Offers.audio(9, "sendonly", ["a=rtpmap:111 VP8/90000"])),
            status: 400, line: 6, reason: "payload type 111 has two a=rtpmap lines"),
        Refusal(
            name: "too many SSRCs",
            text: Offers.session([], Offers.audio(9, "sendonly", (0...16).map { "a=ssrc:\($0) cname:a" })), line: 6,
            reason: "it declares 17 SSRCs, and 16 are the most"),
        Refusal(
            name: "two meanings of an id",
            text: Offers.session([], Offers.audio(9, "sendonly", ["a=extmap:1 urn:a", "a=extmap:1 urn:b"])),
            status: 400, line: 11, reason: "the header extension id 1 has two meanings"),
        Refusal(
            name: "a third party, session level", purpose: .play,
            text: Offers.session([], Offers.audio(5000, "recvonly"))
                .replacing("c=IN IP4 192.0.2.10", with: "c=IN IP4 192.0.2.66"), line: 4,
            reason: "media is sent only to the address that the request came from, and 192.0.2.66 is another"),
        Refusal(
            name: "a third party, m-line", purpose: .play,
            text: Offers.session(
                [], Offers.audio(5000, "recvonly"), Offers.video(5002, "recvonly", ["c=IN IP4 224.0.0.1/127"])),
            line: 14, reason: "224.0.0.1 is another"),
        Refusal(
            name: "a third party, RTCP", purpose: .play,
            text: Offers.session([], Offers.audio(5000, "recvonly", ["a=rtcp:5001 IN IP4 192.0.2.66"])), line: 10,
            reason: "192.0.2.66 is another"),
        Refusal(
            name: "a third party of the other family", purpose: .play,
            text: Offers.session([], Offers.audio(5000, "recvonly", ["c=IN IP6 2001:db8::1"])), line: 10,
            reason: "2001:db8::1 is another"),
        Refusal(
            name: "a name", purpose: .play,
            text: Offers.session([], Offers.audio(5000, "recvonly", ["c=IN IP4 client.example"])), line: 10,
            reason: "the address must be a literal IP address of its type"),
        Refusal(
            name: "IPv6 said, IPv4 written", purpose: .play,
            text: Offers.session([], Offers.audio(5000, "recvonly", ["c=IN IP6 192.0.2.10"])), line: 10,
            reason: "the address must be a literal IP address of its type"),
        Refusal(
            name: "no address", purpose: .play,
            text: Offers.session([], Offers.audio(5000, "recvonly")).replacing("c=IN IP4 192.0.2.10\r\n", with: ""),
            status: 400, line: 5, reason: "the m-line has no c= line"),
        Refusal(
            name: "placeholder port", purpose: .play, text: Offers.session([], Offers.audio(9, "recvonly")), line: 6,
            reason: "port 9 is a placeholder"),
        Refusal(
            name: "RTCP port 0", purpose: .play,
            text: Offers.session([], Offers.audio(5000, "recvonly", ["a=rtcp:0"])), line: 10,
            reason: "port 0 is a placeholder"),
        Refusal(
            name: "no next port", purpose: .play, text: Offers.session([], Offers.audio(65_535, "recvonly")), line: 6,
            reason: "there is no port next to 65535 for RTCP"),
        Refusal(
            name: "mid twice in bundles",
            text: Offers.session(
                ["a=group:BUNDLE 0", "a=group:BUNDLE 0"], Offers.audio(9, "sendonly", ["a=mid:0", "a=rtcp-mux"])),
            status: 400, line: 6, reason: "the mid \"0\" stands twice in a=group:BUNDLE"),
        Refusal(
            name: "payload type of two codecs in a bundle",
            text: Offers.session(
                ["a=group:BUNDLE 0 1"], Offers.audio(9, "sendonly", ["a=mid:0", "a=rtcp-mux"]),
                [
                    "m=video 9 RTP/SAVPF 111", "a=sendonly", "a=mid:1", "a=rtcp-mux",
                    Offers.crypto(1, .aeadAES128GCM), "a=rtpmap:111 VP8/90000",
                ]),
            status: 400, line: 13, reason: "payload type 111 means two codecs in one bundle"),
        Refusal(
            name: "extension id of two meanings in a bundle",
            text: Offers.session(
                ["a=group:BUNDLE 0 1"], Offers.audio(9, "sendonly", ["a=mid:0", "a=rtcp-mux", "a=extmap:3 urn:a"]),
                Offers.video(9, "sendonly", ["a=mid:1", "a=extmap:3 urn:b"])),
            status: 400, line: 19, reason: "the header extension id 3 has two meanings in one bundle"),
        Refusal(
            name: "SSRC of two m-lines in a bundle",
            text: Offers.session(
                ["a=group:BUNDLE 0 1"], Offers.audio(9, "sendonly", ["a=mid:0", "a=rtcp-mux", "a=ssrc:3 cname:a"]),
                Offers.video(9, "sendonly", ["a=mid:1", "a=ssrc:3 cname:a"])),
            status: 400, line: 14, reason: "the SSRC 3 is declared by two m-lines of one bundle"),
    ]

    @Test(arguments: refusals)
    func refuses(_ refusal: Refusal) {
        let error = #expect(throws: NegotiationError.self) {
            try PlainOffer.read(refusal.text, purpose: refusal.purpose, client: Offers.client)
        }
        #expect(error?.httpStatus == refusal.status)
        #expect(error?.line == refusal.line)
        #expect(error?.reason.contains(refusal.reason) == true, "\(error?.reason ?? "")")
        #expect(error?.reason.contains("inline") != true)
    }

    /// A payload type is written one way only; an answer would name another format than the offer.
    @Test(arguments: ["0111", "+111", "00111"])
    func aFormatIsWrittenAsItsNumber(format: String) {
        let text = Offers.session([], Offers.audio()).replacing("SAVPF 111", with: "SAVPF \(format)")
        #expect(throws: NegotiationError.self) { try Offers.publish(text) }
        #expect(throws: NegotiationError.self) {
            try Offers.play(text.replacing("sendonly", with: "recvonly"))
        }
        let capabilities =
            "v=0\nm=audio 9 UDP/TLS/RTP/SAVPF \(format)\na=rtpmap:111 opus/48000/2\n"
            + "m=video 9 UDP/TLS/RTP/SAVPF 96\na=rtpmap:96 VP8/90000\n"
        #expect(throws: NegotiationError.self) {
            try ClientCapabilities.capabilities(of: capabilities, videoCodec: .vp8)
        }
    }

    @Test func webRTCHasAKindOfItsOwn() {
        let error = #expect(throws: NegotiationError.self) { try Offers.publish(Self.webRTC) }
        #expect(error?.kind == .notAcceptable || error?.kind == .malformed)
    }

    @Test func bestKeyOfThoseOffered() throws {
        let orders: [[SRTPProfile]] = [
            [.aesCM128HmacSHA1_80, .aeadAES256GCM, .aeadAES128GCM], [.aesCM128HmacSHA1_80, .aeadAES256GCM],
            [.aesCM128HmacSHA1_80],
        ]
        for (offered, best) in zip(orders, [SRTPProfile.aeadAES128GCM, .aeadAES256GCM, .aesCM128HmacSHA1_80]) {
            let lines = offered.enumerated().map { Offers.crypto($0 + 4, $1, UInt8($0)) }
            let media = ["m=audio 9 RTP/SAVP 111", "a=rtpmap:111 opus/48000/2"] + lines
            let offer = try Offers.publish(Offers.session([], media))
            let place = try #require(offered.firstIndex(of: best))
            #expect(offer.transports.count == 1)
            #expect(offer.transports[0].cryptoTag == place + 4)
            #expect(offer.transports[0].clientKey == Offers.key(best, UInt8(place)))
        }
        // A better one that cannot be used gives way.
        let media = [
            "m=audio 9 RTP/SAVP 111", "a=rtpmap:111 opus/48000/2", Offers.crypto(1, .aeadAES128GCM) + "|1:4",
            Offers.crypto(2, .aesCM128HmacSHA1_80),
        ]
        #expect(try Offers.publish(Offers.session([], media)).transports[0].cryptoTag == 2)
    }

    @Test func publishTakesTheFirstUsableCodecOfEachLine() throws {
        let text = Offers.session(
            [], Offers.audio(9, "sendrecv", ["a=ssrc:11 cname:a", "a=ssrc:12 cname:a", "a=ssrc-group:FID 11 12"]),
            [
                "m=video 9 RTP/SAVPF 97 100 96", "a=mid:v", Offers.crypto(3, .aeadAES256GCM), "a=rtcp-mux",
                "a=rtcp-rsize",
                "a=rtpmap:96 VP8/90000", "a=rtpmap:97 rtx/90000", "a=rtpmap:100 vp9/90000", "a=fmtp:97 apt=100",
                "a=fmtp:100 profile-id=2;x-evil=1", "a=rtcp-fb:100 nack", "a=rtcp-fb:100 goog-remb",
                "a=rtcp-fb:* ccm fir", "a=rtcp-fb:96 nack pli",
            ])
        let offer = try Offers.publish(text)
        let lines = offer.acceptedLines
        #expect(lines.map(\.index) == [0, 1])
        #expect(lines[0].line.codecs.map(\.codec) == [.opus])
        #expect(lines[0].line.ssrcs == [11])
        #expect(
            lines[1].line.codecs == [
                PlainOffer.OfferedCodec(
                    codec: .vp9, payloadType: 100, parameters: "profile-id=2", feedback: [.nack, .fir])
            ])
        #expect(lines[1].line.mid == "v")
        #expect(offer.transports.map(\.needsRTCPPort) == [true, false])
        #expect(offer.transports.map(\.reducedSizeRTCP) == [false, true])
        #expect(offer.transports.map(\.lines) == [[0], [1]])
        for plan in offer.transports {
            guard case .latched = plan.remote else {
                Issue.record("a sending leg is latched")
                continue
            }
        }
    }

    @Test func feedbackNeedsItsProfile() throws {
        let text = Offers.session([], Offers.video(9, "sendonly", ["a=rtcp-fb:96 nack", "a=rtcp-rsize"]))
        #expect(try Offers.publish(text).acceptedLines[0].line.codecs[0].feedback == [.nack])
        let plain = try Offers.publish(text.replacing("RTP/SAVPF", with: "RTP/SAVP"))
        #expect(plain.acceptedLines[0].line.codecs[0].feedback == [])
        #expect(!plain.transports[0].reducedSizeRTCP)
    }

    @Test func playKeepsEveryCodecOnce() throws {
        let text = Offers.session(
            [],
            [
                "m=video 5002 RTP/SAVPF 96 102 103 98 99 45", "a=recvonly", Offers.crypto(1, .aeadAES128GCM),
                "a=rtpmap:96 VP8/90000", "a=rtpmap:102 H264/90000", "a=rtpmap:103 H264/90000",
                "a=fmtp:102 packetization-mode=0", "a=fmtp:103 packetization-mode=1;profile-level-id=640c34",
                "a=rtpmap:99 VP9/90000", "a=rtpmap:98 VP9/90000", "a=fmtp:98 profile-id=2", "a=rtpmap:45 AV1/90000",
            ])
        var offer = try Offers.play(text)
        #expect(offer.acceptedLines[0].line.codecs.map(\.codec) == [.vp8, .h264, .vp9, .av1])
        #expect(offer.acceptedLines[0].line.codecs.map(\.payloadType) == [96, 103, 99, 45])
        try offer.pick(.vp9, forLine: 0)
        #expect(offer.acceptedLines[0].line.codecs.map(\.payloadType) == [99])
        let error = #expect(throws: NegotiationError.self) { try offer.pick(.opus, forLine: 0) }
        #expect(error?.httpStatus == 406)
        #expect(error?.line == 6)
        #expect(error?.reason == "the track is opus, and the m-line offers only VP9")
    }

    @Test func playAddresses() throws {
        func remote(_ text: String, client: TransportAddress = Offers.client) throws -> [TransportAddress] {
            let offer = try PlainOffer.read(text, purpose: .play, client: client)
            guard case .known(let rtp, let rtcp) = offer.transports[0].remote else { return [] }
            return [rtp, rtcp]
        }
        let next = Offers.session([], Offers.audio(5000, "recvonly"))
        #expect(try remote(next).map(\.description) == ["192.0.2.10:5000", "192.0.2.10:5001"])
        let own = Offers.session([], Offers.audio(5000, "sendrecv", ["a=rtcp:6001", "c=IN IP4 192.0.2.10"]))
        #expect(try remote(own).map(\.description) == ["192.0.2.10:5000", "192.0.2.10:6001"])
        let muxed = Offers.session([], Offers.audio(65_535, "recvonly", ["a=rtcp-mux", "a=rtcp:6001"]))
        #expect(try remote(muxed).map(\.description) == ["192.0.2.10:65535", "192.0.2.10:65535"])
        // The HTTP socket may be a dual-stack one.
        let mapped = try #require(TransportAddress(host: "::ffff:192.0.2.10", port: 1))
        #expect(try remote(next, client: mapped).map(\.description) == ["192.0.2.10:5000", "192.0.2.10:5001"])
        let six = try #require(TransportAddress(host: "2001:db8::1", port: 1))
        let text = next.replacing("c=IN IP4 192.0.2.10", with: "c=IN IP6 2001:DB8:0::1")
        #expect(try remote(text, client: six).map(\.description) == ["[2001:db8::1]:5000", "[2001:db8::1]:5001"])
        #expect(try PlainOffer.read(text, purpose: .play, client: six).isIPv6)
        #expect(try !Offers.play(next).isIPv6)
    }

    /// An address that nobody will send to does not matter: a publisher's, and that of a refused m-line.
    @Test func otherAddressesDoNotMatter() throws {
        let publish = Offers.session([], Offers.audio(9, "sendonly", ["c=IN IP4 0.0.0.0"]))
        #expect(try Offers.publish(publish).transports.count == 1)
        let play = Offers.session(
            [], Offers.audio(5000, "recvonly"), ["m=video 5002 RTP/SAVP 34", "c=IN IP4 192.0.2.66"])
        #expect(try Offers.play(play).acceptedLines.map(\.index) == [0])
    }

    @Test func extensionsThatAreAnswered() throws {
        let text = Offers.session(
            ["a=extmap-allow-mixed", "a=extmap:9 urn:ietf:params:rtp-hdrext:ssrc-audio-level"],
            Offers.audio(
                9, "sendonly",
                [
                    "a=mid:m", "a=extmap:1/sendonly urn:ietf:params:rtp-hdrext:sdes:mid", "a=extmap:2 urn:unknown",
                    "a=extmap:3/recvonly http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time",
                    "a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time",
                    "a=extmap:15 urn:3gpp:video-orientation",
                    "a=extmap:20 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay",
                    "a=extmap:300 http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time",
                ]))
        let line = try Offers.publish(text).acceptedLines[0].line
        #expect(line.extensions.map(\.mapping.kind) == [.mid, .audioLevel, .playoutDelay])
        #expect(line.extensions.map(\.mapping.id) == [1, 9, 20])
        // Without mixing, only the ids of the one-byte form; without a mid, no MID.
        let narrow = text.replacing("a=extmap-allow-mixed\r\n", with: "").replacing("a=mid:m\r\n", with: "")
        #expect(try Offers.publish(narrow).acceptedLines[0].line.extensions.map(\.mapping.kind) == [.audioLevel])
    }

    /// A088: the node forwards, so every profile and level in both readable packetizations is taken.
    @Test(arguments: ["42e01f", "42001f", "42e034", "640c34", "4d001f"], [0, 1])
    func h264Profiles(profile: String, mode: Int) throws {
        let parameters = "level-asymmetry-allowed=1;packetization-mode=\(mode);profile-level-id=\(profile)"
        let text = Offers.session(
            [],
            [
                "m=video 9 RTP/SAVP 126", Offers.crypto(1, .aeadAES128GCM), "a=rtpmap:126 h264/90000",
                "a=fmtp:126 \(parameters);sprop-parameter-sets=Z0LAHtk=,aMuDyyA=",
            ])
        let codec = try #require(Offers.publish(text).acceptedLines.first?.line.codecs.first)
        #expect(codec.codec == .h264)
        #expect(codec.parameters == parameters)
    }

    /// A089: what a plain leg has not is refused alone.
    @Test func dataChannelBesideMedia() throws {
        let text = Offers.session(
            [], Offers.audio(9), ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "a=mid:d"])
        let offer = try Offers.publish(text)
        #expect(offer.acceptedLines.map(\.index) == [0])
        guard case .refused(let reason) = offer.lines[1].outcome else {
            Issue.record("accepted")
            return
        }
        #expect(reason == "only audio and video are carried on plain legs")
    }

    @Test func moreLinesThanALegMayHave() throws {
        let media = (0..<20).flatMap { _ in Offers.audio(9) }
        let offer = try Offers.publish(Offers.session([], media))
        #expect(offer.acceptedLines.count == PlainOffer.maximumLines)
        #expect(offer.lines.count == 20)
        #expect(offer.transports.count == PlainOffer.maximumLines)
    }
}
