import Foundation
import MediaContract
import MediaWire
import RoomControl
import Testing

@Suite struct NegotiationPropertyTests {
    /// A083: the order of attributes inside a section has no meaning.
    @Test func shuffledAttributesGiveTheSame() throws {
        let text = Offers.session(
            ["a=group:BUNDLE 0 1", "a=extmap-allow-mixed", "a=recvonly"],
            [
                "m=audio 5000 RTP/SAVPF 111", "a=mid:0", "a=rtcp-mux", Offers.crypto(1, .aesCM128HmacSHA1_80),
                Offers.crypto(2, .aeadAES128GCM, 5), Offers.crypto(3, .aeadAES256GCM), "a=rtpmap:111 opus/48000/2",
                "a=fmtp:111 useinbandfec=1", "a=rtcp-fb:111 nack", "a=ssrc:5 cname:x", "c=IN IP4 192.0.2.10",
                "a=extmap:7 http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time",
                "a=extmap:2 urn:ietf:params:rtp-hdrext:sdes:mid", "a=extmap:5 urn:ietf:params:rtp-hdrext:sdes:mid",
                "a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level",
            ],
            [
                "m=video 0 RTP/SAVPF 96 98", "a=bundle-only", "a=mid:1", "a=rtpmap:96 VP8/90000",
                "a=rtpmap:98 VP9/90000",
                "a=rtcp-fb:* ccm fir", "a=rtcp-fb:98 nack pli", "a=fmtp:98 profile-id=0", "a=ssrc-group:FID 8 9",
                "a=ssrc:8 cname:x", "a=ssrc:9 cname:x", "a=rid:h send", "a=simulcast:send h",
                "a=extmap:20 urn:ietf:params:rtp-hdrext:sdes:mid",
            ],
            [
                "m=audio 5010 RTP/SAVP 97", "a=rtpmap:97 opus/48000/2", Offers.crypto(9, .aesCM128HmacSHA1_80),
                "a=rtcp:5020",
            ])
        let expected = Offers.answer(try Offers.play(text))
        #expect(expected.playLines.count == 3)
        var random = SeededRandom(seed: 83)
        for round in 0..<100 {
            let answer = Offers.answer(try Offers.play(Self.shuffled(text, using: &random)))
            #expect(answer.text == expected.text, "seed 83, round \(round)")
            #expect(String(describing: answer.transports) == String(describing: expected.transports))
            #expect(String(describing: answer.playLines) == String(describing: expected.playLines))
        }
    }

