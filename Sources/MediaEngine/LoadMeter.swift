package import MediaWire

/// How busy a worker's thread is, and how long it may therefore let datagrams collect before it works on them.
package struct LoadMeter {
    /// 0: always waiting, 1: never.
    package private(set) var busyFraction = 0.0
    private var busy: Int64 = 0
    private var total: Int64 = 0

    package init() {}

    /// Figures are folded in once this much time has passed, and weigh by their share of the memory.
    private static let window: Int64 = 20_000_000
    private static let memory: Double = 200_000_000

    /// One round of the loop: it lasted `total`, of which `busy` was work.
    package mutating func note(busy: MediaDuration, total: MediaDuration) {
        self.busy &+= max(0, busy.nanoseconds)
        self.total &+= max(0, total.nanoseconds)
        guard self.total >= Self.window else { return }
        let sample = min(1, Double(self.busy) / Double(self.total))
        busyFraction += (sample - busyFraction) * min(1, Double(self.total) / Self.memory)
        self.busy = 0
        self.total = 0
    }

    /// How long to let datagrams collect after the first one woke the thread: with batches, a wake-up and a send call are
    /// shared by many packets. Nothing while the core is mostly idle (below 10 %: there is nothing to share, only delay);
    /// rising to full at 25 %; falling again with the square of what is idle, because a round then lasts
    /// collecting / (1 - busy), and that round is what a packet waits for. A saturated thread never collects: it does
    /// not wait at all.
    package func collecting(limit: MediaDuration) -> MediaDuration {
        let ramp = min(1, max(0, (busyFraction - 0.10) / 0.15))
        let idle = max(0, 1 - busyFraction)
        let share = ramp * idle * idle
        return MediaDuration(nanoseconds: Int64(Double(max(0, limit.nanoseconds)) * share))
    }
}
