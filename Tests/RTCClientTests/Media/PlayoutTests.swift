import MediaWire
import RTCClient
import Testing

/// The playout buffer over a virtual network.
@Suite struct PlayoutTests {
    @Test func `delays outside the range are taken for the nearest, and hold what comes`() {
        let playouts: [PlayoutDelay] = [
            .adaptive(minimum: .seconds(-5), maximum: .seconds(-9)), .adaptive(maximum: .milliseconds(-1)),
            .adaptive(minimum: .seconds(1 << 40), maximum: .seconds(1 << 50)),
            .adaptive(minimum: .seconds(3), maximum: .zero),
        ]
        for playout in playouts {
            #expect(playout.minimum >= .zero && playout.maximum >= playout.minimum && playout.maximum <= .seconds(10))
            for kind in [TrackKind.audio, .video] {
                var buffer = PlayoutBuffer(playout, kind, conceals: true)
                for count in 0..<10_000 {
                    let frame = RTCEncodedFrame(codec: .opus, data: [1], time: .milliseconds(count))
                    _ = buffer.insert(frame, samples: 48, arrival: .zero, now: .zero)
                }
                #expect(buffer.count > 0)
            }
        }
    }

    @Test func `over an even network the delay is the least, and nothing is late`() {
        for kind in [TrackKind.audio, .video] {
            var playout = VirtualPlayout(kind)
            playout.run(milliseconds: 10_000)
            #expect(playout.delay == 20)
            #expect(playout.longestPause <= (kind == .audio ? 21 : 41))
            #expect(playout.buffer.statistics == PlayoutBuffer.Statistics())
            #expect(playout.frames.count >= playout.sent - 4)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64], [20, 60, 150])
    func `the delay follows the jitter, up and down`(seed: UInt64, jitter: Int) {
        var playout = VirtualPlayout(.audio, seed: seed)
        playout.jitter = jitter
        playout.run(milliseconds: 10_000)
        let before = playout.buffer.statistics
        playout.run(milliseconds: 60_000)
        let late = playout.buffer.statistics.late - before.late
        #expect(late * 1000 <= 3000 * 45, "seed \(seed): \(late) of 3000")
        #expect(playout.delay >= Int64(jitter) * 8 / 10 && playout.delay <= Int64(max(jitter, 15)) + 10)
        #expect(playout.isSeamless, "seed \(seed)")
        #expect(playout.longestPause <= 45, "seed \(seed): \(playout.longestPause)")
        playout.jitter = 0
        playout.run(milliseconds: 20_000)
        #expect(playout.delay == 20, "seed \(seed): \(playout.delay)")
    }

    @Test(arguments: [11, 12, 13] as [UInt64], [20, 100, 300])
    func `what is lost is made up, and the sound goes on without a hole`(seed: UInt64, lost: Int) {
        var playout = VirtualPlayout(.audio, seed: seed)
        playout.run(milliseconds: 1000)
        playout.lost = lost
        playout.run(milliseconds: 30_000)
        let concealed = Int(playout.buffer.statistics.concealed)
        #expect(concealed <= playout.lostCount, "seed \(seed)")
        #expect(concealed >= playout.lostCount * 9 / 10, "seed \(seed): \(concealed) of \(playout.lostCount)")
        #expect(playout.buffer.statistics.late == 0, "seed \(seed)")
        #expect(playout.longestPause <= 21, "seed \(seed)")
        #expect(playout.delay == 20)
        // The packet after a lost one is there: it may carry a copy.
        let copies = playout.released.filter { if case .missing(_, _, .some) = $0.item { true } else { false } }
        #expect(copies.count >= concealed * 6 / 10)
    }

    @Test(arguments: [21, 22, 23] as [UInt64])
    func `bursts are held, and reordering is put right`(seed: UInt64) {
        var playout = VirtualPlayout(.audio, seed: seed)
        playout.burst = 120
        playout.run(milliseconds: 20_000)
        let before = playout.buffer.statistics
        playout.run(milliseconds: 20_000)
        // Six of a hundred frames are held by up to 120 ms: half of them are left out.
        #expect(playout.buffer.statistics.late - before.late <= 40, "seed \(seed)")
        #expect(playout.delay >= 40 && playout.delay <= 125, "seed \(seed): \(playout.delay)")

        var other = VirtualPlayout(.audio, seed: seed)
        other.reordered = 100
        other.run(milliseconds: 10_000)
        let counted = other.buffer.statistics
        other.run(milliseconds: 20_000)
        let later = other.buffer.statistics
        #expect(later.late - counted.late <= 2, "seed \(seed)")
        let times = other.frames.map(\.time)
        #expect(times == times.sorted() && other.isSeamless)
    }

    @Test func `after a pause of the network the sound goes on, and the delay goes back`() {
        var playout = VirtualPlayout(.audio)
        playout.run(milliseconds: 5000)
        playout.stalledUntil = playout.now + .milliseconds(1500)
        playout.run(milliseconds: 2000)
        // 120 ms are made up, then there is silence.
        #expect(playout.buffer.statistics.concealed == 6)
        #expect(playout.buffer.statistics.late > 40, "what is older than the maximum is left out")
        #expect(playout.delay > 200 && playout.delay <= 500)
        playout.run(milliseconds: 40_000)
        #expect(playout.delay <= 30, "\(playout.delay)")
        playout.run(milliseconds: 5000)
        #expect(playout.isSeamless)
    }

    @Test(arguments: [2000, 5000, 20_000])
    func `after a long pause no old sound comes in a heap`(pause: Int) {
        var playout = VirtualPlayout(.audio)
        playout.run(milliseconds: 5000)
        playout.stalledUntil = playout.now + .milliseconds(Int64(pause))
        playout.run(milliseconds: pause + 100)
        let atOnce = Dictionary(grouping: playout.released, by: \.at).values.map(\.count).max() ?? 0
        // The maximum is 500 ms, 25 packets.
        #expect(atOnce <= 26, "\(atOnce)")
        playout.run(milliseconds: 40_000)
        #expect(playout.delay <= 30, "\(playout.delay)")
        playout.run(milliseconds: 5000)
        #expect(playout.isSeamless && playout.frames.count >= 245)
    }

    @Test(arguments: [-500, -100, 100, 500])
    func `clocks that drift for ten minutes change nothing`(drift: Int) {
        var playout = VirtualPlayout(.audio)
        playout.jitter = 10
        playout.drift = drift
        for minute in 0..<10 {
            playout.run(milliseconds: 60_000)
            #expect(playout.delay <= 30, "minute \(minute): \(playout.delay)")
            #expect(playout.isSeamless)
        }
        #expect(playout.largestCount <= 4)
        #expect(playout.buffer.statistics.late <= 30 && playout.buffer.statistics.concealed <= 30)
    }

    @Test func `pictures are never left out, nor overtaken`() {
        var playout = VirtualPlayout(.video, seed: 31)
        playout.jitter = 80
        var times: [Duration] = []
        playout.run(milliseconds: 10_000)
        times += playout.frames.map(\.time)
        playout.stalledUntil = playout.now + .milliseconds(1200)
        playout.run(milliseconds: 10_000)
        times += playout.frames.map(\.time)
        #expect(times == times.sorted())
        #expect(playout.sent - times.count <= 8)
        #expect(playout.buffer.statistics.late > 20)
        #expect(playout.buffer.statistics.concealed == 0)
    }

    @Test(arguments: [10_000, -10_000] as [Int64])
    func `another timeline is followed within moments`(jump: Int64) {
        var playout = VirtualPlayout(.video)
        playout.run(milliseconds: 5000)
        playout.jump = jump
        playout.run(milliseconds: 1000)
        playout.run(milliseconds: 10_000)
        #expect(playout.frames.count >= 240)
        #expect(playout.longestPause <= 45)
        #expect(playout.delay <= 25, "\(playout.delay)")
    }

    @Test(arguments: [TrackKind.audio, .video], [200, 700, 3000])
    func `a way that becomes longer for good is followed within a second`(kind: TrackKind, step: Int) {
        var playout = VirtualPlayout(kind)
        playout.run(milliseconds: 5000)
        playout.jump = -Int64(step)
        playout.run(milliseconds: 1000)
        let before = playout.buffer.statistics
        playout.run(milliseconds: 30_000)
        #expect(playout.frames.count >= (kind == .audio ? 1480 : 740))
        #expect(playout.buffer.statistics == before)
        #expect(playout.delay <= 25, "\(playout.delay)")
    }

    @Test func `a sender that falls silent is made up for once, not for ever`() {
        var playout = VirtualPlayout(.audio)
        playout.run(milliseconds: 1000)
        playout.isPaused = true
        playout.run(milliseconds: 3000)
        #expect(playout.buffer.statistics.concealed == 6)
        #expect(playout.buffer.nextDeadline == .distantFuture)
        playout.isPaused = false
        playout.run(milliseconds: 1000)
        #expect(playout.buffer.statistics.late == 0 && playout.buffer.statistics.concealed == 6)
        #expect(playout.frames.count >= 45)
    }

    @Test func `the bounds are kept`() {
        var playout = VirtualPlayout(
            .audio, .adaptive(minimum: .milliseconds(100), maximum: .milliseconds(150)), seed: 41)
        playout.run(milliseconds: 2000)
        #expect(playout.delay == 100)
        playout.jitter = 400
        playout.run(milliseconds: 5000)
        #expect(playout.delay > 130 && playout.delay <= 150, "\(playout.delay)")
        let widest = PlayoutDelay.adaptive(minimum: .zero, maximum: .seconds(10))
        #expect(PlayoutDelay.adaptive(minimum: .seconds(-1), maximum: .seconds(99)) == widest)
        #expect(PlayoutDelay.adaptive(minimum: .seconds(2), maximum: .seconds(1)).maximum == .seconds(2))
    }

    // MARK: Without delay

    private func frame(_ milliseconds: Int64) -> RTCEncodedFrame {
        RTCEncodedFrame(
            codec: .opus, data: [UInt8(truncatingIfNeeded: milliseconds)], time: .milliseconds(milliseconds))
    }

    @Test func `without delay everything comes at once, and short gaps are filled`() {
        var buffer = PlayoutBuffer(.immediate, .audio, conceals: true)
        #expect(buffer.currentDelay == nil && buffer.patience == nil)
        for time in [0, 20, 60, 500] as [Int64] {
            let arrival = MediaTime.zero + .milliseconds(time)
            #expect(buffer.insert(frame(time), samples: 960, arrival: arrival, now: arrival) == true)
        }
        var items: [PlayoutBuffer.Item] = []
        while let item = buffer.take(now: .zero) { items.append(item) }
        #expect(
            items == [
                .frame(frame(0)), .frame(frame(20)), .missing(time: .milliseconds(40), samples: 960, next: [60]),
                .frame(frame(60)), .frame(frame(500)),
            ])
        #expect(buffer.nextDeadline == .distantFuture)
    }

    @Test func `there is an end to what waits`() {
        for kind in [TrackKind.audio, .video] {
            for playout in [PlayoutDelay.immediate, .adaptive()] {
                var buffer = PlayoutBuffer(playout, kind, conceals: true)
                var taken = 0
                for number in 0..<1000 as Range<Int64> {
                    let arrival = MediaTime.zero + .milliseconds(number * 20)
                    if buffer.insert(frame(number * 20), samples: 960, arrival: arrival, now: arrival) { taken += 1 }
                    #expect(buffer.hasRoom || buffer.count >= 32)
                }
                #expect(buffer.isFull && !buffer.hasRoom && buffer.count < 300)
                #expect(buffer.statistics.dropped == 1000 - UInt64(buffer.count))
                // Of sound that is to be played, the newest is worth most.
                let isNewestKept = kind == .audio && playout != .immediate
                #expect(taken == (isNewestKept ? 1000 : buffer.count))
            }
        }
    }
}
