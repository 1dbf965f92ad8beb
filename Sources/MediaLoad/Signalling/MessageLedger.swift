package import RoomProtocol

/// The messages of one room: what was sent, who got it, and who must have. Pure; in quiet, `settle` balances it.
///
/// A session is a user's time from a join to its end, resumes included. It must get every message for its user that was
/// sent after the join was answered; of those that were under way meanwhile, either none or all from some one on. A
/// session that ends gets all up to its last.
package struct MessageLedger: Sendable {
    /// Counted within the ledger.
    package struct SessionID: Hashable, Sendable {
        fileprivate var number: Int
    }

    private struct Sent: Sendable {
        var sender: String
        /// `nil`: everybody.
        var targets: Set<String>?
        var text: String
        /// In the ledger's order of events.
        var moment: Int
        /// Any clock's nanoseconds.
        var time: Int64
        var serial: Int?
        /// The node must have taken it, as the sender's connection lived on.
        var isCertain = true
        /// The node has taken it.
        var isConfirmed = false
        /// Sessions that it is still to be looked for at; `nil`: all.
        var waiting: Set<SessionID>?

        func isFor(_ user: String) -> Bool { sender != user && (targets?.contains(user) ?? true) }
    }

    private struct Session: Sendable {
        var user: String
        /// In the ledger's order of events.
        var joined: Int
        /// Serials up to here were known before the join: they are of another time.
        var floor: Int
        var last = 0
        /// When it last came back, in the ledger's order of events.
        var resumed = 0
        /// Of messages that are not settled everywhere.
        var received: Set<Int> = []
        var isOpen = true
    }

    private let room: String
    private var moment = 0
    private var lastNumber = 0
    private var highest = 0
    private var sent: [String: Sent] = [:]
    /// By serial.
    private var names: [Int: String] = [:]
    private var sessions: [SessionID: Session] = [:]
    private var open: [String: SessionID] = [:]

    package init(room: String) { self.room = room }

    /// What a message of that name says: made of the name, and of what frames and JSON are easily broken by.
    package static func text(of id: String) -> String { "\(id) = {\"é\": \"你好 \\ / 😀\"}" }

    // MARK: Sessions

    /// The serial that is the highest seen in the room: to be read before `auth` is sent.
    package var highestSerial: Int { highest }

    /// A join was answered. An earlier session of the user is over.
    package mutating func opened(_ user: String, floor: Int) -> SessionID {
        closed(user)
        moment += 1
        lastNumber += 1
        let id = SessionID(number: lastNumber)
        sessions[id] = Session(user: user, joined: moment, floor: floor)
        open[user] = id
        return id
    }

    package mutating func closed(_ user: String) {
        guard let id = open.removeValue(forKey: user) else { return }
        sessions[id]?.isOpen = false
    }

    /// The user is back: what was sent before is replayed.
    package mutating func resumed(_ user: String) {
        moment += 1
        if let id = open[user] { sessions[id]?.resumed = moment }
    }

    // MARK: Messages

    /// - Returns: the message's name.
    package mutating func sending(from user: String, to targets: [String], time: Int64) -> String {
        moment += 1
        lastNumber += 1
        let id = "\(room)/\(lastNumber)"
        sent[id] = Sent(
            sender: user, targets: targets.isEmpty ? nil : Set(targets), text: MessageLedger.text(of: id),
            moment: moment, time: time)
        return id
    }

    /// The node answered something that the user sent later: it must have taken all of its messages.
    package mutating func confirmed(_ user: String) {
        for (id, message) in sent where message.sender == user { sent[id]?.isConfirmed = true }
    }

    /// The sender's socket went: what it sent last may be lost with it.
    package mutating func interrupted(_ user: String) {
        for (id, message) in sent where message.sender == user && !message.isConfirmed { sent[id]?.isCertain = false }
    }

    /// Sent, and refused.
    package mutating func refused(_ id: String) { sent[id] = nil }

    /// A session got a message.
    ///
    /// - Returns: how long it was under way, in nanoseconds; `nil` for one that is not as it should be, or came by a
    ///   replay.
    package mutating func received(
        _ message: RoomMessage, by id: SessionID, time: Int64, faults: inout SignallingFaults
    ) -> Int64? {
        guard var session = sessions[id] else { return nil }
        defer { sessions[id] = session }
        let user = session.user
        let name = message.messageID
        guard let original = sent[name] else {
            // One of this room that is not known any more was settled, also with this session if it was there.
            let isOwn = name.hasPrefix("\(room)/") && message.serial > session.floor
            faults.add(isOwn ? .messageDoubled : .messageMisdelivered, "\(name), to \(user) in \(room)")
            return nil
        }
        if original.sender != message.playerID || original.text != message.text {
            faults.add(.messageChanged, "\(name), of \(message.playerID), to \(user)")
        }
        guard original.isFor(user), message.serial > session.floor else {
            faults.add(.messageMisdelivered, "\(name) of \(original.sender), to \(user)")
            return nil
        }
        if let serial = original.serial {
            if serial != message.serial {
                faults.add(
                    .messageOrder, "\(name) has the serial \(message.serial) at \(user), and \(serial) elsewhere")
            }
        } else {
            if let other = names[message.serial] {
                faults.add(.messageOrder, "\(name) and \(other) have the same serial \(message.serial)")
            }
            sent[name]?.serial = message.serial
            names[message.serial] = name
            highest = max(highest, message.serial)
        }
        guard session.received.insert(message.serial).inserted else {
            faults.add(.messageDoubled, "\(name), to \(user)")
            return nil
        }
        if message.serial < session.last {
            faults.add(.messageOrder, "\(name) with serial \(message.serial) after \(session.last), to \(user)")
        }
        session.last = max(session.last, message.serial)
        return original.moment > session.resumed ? max(time - original.time, 0) : nil
    }

    // MARK: Balance

    /// Whether the user's session has got that message.
    package func has(_ user: String, received name: String) -> Bool {
        guard let id = open[user], let serial = sent[name]?.serial else { return false }
        return sessions[id]?.received.contains(serial) ?? false
    }

    /// In quiet, when all that the node will deliver is delivered: finds what is missing, and forgets the rest.
    ///
    /// - Parameter absent: users whose session goes on but who are away: what they have not got yet is left to the next
    ///   time.
    package mutating func settle(absent: Set<String>, faults: inout SignallingFaults) {
        let everybody = Set(sessions.keys)
        for (name, message) in sent {
            var waiting: Set<SessionID> = []
            for id in message.waiting ?? everybody {
                guard let session = sessions[id], message.isFor(session.user) else { continue }
                if session.isOpen, absent.contains(session.user) {
                    waiting.insert(id)
                } else if mustHave(session, message) {
                    faults.add(.messageLost, "\(name) of \(message.sender), to \(session.user)")
                }
            }
            sent[name]?.waiting = waiting
            guard waiting.isEmpty else { continue }
            sent[name] = nil
            if let serial = message.serial { names[serial] = nil }
        }
        for (id, session) in sessions {
            if session.isOpen {
                sessions[id]?.received = session.received.filter { names[$0] != nil }
            } else {
                sessions[id] = nil
            }
        }
    }

    private func mustHave(_ session: Session, _ message: Sent) -> Bool {
        let wasThere = message.moment > session.joined
        // Nobody got it: a loss if the node must have taken it, and this one was there from before until now.
        guard let serial = message.serial else { return message.isCertain && session.isOpen && wasThere }
        if session.received.contains(serial) || serial <= session.floor { return false }
        let isWithin = session.isOpen || serial < session.last
        return isWithin && (wasThere || session.received.contains { $0 < serial })
    }
}