    /// Every answer has the offer's m-lines in its order, is itself a description, and is read by the client's half.
    @Test func answersMirrorTheirOffers() throws {
        for seed in 0..<400 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let (text, purpose) = Self.randomOffer(using: &random)
            let offer: PlainOffer
            do {
                offer = try PlainOffer.read(text, purpose: purpose, client: Offers.client)
            } catch {
                #expect([400, 406].contains(error.httpStatus), "seed \(seed): \(error)")
                continue
            }
            let answer = Offers.answer(offer, seed: seed)
            let offered = try SessionDescription(parsing: text)
            let session = try SessionDescription(parsing: answer.text)
            #expect(session.text == answer.text, "seed \(seed)")
            #expect(session.media.map(\.media) == offered.media.map(\.media), "seed \(seed)")
            #expect(session.media.map(\.transport) == offered.media.map(\.transport), "seed \(seed)")
            #expect(session.media.map(\.mid) == offered.media.map(\.mid), "seed \(seed)")
            for (index, media) in session.media.enumerated() {
                let wanted = offered.media[index]
                #expect((media.port == 0) == (offer.lines[index].accepted == nil), "seed \(seed)")
                #expect(Set(media.formats).isSubset(of: wanted.formats), "seed \(seed)")
                #expect(
                    media.direction == (media.port == 0 ? .inactive : purpose == .publish ? .recvonly : .sendonly),
                    "seed \(seed)")
                #expect(Set(media.extensions.map(\.uri)).isSubset(of: wanted.extensions.map(\.uri)), "seed \(seed)")
            }
            #expect(answer.tracks.count + answer.playLines.count == offer.acceptedLines.count, "seed \(seed)")
            #expect(offer.transports.flatMap(\.lines).sorted() == offer.acceptedLines.map(\.index), "seed \(seed)")
            for plan in offer.transports where purpose == .play {
                guard case .known(let rtp, let rtcp) = plan.remote else {
                    Issue.record("seed \(seed): a receiving leg is not latched")
                    continue
                }
                #expect(rtp.isSameHost(as: Offers.client) && rtcp.isSameHost(as: Offers.client), "seed \(seed)")
            }
        }
    }

    /// Offers with bytes changed, lost and doubled: an answer or an error, and never a trap.
    @Test func damagedOffers() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Fuzz/SDP/corpus")
        var texts = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .map { Array(try Data(contentsOf: $0)) }
        // Most of the corpus is refused undamaged; these are not.
        for _ in 0..<8 {
            texts.append(Array(PlainAnswerTests.rich.utf8))
            texts.append(Array(PlainAnswerTests.rich.replacing("recvonly", with: "sendonly").utf8))
        }
        var random = SeededRandom(seed: 4)
        var answered = 0
        for round in 0..<4000 {
            guard var bytes = texts.randomElement(using: &random), !bytes.isEmpty else { continue }
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + 1 + round % 40))
                default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 1 + round % 80)], at: place)
                }
                if bytes.isEmpty { bytes = [0] }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            for purpose in [LegPurpose.publish, .play] {
                let client = round % 2 == 0 ? Offers.client : TransportAddress(ipv4: 0x7F00_0001, port: 1)
                do {
                    let offer = try PlainOffer.read(text, purpose: purpose, client: client)
                    let session = try SessionDescription(parsing: Offers.answer(offer).text)
                    #expect(session.media.count == offer.lines.count, "seed 4, round \(round)")
                    answered += 1
                } catch let error as NegotiationError {
                    #expect(!error.reason.isEmpty, "seed 4, round \(round)")
                }
            }
        }
        #expect(answered > 400)
    }

    private static func shuffled(_ text: String, using random: inout SeededRandom) -> String {
        var sections: [[Substring]] = [[]]
        for line in text.split(separator: "\r\n") {
            if line.hasPrefix("m=") { sections.append([]) }
            sections[sections.count - 1].append(line)
        }
        return sections.map { section in
            ([section[0]] + section.dropFirst().shuffled(using: &random)).joined(separator: "\n") + "\n"
        }.joined()
    }

    private static func randomOffer(using random: inout SeededRandom) -> (String, LegPurpose) {
        let purpose: LegPurpose = Bool.random(using: &random) ? .publish : .play
        var media: [[String]] = []
        var mids: [String] = []
        for index in 0..<Int.random(in: 1...6, using: &random) {
            let isVideo = Bool.random(using: &random)
            let port = Int.random(in: 0...5, using: &random) == 0 ? 0 : 5000 + 2 * index
            let transport = ["RTP/SAVP", "RTP/SAVPF", "RTP/SAVPF", "RTP/AVP"].randomElement(using: &random) ?? ""
            var types = isVideo ? [96, 97, 98, 99, 102] : [111, 0, 112]
            types.shuffle(using: &random)
            types = Array(types.prefix(Int.random(in: 1...types.count, using: &random)))
            var lines = [
                "m=\(isVideo ? "video" : "audio") \(port) \(transport) \(types.map(String.init).joined(separator: " "))"
            ]
            let names = [96: "VP8", 97: "rtx", 98: "VP9", 99: "AV1", 102: "H264"]
            for type in types where type > 0 {
                lines.append(isVideo ? "a=rtpmap:\(type) \(names[type] ?? "")/90000" : "a=rtpmap:\(type) opus/48000/2")
            }
            if Int.random(in: 0...9, using: &random) > 0 {
                for (tag, profile) in SRTPProfile.allCases.shuffled(using: &random).enumerated() {
                    lines.append(Offers.crypto(tag, profile))
                }
            }
            let directions =
                purpose == .publish ? ["sendonly", "sendrecv", "recvonly"] : ["recvonly", "sendrecv", "inactive"]
            lines.append("a=\(directions.randomElement(using: &random) ?? "")")
            if Bool.random(using: &random) { lines.append("a=rtcp-mux") }
            if Bool.random(using: &random) { lines.append("a=bundle-only") }
            if Bool.random(using: &random) { lines.append("a=extmap:3 urn:ietf:params:rtp-hdrext:ssrc-audio-level") }
            if Bool.random(using: &random) { lines.append("a=rtcp-fb:* nack") }
            if Int.random(in: 0...3, using: &random) > 0 {
                lines.append("a=mid:\(index)")
                mids.append(String(index))
            }
            media.append(lines)
        }
        let group = mids.isEmpty || Bool.random(using: &random) ? [] : ["a=group:BUNDLE \(mids.joined(separator: " "))"]
        return (Offers.session(group, media.flatMap { $0 }), purpose)
    }
}
