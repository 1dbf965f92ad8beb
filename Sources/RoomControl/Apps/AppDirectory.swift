/// The apps of a node and the keys that own them, as the configuration has them.
package struct AppDirectory: Sendable {
    private var apps: [String: App] = [:]
    private var keys: [String: AccessKey] = [:]

    package init(apps: [App], keys: [AccessKey]) {
        for key in keys { self.keys[key.id] = key }
        for app in apps { self.apps[app.id] = app }
    }

    package func app(_ id: String) -> App? { apps[id] }

    package func key(_ id: String) -> AccessKey? { keys[id] }

    /// The app if the key owns it: another key's app does not exist for the caller.
    package func app(_ id: String, ownedBy key: AccessKey) -> App? {
        guard let app = apps[id], app.accessKey == key.id else { return nil }
        return app
    }
}
