package import MediaWire
package import RoomControl
import Synchronization

/// A clock that stands still until a test moves it. What is due runs while it is moved, in the order of times.
package final class ManualClock: Sendable {
    private struct Entry {
        let time: MediaTime
        let number: UInt64
        let body: @Sendable () async -> Void
    }

    private struct State {
        var now = MediaTime.zero
        var unixTime: Int64
        var entries: [Entry] = []
        var lastNumber: UInt64 = 0
    }

    private let state: Mutex<State>

    package init(unixTime: Int64 = 1_800_000_000) { state = Mutex(State(unixTime: unixTime)) }

    package var now: MediaTime { state.withLock { $0.now } }

    /// How many calls are waiting.
    package var waiting: Int { state.withLock { $0.entries.count } }

    package var clock: RoomClock {
        RoomClock(
            now: { self.now },
            unixTime: { self.state.withLock { $0.unixTime + $0.now.nanoseconds / 1_000_000_000 } },
            unixMilliseconds: {
                self.state.withLock { $0.unixTime * 1000 + $0.now.nanoseconds / 1_000_000 }
            },
            schedule: { time, body in
                let number = self.state.withLock { state in
                    state.lastNumber += 1
                    state.entries.append(Entry(time: time, number: state.lastNumber, body: body))
                    return state.lastNumber
                }
                return { self.state.withLock { state in state.entries.removeAll { $0.number == number } } }
            })
    }

    /// Moves time on without running what is due: as if every timer were late.
    package func jump(by duration: MediaDuration) { state.withLock { $0.now = $0.now + duration } }

    /// Sets the clock on the wall forward or back, as an administrator does; monotonic time stays.
    package func setWall(by seconds: Int64) { state.withLock { $0.unixTime += seconds } }

    /// Moves time on and runs what becomes due on the way.
    package func advance(by duration: MediaDuration) async {
        let target = now + duration
        while let entry = takeNext(before: target) { await entry.body() }
        state.withLock { $0.now = max($0.now, target) }
    }

    private func takeNext(before target: MediaTime) -> Entry? {
        state.withLock { state in
            let due = state.entries.filter { $0.time <= target }
            guard let next = due.min(by: { ($0.time, $0.number) < ($1.time, $1.number) }) else { return nil }
            state.entries.removeAll { $0.number == next.number }
            state.now = max(state.now, next.time)
            return next
        }
    }
}
