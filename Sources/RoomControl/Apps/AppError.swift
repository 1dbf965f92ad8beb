/// Why the server API cannot make, change or remove an app.
package enum AppError: Error, Hashable, Sendable {
    /// There is no such app, or it is another key's: which of the two, nobody learns.
    case notFound
    /// The configuration file owns the app.
    case ownedByConfiguration(String)
    /// The key has as many apps as it may.
    case tooMany(limit: Int)
    case store(StoreError)

    package var message: String {
        switch self {
        case .notFound: "app not found"
        case .ownedByConfiguration(let id):
            "the node's configuration file owns the app \(id): change it there, and restart the node"
        case .tooMany(let limit): "the key has \(limit) apps, the most it may have; delete one first"
        case .store(let error): error.message
        }
    }
}
