import ClientEngine
import MediaContract
import MediaTestKit
import MediaWire
import Testing

/// How much a client sends, by what it hears of the network.
@Suite struct SendRateTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func `a free way is used within seconds`(seed: UInt64) {
        var uplink = VirtualUplink(seed: seed)
        _ = uplink.run(.seconds(3))
        #expect(uplink.run(.seconds(5)) > 2_400_000, "seed \(seed)")
        // What the app does not send proves nothing of the way.
        #expect(uplink.estimator.bitrate < 4_500_000, "seed \(seed)")
    }

    @Test(arguments: [11, 12, 13] as [UInt64], [300_000.0, 1_000_000, 2_000_000])
    func `a narrow way is filled, and no queue stands`(seed: UInt64, capacity: Double) {
        var uplink = VirtualUplink(seed: seed)
        uplink.capacity = capacity
        _ = uplink.run(.seconds(10))
        var arrived = 0.0
        for _ in 0..<20 {
            arrived += uplink.run(.seconds(1)) / 20
            #expect(uplink.longestQueue < .milliseconds(250), "seed \(seed)")
        }
        #expect(arrived > capacity * 0.75 && arrived <= capacity * 1.01, "seed \(seed): \(arrived)")
    }

    @Test(arguments: [21, 22, 23] as [UInt64])
    func `a way that becomes narrow is followed, and one that becomes wide again, too`(seed: UInt64) {
        var uplink = VirtualUplink(seed: seed)
        _ = uplink.run(.seconds(5))
        uplink.capacity = 800_000
        _ = uplink.run(.seconds(1))
        #expect(uplink.rate < 1_200_000, "seed \(seed): \(uplink.rate)")
        _ = uplink.run(.seconds(5))
        #expect(uplink.run(.seconds(5)) > 600_000, "seed \(seed)")
        #expect(uplink.longestQueue < .milliseconds(200), "seed \(seed)")
        uplink.capacity = 5_000_000
        _ = uplink.run(.seconds(20))
        #expect(uplink.run(.seconds(1)) > 2_000_000, "seed \(seed)")
    }

    @Test(arguments: [31, 32, 33] as [UInt64])
    func `much loss slows it down, little does not`(seed: UInt64) {
        var uplink = VirtualUplink(seed: seed)
        uplink.loss = 0.01
        _ = uplink.run(.seconds(5))
        #expect(uplink.rate > 2_000_000, "seed \(seed)")
        uplink.loss = 0.25
        _ = uplink.run(.seconds(8))
        let low = uplink.rate
        #expect(low < 1_200_000, "seed \(seed): \(low)")
        uplink.loss = 0
        _ = uplink.run(.seconds(20))
        #expect(uplink.rate > low * 2, "seed \(seed)")
    }

    @Test(arguments: [41, 42, 43] as [UInt64])
    func `jitter is no queue`(seed: UInt64) {
        var uplink = VirtualUplink(seed: seed)
        uplink.jitter = 40
        _ = uplink.run(.seconds(5))
        #expect(uplink.run(.seconds(5)) > 2_300_000, "seed \(seed)")
    }

    @Test func `a longer way after a change of path is no queue`() {
        var uplink = VirtualUplink(seed: 51)
        _ = uplink.run(.seconds(8))
        uplink.delay = .milliseconds(300)
        uplink.pathChanged()
        _ = uplink.run(.seconds(2))
        #expect(uplink.run(.seconds(3)) > 2_300_000)
        #expect(uplink.estimator.queue < .milliseconds(30))
    }

    @Test(arguments: [20, 80, 300] as [Int64])
    func `a way that becomes longer by itself is found out to be no queue`(longer: Int64) {
        var uplink = VirtualUplink(seed: 52)
        _ = uplink.run(.seconds(8))
        uplink.delay = .milliseconds(20 + longer)
        _ = uplink.run(.seconds(10))
        #expect(uplink.run(.seconds(3)) > 2_300_000)
        #expect(uplink.estimator.queue < .milliseconds(30))
        // And who sends next to nothing meanwhile begins where he was.
        var quiet = VirtualUplink(seed: 53)
        _ = quiet.run(.seconds(8))
        quiet.demand = 40_000
        _ = quiet.run(.seconds(5))
        quiet.delay = .milliseconds(20 + longer)
        _ = quiet.run(.seconds(15))
        #expect(quiet.estimator.bitrate > 1_500_000)
    }

    @Test(arguments: [54, 55, 56] as [UInt64], [0.02, 0.1, 0.3])
    func `feedback that is lost says nothing of what it told of`(seed: UInt64, share: Double) {
        var uplink = VirtualUplink(seed: seed)
        uplink.feedbackLoss = share
        _ = uplink.run(.seconds(5))
        for _ in 0..<10 {
            #expect(uplink.run(.seconds(5)) > 2_300_000, "seed \(seed)")
            #expect(uplink.estimator.loss == 0, "seed \(seed)")
        }
        // What is lost between messages that came still counts.
        uplink.loss = 0.25
        _ = uplink.run(.seconds(8))
        #expect(uplink.rate < 1_300_000, "seed \(seed): \(uplink.rate)")
    }

    @Test func `numbers nobody sent change nothing`() {
        var estimator = SendRateEstimator()
        let before = estimator.bitrate
        for message in 0..<200 as Range<UInt16> {
            estimator.beginFeedback(
                reference: UInt32(message) &* 99_991 & 0xFF_FFFF, count: UInt8(message), base: message &* 777)
            for number in 0..<50 as Range<UInt16> {
                estimator.noteArrival(RTCPPacketArrival(sequence: message &* 777 &+ number, ticks: .max))
            }
            estimator.endFeedback(next: message &* 777 &+ 60_000, now: .zero + .seconds(Int64(message)))
        }
        #expect(estimator.bitrate == before && estimator.loss == 0)
    }

    @Test func `without transport-wide feedback the node's estimate counts, with it it is a bound`() {
        var estimator = SendRateEstimator()
        estimator.noteReceiverEstimate(2_000_000, now: .zero)
        #expect(estimator.takeNews() == 2_000_000)
        #expect(estimator.takeNews() == nil)
        estimator.noteReport(loss: 0.5, now: .zero)
        #expect(estimator.bitrate == 2_000_000, "the node knows of the loss, too")
        estimator.noteReceiverEstimate(1, now: .zero)
        #expect(estimator.bitrate == SendRateEstimator.range.lowerBound)
        estimator.noteReceiverEstimate(.max, now: .zero)
        #expect(estimator.bitrate == SendRateEstimator.range.upperBound)
        estimator.beginFeedback(reference: 0, count: 0, base: 0)
        estimator.noteReceiverEstimate(1_000_000, now: .zero)
        #expect(estimator.bitrate == 1_000_000)
        estimator.noteReceiverEstimate(.max, now: .zero)
        #expect(estimator.bitrate == SendRateEstimator.range.upperBound)
    }

    @Test func `receiver reports are the last resort`() {
        var estimator = SendRateEstimator()
        for second in 0..<10 as Range<Int64> { estimator.noteReport(loss: 0, now: .zero + .seconds(second)) }
        let high = estimator.bitrate
        #expect(high > SendRateEstimator.initial * 1.8 && high < SendRateEstimator.initial * 3)
        for second in 10..<15 as Range<Int64> { estimator.noteReport(loss: 0.3, now: .zero + .seconds(second)) }
        #expect(estimator.bitrate < high / 2)
        for second in 15..<20 as Range<Int64> { estimator.noteReport(loss: 0.05, now: .zero + .seconds(second)) }
        #expect(estimator.bitrate < high / 2)
    }

    // MARK: With the node

    private func rates(seed: UInt64, hasTransportCC: Bool, loss: Double) throws -> [Double] {
        var room = VirtualRoom(seed: seed)
        let made = room.client(.client)
        let publisher = try #require(made)
        publisher.watchSendRate()
        var settings = VirtualRoom.settings(ssrc: 100)
        if !hasTransportCC { settings.extensions.transportCC = nil }
        let stream = try #require(publisher.addSending(settings))
        room.publish(
            publisher, track: 1, encodings: [EncodingSpec(ssrcs: [100], rtxSSRC: 101)],
            feedback: hasTransportCC ? VirtualRoom.feedback : [.nack, .pli, .remb])
        #expect(room.run(within: .seconds(5)) { publisher.state == .connected })
        room.network.uplink.loss = loss
        for number in 0..<800 {
            var frame = VirtualRoom.frame(number, isKey: number == 0)
            frame += [UInt8](repeating: 0, count: 900)
            publisher.send(frame, stream: stream, timestamp: UInt32(number) &* 900, room.network)
            room.run(.milliseconds(5))
        }
        room.run(.seconds(1))
        return publisher.sendRates
    }

    @Test func `the node's transport-wide feedback is judged`() throws {
        let free = try rates(seed: 61, hasTransportCC: true, loss: 0)
        #expect(free.count > 10)
        #expect(try #require(free.last) > 1_500_000, "\(free)")
        let lossy = try rates(seed: 62, hasTransportCC: true, loss: 0.3)
        #expect(try #require(lossy.last) < SendRateEstimator.initial, "\(lossy)")
    }

    @Test func `the node's own estimate is taken where that was not negotiated`() throws {
        let free = try rates(seed: 63, hasTransportCC: false, loss: 0)
        #expect(free.count >= 2)
        // Twice what comes and more, as the node says it.
        #expect(try #require(free.max()) > 2_000_000, "\(free)")
    }
}
