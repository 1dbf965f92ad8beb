import CNet
import MediaEngine
import Testing

@Suite struct MailboxTests {
    private struct Note: Sendable, Equatable {
        var thread: Int
        var number: Int
    }

    private final class Poster: Sendable {
        let mailbox: Mailbox<Note>
        let thread: Int
        static let notes = 20_000
        init(_ mailbox: Mailbox<Note>, _ thread: Int) {
            self.mailbox = mailbox
            self.thread = thread
        }
    }

    @Test func fourThreadsPostAndEachKeepsItsOrder() throws {
        let mailbox = try Mailbox<Note>()
        let posters = (0..<4).map { Poster(mailbox, $0) }
        var handles: [OpaquePointer] = []
        for poster in posters {
            var handle: OpaquePointer?
            let result = parlor_thread_start(
                "poster", -1,
                { context in
                    guard let context else { return }
                    let poster = Unmanaged<Poster>.fromOpaque(context).takeRetainedValue()
                    for number in 0..<Poster.notes { poster.mailbox.post(Note(thread: poster.thread, number: number)) }
                }, Unmanaged.passRetained(poster).toOpaque(), &handle)
            #expect(result == 0)
            handles.append(try #require(handle))
        }

        let epoll = parlor_epoll_create()
        defer { parlor_close(epoll) }
        #expect(parlor_epoll_add(epoll, mailbox.descriptor, 1, PARLOR_READABLE) == 0)
        var next = [0, 0, 0, 0]
        var taken: [Note] = []
        var outOfOrder = 0
        while next.reduce(0, +) < 4 * Poster.notes {
            // A lost wake-up shows as this wait running out.
            var ready = parlor_ready()
            guard parlor_epoll_wait(epoll, &ready, 1, 10_000_000_000) == 1 else {
                Issue.record("the mailbox fell silent with notes still to come")
                break
            }
            mailbox.clearSignal()
            mailbox.take(&taken)
            for note in taken {
                if note.number != next[note.thread] { outOfOrder += 1 }
                next[note.thread] += 1
            }
            taken.removeAll(keepingCapacity: true)
        }
        for handle in handles { #expect(parlor_thread_join(handle, 10_000_000_000) == 0) }
        #expect(outOfOrder == 0)
        #expect(next == [Int](repeating: Poster.notes, count: 4))
    }

    @Test func onlyTheFirstPostSignals() throws {
        let mailbox = try Mailbox<Int>()
        let epoll = parlor_epoll_create()
        defer { parlor_close(epoll) }
        #expect(parlor_epoll_add(epoll, mailbox.descriptor, 1, PARLOR_READABLE) == 0)
        var ready = parlor_ready()
        mailbox.post(1)
        #expect(parlor_epoll_wait(epoll, &ready, 1, 0) == 1)
        mailbox.clearSignal()
        mailbox.post(2)  // not empty before: no second signal
        #expect(parlor_epoll_wait(epoll, &ready, 1, 0) == 0)
        var taken: [Int] = []
        mailbox.take(&taken)
        #expect(taken == [1, 2])
        taken.removeAll()
        mailbox.post(3)
        #expect(parlor_epoll_wait(epoll, &ready, 1, 0) == 1)
    }

    @Test func aClosedMailboxHandsOutTheRestAndTakesNoMore() throws {
        let mailbox = try Mailbox<Int>()
        #expect(mailbox.post(1))
        #expect(mailbox.post(2))
        #expect(mailbox.close() == [1, 2])
        #expect(!mailbox.post(3))
        var taken: [Int] = []
        mailbox.take(&taken)
        #expect(taken.isEmpty)
    }
}
