import Synchronization

/// The apps of a node and the keys that own them: those of the configuration, which the server API only reads, and those
/// that the API made, which outlive a restart in the store.
package final class AppDirectory: Sendable {
    private struct Tables {
        var apps: [String: App] = [:]
        let keys: [String: AccessKey]
    }

    /// Held for moments only: every join and every request looks an app up.
    private let tables: Mutex<Tables>
    /// Held while a change is written to the disk, so that changes reach disk and memory in one order. Never taken
    /// while `tables` is held.
    private let changes = Mutex(())
    private let store: AppStore?
    /// What of an API-made app's settings is the node's: `legTimeout` and `legLease`, and the values of a new app.
    private let defaults: AppSettings
    /// Apps that one key may have, those of the configuration not counted.
    package let appsPerKey: Int

    /// Apps in memory only.
    package init(
        apps: [App], keys: [AccessKey], defaults: AppSettings = AppSettings(), appsPerKey: Int = 1000
    ) {
        tables = Mutex(
            Tables(
                apps: Dictionary(apps.map { ($0.id, $0) }, uniquingKeysWith: { $1 }),
                keys: Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { $1 })))
        store = nil
        self.defaults = defaults
        self.appsPerKey = appsPerKey
    }

    /// The configuration's apps and those of the store, which takes every change. Where both have an app of one id, the
    /// configuration's counts.
    package init(
        apps: [App], keys: [AccessKey], store: AppStore, defaults: AppSettings = AppSettings(), appsPerKey: Int = 1000
    ) throws(StoreError) {
        var table: [String: App] = [:]
        for var app in try store.apps() {
            app.settings.legTimeout = defaults.legTimeout
            app.settings.legLease = defaults.legLease
            table[app.id] = app
        }
        for app in apps { table[app.id] = app }
        tables = Mutex(
            Tables(apps: table, keys: Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { $1 })))
        self.store = store
        self.defaults = defaults
        self.appsPerKey = appsPerKey
    }

    // MARK: Lookups

    package func app(_ id: String) -> App? { tables.withLock { $0.apps[id] } }

    package func key(_ id: String) -> AccessKey? { tables.withLock { $0.keys[id] } }

    /// The app if the key owns it: another key's app does not exist for the caller.
    package func app(_ id: String, ownedBy key: AccessKey) -> App? {
        guard let app = app(id), app.accessKey == key.id else { return nil }
        return app
    }

    /// The key's apps, sorted by id.
    package func apps(ownedBy key: AccessKey) -> [App] {
        tables.withLock { $0.apps.values.filter { $0.accessKey == key.id } }.sorted { $0.id < $1.id }
    }

    // MARK: Changes

    /// Makes an app with a new id.
    ///
    /// - Parameter unixTime: now, in seconds.
    package func create(
        _ wishes: AppChanges, ownedBy key: AccessKey, unixTime: Int64, random: inout RandomSource
    ) throws(AppError) -> App {
        var app = App(id: "", accessKey: key.id, settings: defaults, origin: .api)
        wishes.apply(to: &app)
        app.details.createdAt = unixTime
        app.details.updatedAt = unixTime
        return try changing { () throws(AppError) in
            let own = apps(ownedBy: key).count { $0.origin == .api }
            guard own < appsPerKey else { throw .tooMany(limit: appsPerKey) }
            repeat { app.id = AppDirectory.newID(&random) } while self.app(app.id) != nil
            try save(app)
            return app
        }
    }

    /// Changes an app that the API made; what the changes do not name stays. Rooms that exist keep the rules they were
    /// made with.
    package func update(
        _ id: String, _ wishes: AppChanges, ownedBy key: AccessKey, unixTime: Int64
    ) throws(AppError) -> App {
        try changing { () throws(AppError) in
            var app = try changeable(id, ownedBy: key)
            wishes.apply(to: &app)
            app.details.updatedAt = unixTime
            try save(app)
            return app
        }
    }

    /// Removes an app that the API made, with its rooms and bans in the store. Its living rooms are the caller's to close.
    package func delete(_ id: String, ownedBy key: AccessKey) throws(AppError) {
        try changing { () throws(AppError) in
            let app = try changeable(id, ownedBy: key)
            do throws(StoreError) { try store?.deleteApp(app.id) } catch { throw .store(error) }
            tables.withLock { $0.apps[app.id] = nil }
        }
    }

    private func changeable(_ id: String, ownedBy key: AccessKey) throws(AppError) -> App {
        guard let app = app(id, ownedBy: key) else { throw .notFound }
        guard app.origin == .api else { throw .ownedByConfiguration(id) }
        return app
    }

    /// The store first: what it did not take has not happened.
    private func save(_ app: App) throws(AppError) {
        do throws(StoreError) { try store?.save(app) } catch { throw .store(error) }
        tables.withLock { $0.apps[app.id] = app }
    }

    private func changing<Result>(_ body: () throws(AppError) -> Result) throws(AppError) -> Result {
        try changes.withLock { (_) throws(AppError) in try body() }
    }

    /// Nine lower-case letters and digits, as the vendor's ids are.
    private static func newID(_ random: inout RandomSource) -> String {
        let characters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<9).map { _ in characters[Int.random(in: characters.indices, using: &random)] })
    }
}
