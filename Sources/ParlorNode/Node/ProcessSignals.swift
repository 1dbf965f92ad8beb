import Glibc

/// The signals of the process, taken on the main thread by `sigwait`: no handler runs anywhere. `block` must come before
/// the first other thread, for threads inherit the mask.
enum ProcessSignals {
    enum Wakeup: Equatable {
        /// SIGTERM or SIGINT.
        case stop(signal: Int32)
        /// SIGHUP: by custom "read your configuration again".
        case hangup
        /// `wakeMain` was called.
        case woken
        case timedOut
    }

    /// Sent by `wakeMain`, to this process only.
    private static let wakeup = SIGUSR1

    static func block() {
        var set = awaited
        pthread_sigmask(SIG_BLOCK, &set, nil)
        // A peer that closes its connection is an error of that write, not of the process.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Waits for one of the blocked signals, without end or so many milliseconds.
    static func wait(milliseconds: Int? = nil) -> Wakeup {
        var set = awaited
        while true {
            var number: Int32 = 0
            if let milliseconds {
                var limit = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
                number = sigtimedwait(&set, nil, &limit)
                if number < 0 {
                    if errno == EAGAIN { return .timedOut }
                    continue
                }
            } else if sigwait(&set, &number) != 0 {
                continue
            }
            return switch number {
            case wakeup: .woken
            case SIGHUP: .hangup
            default: .stop(signal: number)
            }
        }
    }

    /// Ends `wait` with `.woken`, from any thread.
    static func wakeMain() { kill(getpid(), wakeup) }

    private static var awaited: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP, wakeup] { sigaddset(&set, number) }
        return set
    }
}
