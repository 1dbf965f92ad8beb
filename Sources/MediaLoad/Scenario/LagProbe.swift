import Glibc
import Synchronization

/// How late this machine runs a thread that wants to run each millisecond: what any thread may be late here, whatever the node does.
final class LagProbe: Sendable {
    private final class Shared: Sendable {
        let isStopped = Atomic<Bool>(false)
        let lateness = Mutex(LatencyHistogram())
    }

    /// In nanoseconds: what is to be told apart are milliseconds.
    private static let interval: Int64 = 1_000_000
    /// Turns that are counted after one sleep: a second.
    private static let mostMissed = 1000
    private let shared = Shared()
    private let thread: pthread_t?

    init() {
        var handle = pthread_t()
        let context = Unmanaged.passRetained(shared)
        let result = pthread_create(
            &handle, nil,
            { pointer in
                if let pointer { LagProbe.run(Unmanaged<Shared>.fromOpaque(pointer).takeRetainedValue()) }
                return nil
            }, context.toOpaque())
        if result != 0 { context.release() }
        thread = result == 0 ? handle : nil
    }

    /// Since the start.
    var lateness: LatencyHistogram { shared.lateness.withLock { $0 } }

    /// Waits until the thread has ended, which is soon.
    func stop() {
        guard !shared.isStopped.exchange(true, ordering: .relaxed), let thread else { return }
        pthread_join(thread, nil)
    }

    /// What /proc calls the thread.
    static let threadName = "load-lag"

    private static func run(_ shared: Shared) {
        // proc(5): the calling thread's own name.
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        if file >= 0 {
            _ = write(file, threadName, threadName.utf8.count)
            close(file)
        }
        var due = LoadClock.monotonic + interval
        while !shared.isStopped.load(ordering: .relaxed) {
            var time = timespec(tv_sec: Int(due / 1_000_000_000), tv_nsec: Int(due % 1_000_000_000))
            // An absolute time, so a signal makes it no later.
            while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
            let now = LoadClock.monotonic
            // A turn that was missed waited, too, as a packet that came then would have.
            shared.lateness.withLock { lateness in
                var missed = 0
                while due <= now, missed < mostMissed {
                    lateness.add(microseconds: (now - due) / 1000)
                    due += interval
                    missed += 1
                }
            }
            due = max(due, now - now % interval + interval)
        }
    }
}
