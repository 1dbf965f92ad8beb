import MediaContract
import MediaWire
import RoomControl
import Testing

/// The client's half (builder, reader, player's file) against the node's.
@Suite struct NegotiationClientTests {
    private static func builder(
        _ purpose: PlainOfferBuilder.Purpose, rtcpMux: Bool, bundled: Bool, feedback: Bool, profiles: [SRTPProfile]
    ) -> PlainOfferBuilder {
        let playing = purpose == .play
        return PlainOfferBuilder(
            purpose: purpose, address: Offers.client,
            lines: [
                PlainOfferBuilder.Line(
                    formats: [.init(.opus)], port: playing ? 5000 : 9, keys: profiles.map { Offers.key($0, 1) },
                    mid: "0", ssrc: playing ? nil : 71),
                PlainOfferBuilder.Line(
                    formats: playing ? [.init(.vp8), .init(.vp9), .init(.h264)] : [.init(.vp9)],
                    port: playing ? 5004 : 9, rtcpPort: playing ? 5009 : nil, keys: profiles.map { Offers.key($0, 50) },
                    mid: "1", ssrc: playing ? nil : 72),
            ],
            rtcpMux: rtcpMux, bundled: bundled, feedback: feedback, reducedSizeRTCP: feedback,
            extensions: [HeaderExtensionMapping(id: 3, kind: .mid)], cname: "someone")
    }

    @Test(arguments: [PlainOfferBuilder.Purpose.publish, .play], [0, 1, 2])
    func bothHalvesAgree(purpose: PlainOfferBuilder.Purpose, form: Int) throws {
        for profiles in [[SRTPProfile.aesCM128HmacSHA1_80], [.aesCM128HmacSHA1_80, .aeadAES256GCM, .aeadAES128GCM]] {
            let own = Self.builder(
                purpose, rtcpMux: form > 0, bundled: form == 2, feedback: form != 1, profiles: profiles)
            let offer = try PlainOffer.read(
                own.text, purpose: purpose == .publish ? .publish : .play, client: Offers.client)
            let answer = Offers.answer(offer)
            let lines = try PlainAnswerReader.read(answer.text, for: own).compactMap { $0 }
            #expect(lines.count == 2)
            #expect(offer.transports.count == (form == 2 ? 1 : 2))
            for (index, line) in lines.enumerated() {
                let place = form == 2 ? 0 : index
                let spec = answer.transports[place]
                #expect(line.transport == place)
                #expect(line.kind == (index == 0 ? .audio : .video))
                #expect(line.mid == String(index))
                #expect(line.rtp == Offers.node.with(port: UInt16(8000 + 2 * place)))
                #expect(line.rtcp == Offers.node.with(port: UInt16(8000 + 2 * place + (form == 0 ? 1 : 0))))
                #expect(line.rtcpMux == (form > 0))
                #expect(line.reducedSizeRTCP == (form != 1))
                #expect(line.clientKey == spec.inbound)
                #expect(line.nodeKey == spec.outbound)
                #expect(line.nodeKey.profile == (profiles.count == 1 ? .aesCM128HmacSHA1_80 : .aeadAES128GCM))
                #expect(line.extensions == [HeaderExtensionMapping(id: 3, kind: .mid)])
                #expect(line.feedback.contains("nack") == (form != 1))
                #expect(line.formats.map(\.codec) == own.lines[index].formats.map(\.codec))
                #expect(line.formats == own.lines[index].formats)
                #expect(line.ssrc == (purpose == .publish ? nil : answer.playLines[index].ssrc))
            }
            #expect(answer.tracks.map { $0.encodings[0].ssrcs } == (purpose == .publish ? [[71], [72]] : []))
            if purpose == .play, form == 0, case .known(let rtp, let rtcp) = answer.transports[1].remote {
                #expect([rtp.port, rtcp.port] == [5004, 5009])
            }
        }
    }

    @Test func playersFile() throws {
        let own = Self.builder(
            .play, rtcpMux: false, bundled: false, feedback: false, profiles: [.aesCM128HmacSHA1_80])
        var offer = try PlainOffer.read(own.text, purpose: .play, client: Offers.client)
        try offer.pick(.h264, forLine: 1)
        let answer = Offers.answer(offer)
        let file = PlayerSDP.text(offer: own, answer: try PlainAnswerReader.read(answer.text, for: own))
        #expect(
            file.split(separator: "\r\n").map { String($0) } == [
                "v=0", "o=- 1 1 IN IP4 192.0.2.10", "s=Parlor", "c=IN IP4 192.0.2.10", "t=0 0",
                "m=audio 5000 RTP/SAVP 111",
                "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:\(answer.transports[0].outbound.inlineText)",
                "a=rtpmap:111 opus/48000/2", "a=fmtp:111 minptime=10;useinbandfec=1", "a=recvonly",
                "m=video 5004 RTP/SAVP 102",
                "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:\(answer.transports[1].outbound.inlineText)",
                "a=rtpmap:102 H264/90000",
                "a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f", "a=recvonly",
            ])
    }

    @Test func rejectedLinesAreNil() throws {
        var own = Self.builder(.play, rtcpMux: true, bundled: false, feedback: true, profiles: [.aeadAES128GCM])
        own.lines[0].port = 0
        let offer = try PlainOffer.read(own.text, purpose: .play, client: Offers.client)
        let lines = try PlainAnswerReader.read(Offers.answer(offer).text, for: own)
        #expect(lines.map { $0 == nil } == [true, false])
        #expect(!PlayerSDP.text(offer: own, answer: lines).contains("m=audio"))
    }

    @Test func answersToSomethingElseAreRefused() throws {
        let own = Self.builder(.publish, rtcpMux: true, bundled: false, feedback: true, profiles: [.aeadAES128GCM])
        let offer = try PlainOffer.read(own.text, purpose: .publish, client: Offers.client)
        let text = Offers.answer(offer).text
        var shorter = own
        shorter.lines.removeLast()
        #expect(throws: SDPError(line: 0, reason: "the answer has 2 m-lines, and the offer 1")) {
            try PlainAnswerReader.read(text, for: shorter)
        }
        let otherTag = text.replacing("a=crypto:1 ", with: "a=crypto:7 ")
        #expect(throws: SDPError(line: 11, reason: "the tag 7 with AEAD_AES_128_GCM was not offered")) {
            try PlainAnswerReader.read(otherTag, for: own)
        }
        let noKey = text.replacing("a=crypto:1 ", with: "a=x-crypto:1 ")
        #expect(throws: SDPError(line: 6, reason: "the m-line has no usable a=crypto line")) {
            try PlainAnswerReader.read(noKey, for: own)
        }
        let name = text.replacing("c=IN IP4 198.51.100.1", with: "c=IN IP4 node.example")
        #expect(throws: SDPError(line: 6, reason: "the m-line has no c= line with a literal address")) {
            try PlainAnswerReader.read(name, for: own)
        }
    }
}
