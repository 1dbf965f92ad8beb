import Synchronization

/// The rooms that the server API made and that still live: they are written down, and come back when the node does, with
/// their settings. Rooms that a join made are not; nobody waits for them.
package final class SavedRooms: Sendable {
    /// A room in the store, and the life of it that it stands for.
    private struct Record {
        var saved: AppStore.SavedRoom
        /// `nil`: of an earlier run, and not made again yet.
        var instance: RoomInstance?
    }

    private struct Tables {
        /// The living rooms that are in the store, so that the end of any other room costs nothing.
        var known: [RoomKey: Record]
        /// Rooms that have ended and are in the store still.
        var ended: Set<RoomKey> = []
    }

    private let store: AppStore?
    /// Held for moments only: a room that ends must not wait for the disk.
    private let tables: Mutex<Tables>
    /// Held while the store is written. Never taken while `tables` is held.
    private let writing = Mutex(())

    /// Keeps nothing: rooms end with the node.
    package init() {
        store = nil
        tables = Mutex(Tables(known: [:]))
    }

    package init(store: AppStore) throws(StoreError) {
        self.store = store
        let records = try store.rooms().map { ($0.key, Record(saved: $0)) }
        tables = Mutex(Tables(known: Dictionary(records, uniquingKeysWith: { $1 })))
    }

    /// How making a room went.
    package enum Creation: Hashable, Sendable {
        case created
        /// There is a room of that name.
        case exists
        /// The node has all the rooms that it may have.
        case tooManyRooms
    }

    /// Makes a room that waits for its first user. When this returns, it is written down.
    ///
    /// - Parameter unixTime: now, in seconds.
    /// - Throws: when it cannot be written down; then there is no room.
    package func create(
        _ key: RoomKey, _ settings: RoomSettings, of app: App, in directory: RoomDirectory, unixTime: Int64
    ) async throws(StoreError) -> Creation {
        let room: Room
        switch await directory.create(key, settings: settings.over(app.settings)) {
        case .created(let made): room = made
        case .exists: return .exists
        case .tooMany: return .tooManyRooms
        }
        do throws(StoreError) {
            try writing.withLock { (_) throws(StoreError) in
                // This room may be over, and a newer one of its name written down: that is not to be touched.
                let newest = tables.withLock { $0.known[key]?.instance }
                if let newest, newest.rawValue > room.instance.rawValue { return }
                let saved = AppStore.SavedRoom(key: key, settings: settings, createdAt: unixTime)
                try store?.saveRoom(saved)
                tables.withLock { $0.known[key] = Record(saved: saved, instance: room.instance) }
            }
        } catch {
            await room.close(.deleted, "the room could not be written down")
            throw error
        }
        // Closed in between: its notice came before there was anything to forget. If the node stops, the next run makes it again.
        if let reason = await room.closeReason, reason != .nodeStopping {
            end(key, room.instance)
            forgetEnded()
        }
        return .created
    }

    /// Tells of everything that happens in rooms: with the end of a room's life its place in the store is free. The end of the
    /// node is no such end. Does not wait for the disk.
    package func observe(_ key: RoomKey, _ instance: RoomInstance, _ notice: RoomNotice) {
        guard case .closed(let reason) = notice, reason != .nodeStopping, end(key, instance) else { return }
        Task { forgetEnded() }
    }

    /// Brings the ends of rooms to the store. Happens by itself soon after each; done once more when the node stops, nothing
    /// is left to be done.
    package func forgetEnded() {
        writing.withLock { _ in
            let (ended, known) = tables.withLock { tables in
                defer { tables.ended = [] }
                return (tables.ended, tables.known)
            }
            // A room of the same name may have been made since. What the store does not forget for an error of the disk,
            // the next run makes again, and nobody enters it.
            for key in ended where known[key] == nil { try? store?.deleteRoom(key) }
        }
    }

    /// False: it is not in the store. The end of one life is none of a later one's of the same name.
    @discardableResult
    private func end(_ key: RoomKey, _ instance: RoomInstance?) -> Bool {
        tables.withLock { tables in
            guard let record = tables.known[key], record.instance == nil || record.instance == instance else {
                return false
            }
            tables.known[key] = nil
            tables.ended.insert(key)
            return true
        }
    }

    /// Makes the rooms of an earlier run again, each with its time for the first user from the start. Call it once, before
    /// clients come.
    ///
    /// - Returns: how many.
    @discardableResult
    package func restore(_ apps: AppDirectory, in directory: RoomDirectory) async -> Int {
        var count = 0
        let saved = tables.withLock { $0.known.values.map(\.saved) }
        for room in saved.sorted(by: { ($0.key.app, $0.key.room) < ($1.key.app, $1.key.room) }) {
            // The configuration may have lost the app.
            guard let app = apps.app(room.key.app) else {
                end(room.key, nil)
                continue
            }
            if case .created(let made) = await directory.create(room.key, settings: room.settings.over(app.settings)) {
                tables.withLock { $0.known[room.key]?.instance = made.instance }
                count += 1
            }
        }
        forgetEnded()
        return count
    }
}
