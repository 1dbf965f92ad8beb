import Foundation
import MediaWire
import Synchronization

/// What outlives a restart of the node: the apps that the server API made, the rooms it made with their settings, and the
/// bans. An SQLite database, in a file or in memory.
///
/// Every call is done when it returns, and takes as long as the disk does; they are few.
package final class AppStore: Sendable {
    /// A room that the server API made.
    package struct SavedRoom: Hashable, Sendable {
        package var key: RoomKey
        package var settings: RoomSettings
        /// Unix seconds.
        package var createdAt: Int64

        package init(key: RoomKey, settings: RoomSettings, createdAt: Int64) {
            self.key = key
            self.settings = settings
            self.createdAt = createdAt
        }
    }

    private let connection: Mutex<SQLiteConnection>
    /// Locked as long as this value lives.
    private let lock: FileLock?

    /// The database's name in the data directory.
    package static let fileName = "parlor.db"
    static let lockName = "parlor.lock"
    /// How long a statement waits while something else has the file locked: 5 s.
    private static let patience: Int32 = 5000

    /// Opens `parlor.db` in a folder, and makes either if it is missing. One process has the folder at a time; tools may
    /// read the file meanwhile.
    ///
    /// - Throws: if the folder cannot be used, another node has it, or the file is damaged, somebody else's, or newer than
    ///   this version.
    package static func open(directory: String) throws(StoreError) -> AppStore {
        let manager = FileManager.default
        do {
            // For nobody else: the file holds the secrets that sign webhooks.
            try manager.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreError(.unavailable, "cannot make the data directory \(directory)")
        }
        let lock = try FileLock(path: directory + "/" + lockName)
        let path = directory + "/" + fileName
        if !manager.fileExists(atPath: path) {
            // SQLite gives its helper files the same permissions.
            guard manager.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
                throw StoreError(.unavailable, "cannot make \(path)")
            }
        }
        return try AppStore(path: path, lock: lock)
    }

    /// A database that ends with this value.
    package static func inMemory() throws(StoreError) -> AppStore { try AppStore(path: ":memory:", lock: nil) }

    private init(path: String, lock: FileLock?) throws(StoreError) {
        let connection = try SQLiteConnection(path: path)
        connection.setBusyTimeout(milliseconds: Self.patience)
        try connection.run("PRAGMA journal_mode = WAL")
        // FULL: each change is on the disk before the API says that it happened, and a crash of the machine takes none
        // back. NORMAL would keep the file whole, too, but could lose the last changes; they are few, so it buys nothing.
        try connection.run("PRAGMA synchronous = FULL")
        try connection.run("PRAGMA foreign_keys = ON")
        try StoreSchema.prepare(connection)
        self.connection = Mutex(connection)
        self.lock = lock
    }

    // MARK: Apps

    /// All apps, sorted by id. `legTimeout` and `legLease` are the node's, and have their usual values here.
    package func apps() throws(StoreError) -> [App] {
        try query("SELECT \(AppRow.columns) FROM apps ORDER BY id", read: AppRow.app)
    }

    /// Adds the app, or takes the place of the one with its id.
    package func save(_ app: App) throws(StoreError) {
        let values = AppRow.values(app)
        let places = Array(repeating: "?", count: values.count).joined(separator: ", ")
        try change("INSERT OR REPLACE INTO apps (\(AppRow.columns)) VALUES (\(places))", values)
    }

    /// Removes the app with its rooms and bans.
    package func deleteApp(_ id: String) throws(StoreError) {
        try connection.withLock { (connection) throws(StoreError) in
            try connection.transaction { () throws(StoreError) in
                try connection.run("DELETE FROM bans WHERE app = ?", [.text(id)])
                try connection.run("DELETE FROM rooms WHERE app = ?", [.text(id)])
                try connection.run("DELETE FROM apps WHERE id = ?", [.text(id)])
            }
        }
    }

    // MARK: Rooms

    /// All rooms, sorted by app and name.
    package func rooms() throws(StoreError) -> [SavedRoom] {
        try query("SELECT \(RoomRow.columns) FROM rooms ORDER BY app, name", read: RoomRow.room)
    }

    /// Adds the room, or takes the place of the one with its name.
    package func saveRoom(_ room: SavedRoom) throws(StoreError) {
        let values = RoomRow.values(room)
        let places = Array(repeating: "?", count: values.count).joined(separator: ", ")
        try change("INSERT OR REPLACE INTO rooms (\(RoomRow.columns)) VALUES (\(places))", values)
    }

    package func deleteRoom(_ key: RoomKey) throws(StoreError) {
        try change("DELETE FROM rooms WHERE app = ? AND name = ?", [.text(key.app), .text(key.room)])
    }

    // MARK: Bans

    /// The bans that hold at the given Unix time, sorted by room and user; those that are over are forgotten.
    package func bans(unixTime: Int64) throws(StoreError) -> [Ban] {
        try deleteBans(until: unixTime)
        return try query("SELECT app, room, user, until, reason FROM bans ORDER BY app, room, user") { row in
            guard let app = row.text(0), let room = row.text(1), let user = row.text(2), let until = row.unixTime(3)
            else { return nil }
            return Ban(room: RoomKey(app: app, room: room), user: user, until: until, reason: row.text(4) ?? "")
        }
    }

    /// Adds the ban, or takes the place of the user's earlier one in that room.
    package func saveBan(_ ban: Ban) throws(StoreError) {
        try change(
            "INSERT OR REPLACE INTO bans (app, room, user, until, reason) VALUES (?, ?, ?, ?, ?)",
            [.text(ban.room.app), .text(ban.room.room), .text(ban.user), .integer(ban.until), .text(ban.reason)])
    }

    /// Forgets the bans that are over at the given Unix time.
    package func deleteBans(until unixTime: Int64) throws(StoreError) {
        try change("DELETE FROM bans WHERE until <= ?", [.integer(unixTime)])
    }

    /// Forgets the bans of all rooms of an app.
    package func deleteBans(app: String) throws(StoreError) {
        try change("DELETE FROM bans WHERE app = ?", [.text(app)])
    }

    package func deleteBan(_ user: String, in room: RoomKey) throws(StoreError) {
        try change(
            "DELETE FROM bans WHERE app = ? AND room = ? AND user = ?",
            [.text(room.app), .text(room.room), .text(user)])
    }

    // MARK: Statements

    private func change(_ sql: String, _ values: [SQLiteValue]) throws(StoreError) {
        try connection.withLock { (connection) throws(StoreError) in try connection.run(sql, values) }
    }

    private func query<Row>(_ sql: String, read: (SQLiteRow) -> Row?) throws(StoreError) -> [Row] {
        let (rows, name) = try connection.withLock { (connection) throws(StoreError) in
            (try connection.rows(sql).map { SQLiteRow(values: $0) }, connection.name)
        }
        var result: [Row] = []
        result.reserveCapacity(rows.count)
        for row in rows {
            guard let value = read(row) else {
                throw StoreError(
                    .damaged, "\(name) has a row that makes no sense, for \(row.text(0) ?? "?"); restore a copy of it")
            }
            result.append(value)
        }
        return result
    }
}

/// Keeps a user out of a room for a time.
package struct Ban: Hashable, Sendable {
    package var room: RoomKey
    package var user: String
    /// Unix seconds; from this second on the user may come in again.
    package var until: Int64
    package var reason: String

    package init(room: RoomKey, user: String, until: Int64, reason: String) {
        self.room = room
        self.user = user
        self.until = until
        self.reason = reason
    }
}
