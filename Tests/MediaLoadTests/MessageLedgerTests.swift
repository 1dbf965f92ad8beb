import MediaLoad
import RoomProtocol
import Testing

/// Every wrong delivery is found by its name, and no right one is.
@Suite struct MessageLedgerTests {
    /// A room whose deliveries the test decides.
    private struct Scene {
        var ledger = MessageLedger(room: "room")
        var faults = SignallingFaults()
        var sessions: [String: MessageLedger.SessionID] = [:]
        var serial = 0

        init(_ users: String...) {
            for user in users { join(user) }
        }

        mutating func join(_ user: String) {
            sessions[user] = ledger.opened(user, floor: ledger.highestSerial)
        }

        /// The node takes it: its serial is the next.
        mutating func send(_ user: String, to targets: [String] = []) -> RoomMessage {
            serial += 1
            let id = ledger.sending(from: user, to: targets, time: 1000)
            return RoomMessage(
                messageID: id, serial: serial, timestamp: 0, playerID: user, text: MessageLedger.text(of: id))
        }

        @discardableResult
        mutating func deliver(_ message: RoomMessage, to users: String...) -> [Int64?] {
            users.map { user in
                sessions[user].flatMap { ledger.received(message, by: $0, time: 1500, faults: &faults) }
            }
        }

        mutating func settle(absent: Set<String> = []) { ledger.settle(absent: absent, faults: &faults) }

        /// The names and counts of what was found.
        var found: [SignallingFault: UInt64] {
            Dictionary(uniqueKeysWithValues: faults.all.map { ($0.kind, $0.entry.count) })
        }
    }

    @Test func rightDeliveriesBalance() {
        var scene = Scene("a", "b", "c")
        let toAll = scene.send("a")
        #expect(scene.deliver(toAll, to: "b", "c") == [500, 500])
        scene.deliver(scene.send("b", to: ["c", "nobody"]), to: "c")
        #expect(scene.ledger.has("b", received: toAll.messageID))
        #expect(!scene.ledger.has("a", received: toAll.messageID))
        scene.settle()
        scene.deliver(scene.send("c"), to: "a", "b")
        scene.settle()
        #expect(scene.found == [:])
    }

    @Test func aLostMessageIsFound() {
        var scene = Scene("a", "b", "c")
        scene.deliver(scene.send("a"), to: "b")
        scene.settle()
        #expect(scene.found == [.messageLost: 1])
        // And only once.
        scene.settle()
        #expect(scene.found == [.messageLost: 1])
    }

    @Test func aMessageThatNobodyGotIsFound() {
        var scene = Scene("a", "b", "c")
        _ = scene.send("a", to: ["c"])
        scene.settle()
        #expect(scene.found == [.messageLost: 1])
    }

    @Test func whatWasCutOffMayBeLostButNotForSome() {
        var scene = Scene("a", "b", "c")
        _ = scene.send("a")
        scene.ledger.interrupted("a")
        scene.settle()
        #expect(scene.found == [:])
        let some = scene.send("a")
        scene.ledger.interrupted("a")
        scene.deliver(some, to: "b")
        scene.settle()
        #expect(scene.found == [.messageLost: 1])
        // What the node had answered behind it is not excused.
        _ = scene.send("a", to: ["b"])
        scene.ledger.confirmed("a")
        scene.ledger.interrupted("a")
        scene.settle()
        #expect(scene.found == [.messageLost: 2])
    }

    @Test func aDoubledMessageIsFound() {
        var scene = Scene("a", "b")
        let message = scene.send("a")
        scene.deliver(message, to: "b", "b")
        #expect(scene.found == [.messageDoubled: 1])
        scene.settle()
        scene.deliver(message, to: "b")
        #expect(scene.found == [.messageDoubled: 2])
    }

