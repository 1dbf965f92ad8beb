import CSQLite

/// A value of a column.
enum SQLiteValue: Hashable {
    case null
    case integer(Int64)
    case text(String)
}

/// One connection to a database, with its prepared statements. Not to be used by two threads at once: `AppStore` keeps it
/// behind a lock, and SQLite is told that it need not lock itself.
final class SQLiteConnection {
    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]
    /// What errors call the database.
    let name: String

    /// SQLITE_TRANSIENT, a macro that Swift does not see: SQLite copies the text before the call returns.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    /// - Parameter path: of the file, which is made if it is missing; `:memory:` for none.
    init(path: String) throws(StoreError) {
        name = path == ":memory:" ? "the database in memory" : path
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard let opened, code == SQLITE_OK else {
            let reason = String(cString: sqlite3_errstr(code))
            sqlite3_close_v2(opened)
            throw StoreError(.unavailable, "cannot open \(name): \(reason)")
        }
        handle = opened
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    /// How long a statement waits for another process that has the file locked, such as a backup.
    func setBusyTimeout(milliseconds: Int32) { sqlite3_busy_timeout(handle, milliseconds) }

    /// Runs a statement that gives no rows, or whose rows do not matter.
    func run(_ sql: String, _ values: [SQLiteValue] = []) throws(StoreError) { _ = try rows(sql, values) }

    /// Runs statements that take no values, one after the other.
    func run(script: String) throws(StoreError) {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// Runs a statement and gives all rows that it has.
    func rows(_ sql: String, _ values: [SQLiteValue] = []) throws(StoreError) -> [[SQLiteValue]] {
        let statement = try prepared(sql)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (place, value) in zip(Int32(1)..., values) {
            let code =
                switch value {
                case .null: sqlite3_bind_null(statement, place)
                case .integer(let number): sqlite3_bind_int64(statement, place, number)
                case .text(let text):
                    sqlite3_bind_text64(
                        statement, place, text, UInt64(text.utf8.count), Self.copied, UInt8(SQLITE_UTF8))
                }
            guard code == SQLITE_OK else { throw failure(code) }
        }
        var rows: [[SQLiteValue]] = []
        while true {
            let code = sqlite3_step(statement)
            if code == SQLITE_DONE { return rows }
            guard code == SQLITE_ROW else { throw failure(code) }
            rows.append((0..<sqlite3_column_count(statement)).map { Self.value(statement, $0) })
        }
    }

    /// Runs the body as one change: all of it happens, or nothing.
    func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        // The lock for writing at once: a lock taken midway can fail after the first half.
        try run("BEGIN IMMEDIATE")
        do throws(StoreError) {
            try body()
            try run("COMMIT")
        } catch {
            // SQLite itself has rolled back after some errors; then this one has nothing to do.
            try? run("ROLLBACK")
            throw error
        }
    }

    private func prepared(_ sql: String) throws(StoreError) -> OpaquePointer {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(code) }
        statements[sql] = statement
        return statement
    }

    /// SQLite's own words hold names of tables and columns, never values.
    private func failure(_ code: Int32) -> StoreError {
        let reason = String(cString: sqlite3_errmsg(handle))
        // The lower byte of an extended code is the plain one.
        return switch code & 0xFF {
        case SQLITE_NOTADB, SQLITE_CORRUPT: StoreError(.damaged, "\(name) is damaged: \(reason)")
        case SQLITE_BUSY, SQLITE_LOCKED: StoreError(.failed, "\(name) is locked by another process: \(reason)")
        case SQLITE_FULL: StoreError(.failed, "no space left for \(name): \(reason)")
        default: StoreError(.failed, "\(name): \(reason)")
        }
    }

    private static func value(_ statement: OpaquePointer, _ column: Int32) -> SQLiteValue {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_TEXT:
            guard let bytes = sqlite3_column_text(statement, column) else { return .null }
            let count = Int(sqlite3_column_bytes(statement, column))
            return .text(String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self))
        // No table here has columns of other types.
        default: return .null
        }
    }
}
