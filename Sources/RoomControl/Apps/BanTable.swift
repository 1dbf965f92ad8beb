import Synchronization

/// Who may not enter which rooms, and until when. A ban is of a room's name, and so outlives the room's lives; with a
/// store it outlives a restart of the node, too.
package final class BanTable: Sendable {
    private struct Table {
        var bans: [RoomKey: [String: Ban]] = [:]
        var count = 0
        /// When those that are over are looked for, in Unix seconds.
        var nextSweep: Int64 = 0

        mutating func insert(_ ban: Ban) {
            if bans[ban.room, default: [:]].updateValue(ban, forKey: ban.user) == nil { count += 1 }
        }

        @discardableResult
        mutating func remove(_ user: String, from room: RoomKey) -> Ban? {
            guard let ban = bans[room]?.removeValue(forKey: user) else { return nil }
            if bans[room]?.isEmpty == true { bans[room] = nil }
            count -= 1
            return ban
        }
    }

    /// Why a ban was not made.
    package enum Refusal: Error, Hashable, Sendable {
        /// The room, or the node, has all the bans that it may have.
        case tooMany(limit: Int)
        /// It could not be written down, and does not hold.
        case store(StoreError)
    }

    private let store: AppStore?
    /// Held for moments only: every join looks here.
    private let table: Mutex<Table>
    /// Held while the store is written, so that changes reach disk and memory in one order. Never taken while `table` is held.
    private let changes = Mutex(())

    /// Bans of all rooms together.
    package static let mostBans = 100_000
    /// Between two looks for bans that are over, in seconds.
    private static let sweepInterval: Int64 = 60

    /// Bans in memory only.
    package init() {
        store = nil
        table = Mutex(Table())
    }

    /// - Parameter unixTime: now, in seconds.
    package init(store: AppStore, unixTime: Int64) throws(StoreError) {
        self.store = store
        var table = Table()
        for ban in try store.bans(unixTime: unixTime) { table.insert(ban) }
        self.table = Mutex(table)
    }

    // MARK: Looking

    /// Of one room, sorted by user.
    package func bans(of room: RoomKey, unixTime: Int64) -> [Ban] {
        let bans = table.withLock { $0.bans[room] } ?? [:]
        return bans.values.filter { $0.until > unixTime }.sorted { $0.user < $1.user }
    }

    /// The ban that keeps the user out, if there is one.
    package func ban(of user: String, in room: RoomKey, unixTime: Int64) -> Ban? {
        guard let ban = table.withLock({ $0.bans[room]?[user] }), ban.until > unixTime else { return nil }
        return ban
    }

    // MARK: Changing

    /// Adds the ban, or takes the place of the user's earlier one. When it returns, it is written down.
    ///
    /// - Parameter perRoom: the most bans of one room.
    package func add(_ ban: Ban, perRoom: Int, unixTime: Int64) throws(Refusal) {
        try changes.withLock { (_) throws(Refusal) in
            try sweep(unixTime)
            let limit: Int? = table.withLock { table in
                let room = table.bans[ban.room]
                if room?[ban.user] != nil { return nil }
                if (room?.values.count { $0.until > unixTime } ?? 0) >= perRoom { return perRoom }
                return table.count >= Self.mostBans ? Self.mostBans : nil
            }
            if let limit { throw .tooMany(limit: limit) }
            do throws(StoreError) { try store?.saveBan(ban) } catch { throw .store(error) }
            table.withLock { $0.insert(ban) }
        }
    }

    /// Lifts a ban. False: there was none.
    package func remove(_ user: String, from room: RoomKey, unixTime: Int64) throws(StoreError) -> Bool {
        try changes.withLock { (_) throws(StoreError) in
            guard table.withLock({ $0.bans[room]?[user] }) != nil else { return false }
            try store?.deleteBan(user, in: room)
            let ban = table.withLock { $0.remove(user, from: room) }
            return ban.map { $0.until > unixTime } ?? false
        }
    }

    /// An app is gone. The store forgot its bans with it, but a request that was under way may have brought one since.
    package func forget(app: String) {
        changes.withLock { _ in
            // What an error of the disk leaves there keeps nobody out, for no other app gets the id, and goes when it is over.
            try? store?.deleteBans(app: app)
            table.withLock { table in
                for room in table.bans.keys where room.app == app {
                    table.count -= table.bans.removeValue(forKey: room)?.count ?? 0
                }
            }
        }
    }

    /// Removes what is over, now and then, and at once when there is no place.
    private func sweep(_ unixTime: Int64) throws(Refusal) {
        let isDue = table.withLock { $0.nextSweep <= unixTime || $0.count >= Self.mostBans }
        guard isDue else { return }
        do throws(StoreError) { try store?.deleteBans(until: unixTime) } catch { throw .store(error) }
        table.withLock { table in
            table.nextSweep = unixTime + Self.sweepInterval
            for (room, bans) in table.bans {
                for (user, ban) in bans where ban.until <= unixTime { table.remove(user, from: room) }
            }
        }
    }
}
