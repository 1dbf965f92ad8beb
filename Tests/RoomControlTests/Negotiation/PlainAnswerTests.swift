import MediaContract
import MediaWire
import RoomControl
import Testing

@Suite struct PlainAnswerTests {
    static let rich = Offers.session(
        ["a=group:BUNDLE 0 1"],
        Offers.audio(
            5000, "recvonly", ["a=mid:0", "a=rtcp-mux", "a=rtcp-rsize", "a=fmtp:111 stereo=1;useinbandfec=1"]),
        [
            "m=video 5000 RTP/SAVPF 96 98 63", "a=recvonly", "a=mid:1", "a=rtcp-mux", "a=rtpmap:96 VP8/90000",
            "a=rtpmap:98 VP9/90000", "a=rtpmap:63 red/90000", "a=rtcp-fb:* nack pli", "a=rtcp-fb:98 transport-cc",
            "a=extmap:4/recvonly urn:ietf:params:rtp-hdrext:sdes:mid", "a=extmap:5 urn:unknown",
        ], ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "a=mid:2"])

    @Test func playAnswerWordByWord() throws {
        let offer = try Offers.play(Self.rich)
        let answer = Offers.answer(offer)
        let key = answer.transports[0].outbound
        let session = try SessionDescription(parsing: answer.text)
        let id = try #require(session.origin?.split(separator: " ")[1])
        let ssrcs = answer.playLines.map(\.ssrc)
        #expect(
            answer.text.split(separator: "\r\n").map { String($0) } == [
                "v=0", "o=- \(id) 1 IN IP4 198.51.100.1", "s=-", "c=IN IP4 198.51.100.1", "t=0 0", "a=group:BUNDLE 0 1",
                "m=audio 8000 RTP/SAVPF 111", "a=mid:0", "a=sendonly", "a=rtcp-mux", "a=rtcp-rsize",
                "a=crypto:1 AEAD_AES_128_GCM inline:\(key.inlineText)", "a=rtpmap:111 opus/48000/2",
                "a=fmtp:111 stereo=1;useinbandfec=1", "a=ssrc:\(ssrcs[0]) cname:node",
                "m=video 8000 RTP/SAVPF 96 98", "a=mid:1", "a=sendonly", "a=rtcp-mux", "a=rtcp-rsize",
                "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack pli", "a=rtpmap:98 VP9/90000", "a=rtcp-fb:98 nack pli",
                "a=extmap:4/sendonly urn:ietf:params:rtp-hdrext:sdes:mid", "a=ssrc:\(ssrcs[1]) cname:node",
                "m=application 0 UDP/DTLS/SCTP webrtc-datachannel", "a=mid:2", "a=inactive",
            ])
    }

    @Test func playSpecs() throws {
        let answer = Offers.answer(try Offers.play(Self.rich))
        let transport = try #require(answer.transports.first)
        #expect(answer.transports.count == 1)
        #expect(answer.tracks.isEmpty)
        #expect(transport.id == TransportID(101))
        #expect(transport.peer == PeerID(5))
        #expect(transport.socket == SocketID(10))
        #expect(transport.rtcpSocket == SocketID(10))
        #expect(transport.inbound == Offers.key(.aeadAES128GCM))
        #expect(transport.outbound.profile == .aeadAES128GCM)
        #expect(transport.cname == "node")
        #expect(transport.silenceLimit == .seconds(30))
        #expect(transport.reducedSizeRTCP)

        let line = answer.playLines[1]
        #expect(line.index == 1)
        #expect(line.kind == .video)
        #expect(line.transport == transport.id)
        #expect(line.codecs.map(\.payloadType).contains(98) && line.codecs.map(\.payloadType).contains(96))
        #expect(line.mid == "1")
        #expect(line.extensions == [HeaderExtensionMapping(id: 4, kind: .mid)])
    }

    @Test func publishSpecs() throws {
        let text = Offers.session(
            [],
            Offers.audio(9, "sendonly", ["a=ssrc:77 cname:me"]),
            ["m=video 0 RTP/SAVP 31", "a=mid:gone"],
            Offers.video(
                9, "sendonly",
                ["a=mid:v", "a=rtcp-fb:96 nack", "a=extmap:6 urn:ietf:params:rtp-hdrext:sdes:mid", "a=rtcp-mux"]))
        let offer = try Offers.publish(text)
        let answer = Offers.answer(offer)
        #expect(answer.playLines.isEmpty)
        #expect(answer.transports.map(\.id) == [TransportID(101), TransportID(102)])
        #expect(answer.transports.map(\.rtcpSocket) == [SocketID(11), SocketID(12)])
        #expect(answer.transports.map(\.inbound.profile) == [.aeadAES128GCM, .aesCM128HmacSHA1_80])
        #expect(answer.tracks.map(\.id) == [TrackID(103), TrackID(104)])
        #expect(answer.tracks.map(\.transport) == answer.transports.map(\.id))
        #expect(answer.tracks.map(\.codec) == [.opus, .vp8])
        #expect(answer.tracks.map(\.payloadType) == [111, 96])
        #expect(answer.tracks.map { $0.encodings[0].ssrcs } == [[77], []])
        #expect(answer.tracks.map(\.mid) == [nil, "v"])
        #expect(answer.tracks[1].feedback == [.nack])
        #expect(answer.tracks[1].extensions == [HeaderExtensionMapping(id: 6, kind: .mid)])

        // A081: the rejected m-line keeps its place, its formats and its mid.
        let session = try SessionDescription(parsing: answer.text)
        #expect(session.media.map(\.media) == ["audio", "video", "video"])
        #expect(session.media.map(\.port) == [8000, 0, 8002])
        #expect(session.media[1].formats == ["31"])
        #expect(session.media[1].mid == "gone")
        #expect(session.media.map(\.direction) == [.recvonly, .inactive, .recvonly])
        #expect(session.media[0].rtcp?.port == 8001)
        #expect(session.media[0].rtcp?.connection?.host == "198.51.100.1")
        #expect(session.media[2].rtcp == nil)
        #expect(session.media.map(\.rtcpMux) == [false, false, true])
        #expect(session.bundles.isEmpty)
        // Nothing is declared that the node does not send.
        #expect(session.media.allSatisfy { $0.ssrcs.isEmpty })
    }

    @Test func keysAndNumbersAreFresh() throws {
        let offer = try Offers.play(
            Offers.session([], (0..<8).flatMap { Offers.audio(5000 + 2 * $0, "recvonly") }))
        var keys: Set<SRTPMasterKey> = []
        for seed in 0..<50 as Range<UInt64> {
            let answer = Offers.answer(offer, seed: seed)
            keys.formUnion(answer.transports.map(\.outbound))
            let ssrcs = answer.playLines.map(\.ssrc) + answer.transports.map(\.localSSRC)
            #expect(Set(ssrcs).count == 16, "seed \(seed)")
            #expect(!ssrcs.contains(0), "seed \(seed)")
            #expect(answer.playLines.map(\.transport) == answer.transports.map(\.id), "seed \(seed)")
        }
        #expect(keys.count == 400)
    }

    @Test func ssrcsOfTheClientAreNotUsed() throws {
        // The generator is known, so the first number that it gives can be declared by the client.
        var random = SeededRandom(seed: 9)
        let first = SSRCPool.draw(besides: [], using: &random)
        random = SeededRandom(seed: 9)
        #expect(SSRCPool.draw(besides: [first], using: &random) != first)
    }

    @Test func ipv6Answer() throws {
        let six = try #require(TransportAddress(host: "2001:db8::1", port: 1))
        let text = Offers.session([], Offers.audio(9, "sendonly"))
        let offer = try PlainOffer.read(text, purpose: .publish, client: six)
        var random = SeededRandom(seed: 1)
        let answer = PlainAnswer.make(
            offer, ports: Offers.ports(for: offer),
            terms: PlainAnswer.Terms(peer: PeerID(1), announced: six, cname: "n"), nextID: { 1 }, random: &random)
        #expect(answer.text.contains("\r\nc=IN IP6 2001:db8::1\r\n"))
        #expect(answer.text.contains("\r\na=rtcp:8001 IN IP6 2001:db8::1\r\n"))
    }
}
