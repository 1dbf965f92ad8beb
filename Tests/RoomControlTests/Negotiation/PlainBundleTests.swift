import MediaContract
import MediaWire
import RoomControl
import Testing

@Suite struct PlainBundleTests {
    private static func offer(
        group: String = "a=group:BUNDLE 0 1", audio: [String] = ["a=rtcp-mux"], video: [String] = ["a=rtcp-mux"],
        videoPort: Int = 9, videoKey: Bool = true
    ) throws -> PlainOffer {
        var media = Offers.video(videoPort, "sendonly", ["a=mid:1"] + video)
        if !videoKey { media.removeAll { $0.hasPrefix("a=crypto") } }
        return try Offers.publish(
            Offers.session([group], Offers.audio(9, "sendonly", ["a=mid:0"] + audio), media))
    }

    private static func outcome(_ offer: PlainOffer, _ index: Int) -> String {
        switch offer.lines[index].outcome {
        case .accepted(let line): "on \(line.transport)"
        case .refused(let reason): reason
        }
    }

    @Test func oneTransportForAll() throws {
        let offer = try Self.offer(videoKey: false)
        #expect(offer.transports.count == 1)
        #expect(offer.transports[0].lines == [0, 1])
        #expect(offer.transports[0].taggedLine == 0)
        #expect(offer.transports[0].bundle == ["0", "1"])
        #expect(offer.transports[0].clientKey == Offers.key(.aeadAES128GCM))
        #expect(offer.transports[0].rtcpMux)
    }

    /// A080: port 0 with a=bundle-only in an offer is no rejection; without it, it is.
    @Test func bundleOnly() throws {
        let wanted = try Self.offer(video: ["a=bundle-only"], videoPort: 0, videoKey: false)
        #expect(wanted.transports.map(\.lines) == [[0, 1]])
        let rejected = try Self.offer(videoPort: 0)
        #expect(rejected.transports.map(\.lines) == [[0]])
        #expect(rejected.transports[0].bundle == ["0"])
        #expect(Self.outcome(rejected, 1) == "its port is 0")
        let alone = try Self.offer(group: "a=group:BUNDLE 0", video: ["a=bundle-only"], videoPort: 0)
        #expect(Self.outcome(alone, 1).hasPrefix("it is bundle-only, and no m-line of its bundle"))
    }

    @Test func withoutMuxedRTCPEachStandsAlone() throws {
        let offer = try Self.offer(audio: [], video: [])
        #expect(offer.transports.map(\.lines) == [[0], [1]])
        #expect(offer.transports.allSatisfy { $0.bundle.isEmpty && $0.needsRTCPPort })
    }

    /// The first m-line of the group that has what a transport needs carries it.
    @Test func taggedLineIsTheFirstUsable() throws {
        let order = try Self.offer(group: "a=group:BUNDLE 1 0")
        #expect(order.transports.map(\.taggedLine) == [1])
        #expect(order.transports[0].clientKey == Offers.key(.aesCM128HmacSHA1_80, 9))
        #expect(order.transports[0].bundle == ["1", "0"])
        let noMux = try Self.offer(audio: [])
        #expect(noMux.transports.map(\.taggedLine) == [1])
        #expect(noMux.transports[0].lines == [0, 1])
        let noKey = try Self.offer(group: "a=group:BUNDLE 1 0 unknown", videoKey: false)
        #expect(noKey.transports.map(\.taggedLine) == [0])
    }

    @Test func twoBundlesAndASingle() throws {
        let lines = ["a", "b", "c", "d", "e"].flatMap { mid in
            Offers.video(9, "sendonly", ["a=mid:\(mid)", "a=rtcp-mux"])
        }
        let offer = try Offers.publish(
            Offers.session(["a=group:BUNDLE d b", "a=group:LS a b", "a=group:BUNDLE a e"], lines))
        #expect(offer.transports.map(\.lines) == [[0, 4], [1, 3], [2]])
        #expect(offer.transports.map(\.taggedLine) == [0, 3, 2])
        #expect(offer.transports.map(\.bundle) == [["a", "e"], ["d", "b"], []])
        let answer = try SessionDescription(parsing: Offers.answer(offer).text)
        #expect(answer.bundles.map(\.mids) == [["a", "e"], ["d", "b"]])
        #expect(answer.media.map(\.port) == [8000, 8002, 8004, 8002, 8000])
        #expect(answer.media.map { $0.cryptos.count } == [1, 0, 1, 1, 0])
    }

    /// In a bundle only the tagged line's address is one that media goes to.
    @Test func playingBundleGoesToTheTaggedAddress() throws {
        let text = Offers.session(
            ["a=group:BUNDLE 0 1"], Offers.audio(5000, "recvonly", ["a=mid:0", "a=rtcp-mux"]),
            Offers.video(0, "recvonly", ["a=mid:1", "a=bundle-only", "c=IN IP4 0.0.0.0"]))
        let offer = try Offers.play(text)
        guard case .known(let rtp, let rtcp) = offer.transports[0].remote else {
            Issue.record("not known")
            return
        }
        #expect(rtp.description == "192.0.2.10:5000")
        #expect(rtcp == rtp)
        #expect(offer.transports.count == 1)
    }
}