    @Test func wrongOrderIsFound() {
        var scene = Scene("a", "b")
        let (first, second) = (scene.send("a"), scene.send("a"))
        scene.deliver(second, to: "b")
        scene.deliver(first, to: "b")
        #expect(scene.found == [.messageOrder: 1])
    }

    @Test func serialsThatDifferAreFound() {
        var scene = Scene("a", "b", "c")
        var message = scene.send("a")
        scene.deliver(message, to: "b")
        message.serial += 1
        scene.deliver(message, to: "c")
        #expect(scene.found == [.messageOrder: 1])
        var other = scene.send("a")
        other.serial = 1
        scene.deliver(other, to: "c")
        #expect(scene.found[.messageOrder] ?? 0 > 1)
    }

    @Test func messagesForOthersAreFound() {
        var scene = Scene("a", "b", "c")
        let toB = scene.send("a", to: ["b"])
        scene.deliver(toB, to: "b", "c", "a")
        #expect(scene.found == [.messageMisdelivered: 2])
        let foreign = RoomMessage(messageID: "other/1", serial: 9, timestamp: 0, playerID: "a", text: "x")
        scene.deliver(foreign, to: "b")
        #expect(scene.found == [.messageMisdelivered: 3])
    }

    @Test func changedMessagesAreFound() {
        var scene = Scene("a", "b", "c")
        var message = scene.send("a")
        message.text += "."
        scene.deliver(message, to: "b")
        var other = scene.send("a")
        other.playerID = "c"
        scene.deliver(other, to: "b")
        #expect(scene.found == [.messageChanged: 2])
    }

    @Test func aNewcomerGetsAllFromSomeOneOn() {
        // Under way while d joins: none, or all from some one on.
        var scene = Scene("a", "b")
        let early = scene.send("a")
        let later = scene.send("a")
        scene.join("d")
        scene.deliver(early, to: "b")
        scene.deliver(later, to: "b", "d")
        scene.settle()
        #expect(scene.found == [:])

        var gap = Scene("a", "b")
        let messages = (0..<3).map { _ in gap.send("a") }
        gap.join("d")
        for message in messages { gap.deliver(message, to: "b") }
        gap.deliver(messages[0], to: "d")
        gap.deliver(messages[2], to: "d")
        gap.settle()
        #expect(gap.found == [.messageLost: 1])
    }

    @Test func whatWasBeforeAJoinDoesNotCome() {
        var scene = Scene("a", "b")
        let old = scene.send("a")
        scene.deliver(old, to: "b")
        scene.join("d")
        scene.deliver(old, to: "d")
        #expect(scene.found == [.messageMisdelivered: 1])
        scene.settle()
        scene.deliver(old, to: "d")
        #expect(scene.found == [.messageMisdelivered: 2])
    }

    @Test func whoIsAwayGetsTheRestLater() {
        var scene = Scene("a", "b", "c")
        scene.deliver(scene.send("a"), to: "b", "c")
        let missed = [scene.send("a"), scene.send("b", to: ["c"])]
        scene.deliver(missed[0], to: "b")
        scene.settle(absent: ["c"])
        #expect(scene.found == [:])
        scene.ledger.resumed("c")
        // Replayed: not timed.
        #expect(scene.deliver(missed[0], to: "c") == [nil])
        scene.settle()
        #expect(scene.found == [.messageLost: 1])
    }

    @Test func whoLeavesGetsAllUpToItsLast() {
        var scene = Scene("a", "b", "c")
        let messages = (0..<3).map { _ in scene.send("a") }
        for message in messages { scene.deliver(message, to: "b") }
        scene.deliver(messages[0], to: "c")
        scene.ledger.closed("c")
        scene.settle()
        #expect(scene.found == [:])

        var gap = Scene("a", "b", "c")
        let others = (0..<3).map { _ in gap.send("a") }
        for message in others { gap.deliver(message, to: "b") }
        gap.deliver(others[2], to: "c")
        gap.join("c")
        gap.settle()
        #expect(gap.found == [.messageLost: 2])
    }
}
