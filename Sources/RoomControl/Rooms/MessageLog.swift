import MediaWire
import RoomProtocol

/// The custom messages of a room's last seconds, for users who come back: bounded in number, bytes and age.
struct MessageLog: Sendable {
    private struct Entry: Sendable {
        let message: RoomMessage
        /// Who does not get it; `nil`: the app's back end sent it.
        let author: String?
        /// `nil`: everybody.
        let targets: Set<String>?
        let time: MediaTime

        var size: Int {
            let names = targets?.reduce(0) { $0 + $1.utf8.count + 32 } ?? 0
            return message.text.utf8.count + message.messageID.utf8.count + names
        }
    }

    private var entries: [Entry] = []
    private var bytes = 0
    /// The serial of the last message.
    private(set) var serial = 0

    mutating func nextSerial() -> Int {
        serial += 1
        return serial
    }

    mutating func keep(
        _ message: RoomMessage, by author: String?, targets: Set<String>?, now: MediaTime, age: MediaDuration,
        limits: RoomLimits
    ) {
        let entry = Entry(message: message, author: author, targets: targets, time: now)
        entries.append(entry)
        bytes += entry.size
        var old = 0
        while old < entries.count - 1,
            entries.count - old > limits.replayMessages || bytes > limits.replayBytes
        {
            bytes -= entries[old].size
            old += 1
        }
        entries.removeFirst(old)
        forget(before: now, age: age)
    }

    /// Nobody who could come back has missed what is older.
    mutating func forget(before now: MediaTime, age: MediaDuration) {
        let old = entries.prefix { $0.time + age < now }
        bytes -= old.reduce(0) { $0 + $1.size }
        entries.removeFirst(old.count)
    }

    /// What the user has not seen, in order.
    func missed(by user: String, after serial: Int) -> [RoomMessage] {
        entries.filter { entry in
            entry.message.serial > serial && entry.author != user
                && (entry.targets?.contains(user) ?? true)
        }
        .map(\.message)
    }
}
