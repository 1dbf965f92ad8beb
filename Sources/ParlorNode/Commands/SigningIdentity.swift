import Foundation
import MediaWire
import RoomControl

/// Which app a client command speaks for, with whose key it signs, and where the node is.
struct SigningIdentity: Sendable {
    var app: String
    var key: AccessKey
    /// The node's base URL, without a slash at the end.
    var url: String
    /// Any certificate will do.
    var isInsecure: Bool

    /// Options of every command that signs.
    static let options: [OptionSpec] = [
        OptionSpec("app", "ID", "The app (default: the configuration's only one, or demo).", group: group),
        OptionSpec("key", "NAME", "Its access key (default: devkey).", group: group),
        OptionSpec("secret", "TEXT", "The key's secret (default: devsecret).", group: group),
        OptionSpec("config", "FILE", "Take app, keys and URL from a node's configuration.", group: group),
    ]
    /// Options of every command that asks a node.
    static let nodeOptions = [
        OptionSpec("url", "URL", "The node, http or https (default: http://127.0.0.1:7880).", group: group),
        OptionSpec("insecure", nil, "Accept any certificate, such as a self-signed one.", group: group),
    ]
    private static let group = "Whose key signs (also PARLOR_APP, PARLOR_KEY, PARLOR_SECRET, PARLOR_CONFIG, PARLOR_URL)"

    /// Flags first, then variables, then the configuration file, then the development keys.
    init(_ context: Command.Context) throws {
        let arguments = context.arguments
        func given(_ name: String) -> String? {
            arguments[name] ?? context.environment["PARLOR_\(name.uppercased())"]
        }
        var apps = [NodeConfiguration.App.development]
        var url = "http://127.0.0.1:7880"
        if let path = given("config") {
            let loaded = try ConfigurationLoader.load(
                base: NodeConfiguration(), file: ConfigurationFile.read(path), environment: [:], flags: [:],
                machine: .init(cores: 1))
            apps = loaded.configuration.apps
            let listen = loaded.configuration.http.listen
            let host =
                listen.isUnspecified
                ? (listen.isIPv4 ? "127.0.0.1" : "[::1]") : (listen.isIPv4 ? listen.host : "[\(listen.host)]")
            url = "http://\(host):\(listen.port)"
        }
        if let given = given("url") { url = given }
        while url.hasSuffix("/") { url.removeLast() }
        self.url = url
        isInsecure = arguments.has("insecure")

        switch (given("key"), given("secret")) {
        case (let id?, let secret?):
            app = given("app") ?? (apps.count == 1 ? apps[0].id : NodeConfiguration.App.development.id)
            key = AccessKey(id: id, secret: secret)
        case (nil, nil):
            let chosen: NodeConfiguration.App?
            if let name = given("app") {
                chosen = apps.first { $0.id == name }
                guard chosen != nil else {
                    let known = apps.map(\.id).joined(separator: ", ")
                    throw UsageError(
                        "no keys for app \"\(name)\" (known: \(known)); give --key and --secret, or --config")
                }
            } else {
                chosen = apps.count == 1 ? apps.first : nil
            }
            guard let chosen else {
                throw UsageError(
                    "the configuration has several apps; choose with --app: \(apps.map(\.id).joined(separator: ", "))")
            }
            app = chosen.id
            key = AccessKey(id: chosen.accessKey, secret: chosen.secret)
        case (nil, _): throw UsageError("--secret needs --key too")
        case (_, nil): throw UsageError("--key needs --secret too")
        }
        guard Names.isAppID(app) else {
            throw UsageError("\"\(app)\" is not an app's id; 1 to 64 of A-Z, a-z, 0-9, - and _")
        }
        guard !key.id.isEmpty, !key.id.contains(":") else { throw UsageError("\"\(key.id)\" is not an access key") }
    }

    /// A token for one user of one room.
    func token(room: String, user: String, admin: Bool, lifetime: Duration, unixTime: Int64) -> String {
        RoomToken(
            app: app, room: room, user: user, expiresAt: unixTime + lifetime.components.seconds,
            permission: admin ? .admin : .user
        ).signed(by: key)
    }

    static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }
}

/// Names of rooms and users on the command line.
enum NameArgument {
    static func room(_ text: String) throws(UsageError) -> String {
        guard Names.isRoomName(text) else {
            throw UsageError("\"\(text)\" is not a room's name; 1 to 64 of A-Z, a-z, 0-9, - and _")
        }
        return text
    }

    static func user(_ text: String) throws(UsageError) -> String {
        guard Names.isUserID(text) else {
            throw UsageError("\"\(text)\" is not a user's name; 1 to 50 of A-Z, a-z, 0-9, - and _")
        }
        return text
    }

    static func track(_ text: String) throws(UsageError) -> String {
        guard Names.isRoomName(text) else {
            throw UsageError("\"\(text)\" is not a track's id; parlor room ROOM shows them")
        }
        return text
    }

    /// An option that must be given.
    static func required(_ name: String, _ arguments: ParsedArguments, of command: String) throws(UsageError) -> String
    {
        guard let value = arguments[name] else {
            throw UsageError("\(command) needs --\(name) (see \(command) --help)")
        }
        return value
    }
}
