import MediaWire
import RTCClient
import Testing

/// The time of frames, from timestamps of any kind.
@Suite struct FrameClockTests {
    private static let began = MediaTime.zero + .seconds(1000)

    private func time(
        _ clock: inout FrameClock, _ timestamp: UInt32, rate: UInt32 = 48_000, atMilliseconds now: Int64
    ) -> Int64 {
        let time = clock.time(of: timestamp, rate: rate, now: Self.began + .milliseconds(now))
        return time.components.seconds * 1000 + time.components.attoseconds / 1_000_000_000_000_000
    }

    @Test func `timestamps that wrap go on`() {
        var clock = FrameClock()
        var timestamp = UInt32.max - 2000
        for count in 0..<100 as Range<Int64> {
            #expect(time(&clock, timestamp, atMilliseconds: count * 20) == count * 20)
            timestamp &+= 960
        }
    }

    @Test(arguments: [48_000, 90_000] as [UInt32], [0, 5000, 1 << 31, UInt32.max - 1_000_000])
    func `a publisher that begins anew under the same SSRC goes on in time`(rate: UInt32, start: UInt32) {
        // From far above, and from far below: lower timestamps, higher ones, and ones about half the circle away.
        for first in [3_000_000_000, 700_000_000] as [UInt32] {
            var clock = FrameClock()
            let step = rate / 50
            for count in 0..<50 as Range<Int64> {
                let time = time(&clock, first &+ UInt32(count) * step, rate: rate, atMilliseconds: count * 20)
                #expect(time == count * 20)
            }
            // It is back two seconds later.
            for count in 0..<500 as Range<Int64> {
                let now = 3000 + count * 20
                let time = time(&clock, start &+ UInt32(count) * step, rate: rate, atMilliseconds: now)
                #expect(time == now, "\(first) \(start)")
            }
        }
    }

    @Test func `packets out of order, pauses, and bursts keep their time`() {
        var clock = FrameClock()
        #expect(time(&clock, 0, atMilliseconds: 0) == 0)
        #expect(time(&clock, 1920, atMilliseconds: 40) == 40)
        #expect(time(&clock, 960, atMilliseconds: 41) == 20, "late")
        #expect(time(&clock, 2880, atMilliseconds: 60) == 60)
        // A pause of a minute, in which timestamps go on.
        #expect(time(&clock, 48 * 60_000, atMilliseconds: 60_000) == 60_000)
        // Five seconds of the network's, at once.
        for count in 0..<250 as Range<Int64> {
            let now: Int64 = 65_000
            #expect(
                time(&clock, UInt32(48 * (60_020 + count * 20)), atMilliseconds: now) == 60_020 + count * 20)
        }
    }

    @Test func `an interruption takes the time that went by, even if none did`() {
        var clock = FrameClock()
        #expect(time(&clock, 100, atMilliseconds: 0) == 0)
        clock.interrupt()
        #expect(time(&clock, 9_000_000, atMilliseconds: 0) == 0)
        #expect(time(&clock, 9_000_960, atMilliseconds: 20) == 20)
        #expect(clock.earlierTime(of: 9_000_000, rate: 48_000) == .zero)
        #expect(clock.earlierTime(of: 100, rate: 48_000) == nil, "of the timeline before")
    }
}
