/// What the database holds, version by version. A version that was released never changes: the next change is one more
/// step.
enum StoreSchema {
    /// Marks the file as Parlor's (PRAGMA application_id): "PRLR".
    static let applicationID: Int64 = 0x5052_4C52

    /// Step n takes a database from version n to n + 1 (PRAGMA user_version); 0 is an empty file.
    ///
    /// Rooms and bans name their app without a foreign key: an app of the configuration file has rooms and bans, too,
    /// and no row here. `AppStore.deleteApp` removes them with the app.
    static let steps = [
        """
        CREATE TABLE apps (
            id TEXT PRIMARY KEY NOT NULL,
            access_key TEXT NOT NULL,
            max_users INTEGER NOT NULL,
            no_auto_kick_user INTEGER NOT NULL,
            no_auto_create_room INTEGER NOT NULL,
            no_auto_close_room INTEGER NOT NULL,
            auto_close_ttl_ms INTEGER NOT NULL,
            no_enter_ttl_ms INTEGER NOT NULL,
            user_timeout_ms INTEGER NOT NULL,
            video_codec TEXT NOT NULL,
            title TEXT NOT NULL,
            hub TEXT NOT NULL,
            merge_publish_rtmp TEXT,
            event_cb_url TEXT NOT NULL,
            event_cb_secret TEXT NOT NULL,
            event_cb_version INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE rooms (
            app TEXT NOT NULL,
            name TEXT NOT NULL,
            max_users INTEGER,
            auto_close_ttl_ms INTEGER,
            no_enter_ttl_ms INTEGER,
            video_codec TEXT,
            open_room INTEGER,
            created_at INTEGER NOT NULL,
            PRIMARY KEY (app, name)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE bans (
            app TEXT NOT NULL,
            room TEXT NOT NULL,
            user TEXT NOT NULL,
            until INTEGER NOT NULL,
            reason TEXT NOT NULL,
            PRIMARY KEY (app, room, user)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX bans_by_end ON bans (until);
        """
    ]

    static var version: Int64 { Int64(steps.count) }

    /// Checks that the database is Parlor's and whole, and brings it to this version.
    static func prepare(_ connection: SQLiteConnection) throws(StoreError) {
        let version = try number("PRAGMA user_version", connection)
        let id = try number("PRAGMA application_id", connection)
        let tables = try number("SELECT count(*) FROM sqlite_schema", connection)
        guard id == applicationID || (id == 0 && version == 0 && tables == 0) else {
            throw StoreError(.damaged, "\(connection.name) is a database, but not one of Parlor's; move it away")
        }
        guard (0...self.version).contains(version) else {
            throw StoreError(
                .newer,
                "\(connection.name) was written by a later version of Parlor (schema \(version), and this one knows up "
                    + "to \(self.version)); run that version, or restore an older copy of the file")
        }
        guard try connection.rows("PRAGMA quick_check(1)") == [[.text("ok")]] else {
            throw StoreError(.damaged, "\(connection.name) is damaged; restore a copy of it, or move it away")
        }
        for (from, step) in steps.enumerated().dropFirst(Int(version)) {
            try connection.transaction { () throws(StoreError) in
                try connection.run(script: step)
                // Pragmas take no bound values; both are our own numbers.
                try connection.run(script: "PRAGMA application_id = \(applicationID)")
                try connection.run(script: "PRAGMA user_version = \(from + 1)")
            }
        }
    }

    private static func number(_ sql: String, _ connection: SQLiteConnection) throws(StoreError) -> Int64 {
        guard case .integer(let number)? = try connection.rows(sql).first?.first else { return 0 }
        return number
    }
}
