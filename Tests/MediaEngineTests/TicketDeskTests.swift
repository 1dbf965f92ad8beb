import MediaEngine
import Synchronization
import Testing

@Suite struct TicketDeskTests {
    /// Waits, by giving way, until the condition holds; bounded by a deadline, not by a pause.
    private func eventually(_ condition: () -> Bool) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(5)
        while !condition() {
            guard ContinuousClock.now < deadline else { return false }
            await Task.yield()
        }
        return true
    }

    /// Counts questions.
    private final class Asked: Sendable {
        let count = Atomic(0)
        let lastTicket = Atomic<UInt64>(0)

        @Sendable func ask(_ ticket: UInt64) -> Bool {
            lastTicket.store(ticket, ordering: .releasing)
            count.wrappingAdd(1, ordering: .acquiringAndReleasing)
            return true
        }

        var total: Int { count.load(ordering: .acquiring) }
    }

    @Test func repeatedQuestionsShareATicket() async {
        let desk = TicketDesk<String, Int>(firstTicket: 100)
        let asked = Asked()
        async let first = desk.wait(for: "a", limit: .seconds(60), ask: asked.ask)
        #expect(await eventually { asked.total == 1 })
        // The second gives up by itself; the question stays, and the first still gets its answer.
        #expect(await desk.wait(for: "a", limit: .milliseconds(1), ask: asked.ask) == nil)
        #expect(asked.total == 1 && asked.lastTicket.load(ordering: .acquiring) == 100)
        #expect(desk.answer(100, 7))
        let reply = await first
        #expect(reply == 7)
        #expect(!desk.answer(100, 8))
    }

    @Test func aQuestionThatNobodyTookHasNoAnswer() async {
        let desk = TicketDesk<String, Int>(firstTicket: 0)
        #expect(await desk.wait(for: "a", limit: .seconds(60)) { _ in false } == nil)
        #expect(!desk.answer(0, 1))
        // It is not pending either: the next one is asked anew.
        #expect(await desk.wait(for: "a", limit: .seconds(60)) { desk.answer($0, 5) } == 5)
    }

    @Test func closingEndsAllWaits() async {
        let desk = TicketDesk<Int, Int>(firstTicket: 0)
        let asked = Asked()
        await withTaskGroup(of: Int?.self) { group in
            for key in 0..<20 {
                group.addTask { await desk.wait(for: key, limit: .seconds(60), ask: asked.ask) }
            }
            #expect(await eventually { asked.total == 20 })
            desk.close()
            for await reply in group { #expect(reply == nil) }
        }
        #expect(await desk.wait(for: 99, limit: .seconds(60)) { _ in true } == nil)
    }
}
