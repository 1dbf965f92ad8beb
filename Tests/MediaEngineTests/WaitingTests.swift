import CNet
import Glibc
import Testing

@Suite struct WaitingTests {
    @Test func aWakeupStaysUntilItIsCleared() throws {
        let epoll = parlor_epoll_create()
        let wakeup = parlor_wakeup_create()
        defer {
            parlor_close(wakeup)
            parlor_close(epoll)
        }
        #expect(parlor_epoll_add(epoll, wakeup, 42, PARLOR_READABLE) == 0)
        var ready = [parlor_ready](repeating: parlor_ready(), count: 4)
        #expect(parlor_epoll_wait(epoll, &ready, 4, 0) == 0)
        parlor_wakeup_signal(wakeup)
        parlor_wakeup_signal(wakeup)
        #expect(parlor_epoll_wait(epoll, &ready, 4, 5_000_000_000) == 1)
        #expect(ready[0].token == 42 && ready[0].events == PARLOR_READABLE)
        #expect(parlor_epoll_wait(epoll, &ready, 4, 0) == 1)
        parlor_wakeup_clear(wakeup)
        #expect(parlor_epoll_wait(epoll, &ready, 4, 0) == 0)
    }

    @Test func aWaitEndsNotBeforeItsTime() {
        let epoll = parlor_epoll_create()
        defer { parlor_close(epoll) }
        var ready = parlor_ready()
        let start = parlor_monotonic_time()
        #expect(parlor_epoll_wait(epoll, &ready, 1, 1_500_000) == 0)
        #expect(parlor_monotonic_time() - start >= 1_500_000)
        parlor_sleep_until(start + 3_000_000)
        #expect(parlor_monotonic_time() - start >= 3_000_000)
    }

    @Test func aWaitTakesWatchedDescriptorsBesideEpoll() {
        let epoll = parlor_epoll_create()
        let inside = parlor_wakeup_create()
        let beside = parlor_wakeup_create()
        defer { for descriptor in [inside, beside, epoll] { parlor_close(descriptor) } }
        #expect(parlor_epoll_add(epoll, inside, 1, PARLOR_READABLE) == 0)
        var watched = [parlor_watched(token: 2, descriptor: beside, events: PARLOR_READABLE)]
        var ready = [parlor_ready](repeating: parlor_ready(), count: 4)
        #expect(parlor_wait(epoll, &watched, 1, &ready, 4, 0) == 0)
        parlor_wakeup_signal(inside)
        #expect(parlor_wait(epoll, &watched, 1, &ready, 4, 5_000_000_000) == 1)
        #expect(ready[0].token == 1)
        parlor_wakeup_signal(beside)
        #expect(parlor_wait(epoll, &watched, 1, &ready, 4, 5_000_000_000) == 2)
        #expect(ready[0].token == 2 && ready[0].events == PARLOR_READABLE && ready[1].token == 1)
        // Waiting for room as well: an eventfd has some.
        watched[0].events = PARLOR_READABLE | PARLOR_WRITABLE
        parlor_wakeup_clear(beside)
        parlor_wakeup_clear(inside)
        #expect(parlor_wait(epoll, &watched, 1, &ready, 4, 5_000_000_000) == 1)
        #expect(ready[0].token == 2 && ready[0].events == PARLOR_WRITABLE)
        // No room for what could be ready, or a closed descriptor.
        #expect(parlor_wait(epoll, &watched, 1, &ready, 1, 0) == PARLOR_INVALID)
        watched[0].descriptor = 1_000_000
        #expect(parlor_wait(epoll, &watched, 1, &ready, 4, 0) == PARLOR_BAD_DESCRIPTOR)
    }

    /// What a thread saw of itself.
    private final class Seen: @unchecked Sendable {
        var name = ""
        var processors = 0
        var blocksTermination = false
        var blocksFaults = true
    }

    @Test func aThreadHasNameProcessorAndNoSignals() throws {
        let seen = Seen()
        var handle: OpaquePointer?
        let result = parlor_thread_start(
            "a-name-of-many-letters", 5,
            { context in
                guard let context else { return }
                let seen = Unmanaged<Seen>.fromOpaque(context).takeRetainedValue()
                var name = [CChar](repeating: 0, count: 16)
                let file = open("/proc/thread-self/comm", O_RDONLY)
                let length = read(file, &name, 15)
                close(file)
                seen.name = String(decoding: name.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
                seen.processors = Int(parlor_processor_count())
                var mask = sigset_t()
                _ = pthread_sigmask(SIG_BLOCK, nil, &mask)
                seen.blocksTermination = sigismember(&mask, SIGTERM) == 1
                seen.blocksFaults = sigismember(&mask, SIGSEGV) == 1
            }, Unmanaged.passRetained(seen).toOpaque(), &handle)
        #expect(result == 0)
        #expect(parlor_thread_join(try #require(handle as OpaquePointer?), 5_000_000_000) == 0)
        #expect(seen.name == "a-name-of-many-")
        #expect(seen.processors == 1)
        #expect(seen.blocksTermination && !seen.blocksFaults)
    }

    @Test func joiningARunningThreadTimesOut() throws {
        let wakeup = parlor_wakeup_create()
        defer { parlor_close(wakeup) }
        var handle: OpaquePointer?
        let result = parlor_thread_start(
            "waits", -1,
            { context in
                let epoll = parlor_epoll_create()
                _ = parlor_epoll_add(epoll, Int32(Int(bitPattern: context)), 1, PARLOR_READABLE)
                var ready = parlor_ready()
                _ = parlor_epoll_wait(epoll, &ready, 1, 10_000_000_000)
                parlor_close(epoll)
            }, UnsafeMutableRawPointer(bitPattern: Int(wakeup)), &handle)
        #expect(result == 0)
        let thread = try #require(handle)
        #expect(parlor_thread_join(thread, 1_000_000) == PARLOR_TIMED_OUT)
        parlor_wakeup_signal(wakeup)
        #expect(parlor_thread_join(thread, 5_000_000_000) == 0)
    }
}
