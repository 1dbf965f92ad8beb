package import MediaWire

/// Makes a `NodeConfiguration` from its four layers, the later over the earlier: built-in defaults, a YAML file, variables
/// `PARLOR_…`, flags. Pure: the file's text and the environment are arguments. Reports everything that is wrong, not
/// only the first.
package struct ConfigurationLoader {
    package struct File: Sendable {
        /// As given, for messages.
        package var path: String
        package var text: String
        package init(path: String, text: String) {
            self.path = path
            self.text = text
        }
    }

    /// A configuration that passed every check, and where each of its values came from.
    package struct Loaded: Sendable {
        package var configuration: NodeConfiguration
        /// By key path; a key that is missing has its built-in value.
        package var origins: [String: ConfigurationOrigin]

        package init(configuration: NodeConfiguration, origins: [String: ConfigurationOrigin]) {
            self.configuration = configuration
            self.origins = origins
        }

        package func origin(of key: String) -> ConfigurationOrigin { origins[key] ?? .builtIn }
    }

    /// What of the machine matters to the checks.
    package struct Machine: Sendable {
        package var cores: Int
        /// The addresses that can be listened on; `nil`: not known, so not checked.
        package var addresses: [TransportAddress]?
        package init(cores: Int, addresses: [TransportAddress]? = nil) {
            self.cores = cores
            self.addresses = addresses
        }
    }

    /// Larger files are refused, in bytes.
    package static let maximumFileSize = 1 << 20

    /// Variables that are no keys: the client commands read them.
    static let otherVariables: Set<String> = [
        "PARLOR_CONFIG", "PARLOR_URL", "PARLOR_APP", "PARLOR_KEY", "PARLOR_SECRET",
    ]
    static let appsVariable = "PARLOR_APPS"

    private var configuration: NodeConfiguration
    private var origins: [String: ConfigurationOrigin] = [:]
    private var problems: [ConfigurationProblem] = []
    private let keys = ConfigurationKey<NodeConfiguration>.all

    /// - Parameters:
    ///   - base: the built-in layer: `NodeConfiguration()` or `.development`.
    ///   - flags: by flag name without the dashes; names that are no keys are the caller's and are ignored.
    ///   - requiresApps: a node without an app can serve nobody; commands that only read keys do not mind.
    package static func load(
        base: NodeConfiguration, file: File?, environment: [String: String], flags: [String: String], machine: Machine,
        requiresApps: Bool = true
    ) throws(ConfigurationError) -> Loaded {
        var loader = ConfigurationLoader(configuration: base)
        if let file { loader.read(file) }
        loader.read(environment: environment)
        loader.read(flags: flags)
        // Values that could not be read have their defaults here; comparing those would only confuse.
        if loader.problems.isEmpty {
            let check = ConfigurationCheck(
                configuration: loader.configuration, origins: loader.origins, machine: machine)
            loader.problems += check.problems(requiresApps: requiresApps)
        }
        guard loader.problems.isEmpty else { throw ConfigurationError(problems: loader.problems) }
        return Loaded(configuration: loader.configuration, origins: loader.origins)
    }

    private init(configuration: NodeConfiguration) { self.configuration = configuration }

    // MARK: The file

    private mutating func read(_ file: File) {
        guard file.text.utf8.count <= Self.maximumFileSize else {
            problem(.file(path: file.path, line: 1), "", "larger than \(Numbers.size(Self.maximumFileSize))")
            return
        }
        do {
            guard let root = try YAMLReader.read(file.text) else { return }
            guard case .mapping(let entries) = root.content else {
                problem(.file(path: file.path, line: root.line), "", "\(root.kind) where groups of keys belong")
                return
            }
            read(entries, prefix: "", file: file.path)
        } catch {
            problem(.file(path: file.path, line: error.line), "", error.message)
        }
    }

    private mutating func read(_ entries: [YAMLNode.Entry], prefix: String, file: String) {
        for entry in entries {
            let path = prefix + entry.key
            let origin = ConfigurationOrigin.file(path: file, line: entry.line)
            if path == "apps" {
                readApps(entry, file: file)
            } else if let key = keys.first(where: { $0.path == path }) {
                do throws(ValueComplaint) {
                    try key.apply(try value(of: entry.value), &configuration)
                    origins[path] = origin
                } catch { problem(origin, path, error.message) }
            } else if keys.contains(where: { $0.path.hasPrefix(path + ".") }) {
                if case .mapping(let inner) = entry.value.content {
                    read(inner, prefix: path + ".", file: file)
                } else if !entry.value.isNull {
                    problem(origin, path, "\(entry.value.kind) where a group of keys belongs")
                }
            } else {
                let siblings = keys.map(\.path) + ["apps"]
                problem(origin, path, unknown(path, among: siblings, level: prefix))
            }
        }
    }

    private func value(of node: YAMLNode) throws(ValueComplaint) -> ConfigurationValue {
        if node.isNull { throw ValueComplaint("no value; give one or leave the key out") }
        switch node.content {
        case .scalar(let text, let plain): return .text(text, quoted: !plain)
        case .sequence(let elements):
            var texts: [String] = []
            for element in elements {
                guard case .scalar(let text, _) = element.content, !element.isNull else {
                    throw ValueComplaint("\(element.kind) in the list on line \(element.line), where a value belongs")
                }
                texts.append(text)
            }
            return .list(texts)
        case .mapping: throw ValueComplaint("a group of keys where a value belongs")
        }
    }

    private mutating func readApps(_ entry: YAMLNode.Entry, file: String) {
        let origin = ConfigurationOrigin.file(path: file, line: entry.line)
        guard case .sequence(let elements) = entry.value.content else {
            problem(origin, "apps", "\(entry.value.kind) where a list belongs; begin each app with \"- id: NAME\"")
            return
        }
        configuration.apps = []
        origins["apps"] = origin
        for (index, element) in elements.enumerated() {
            let path = "apps[\(index)]"
            guard case .mapping(let entries) = element.content else {
                let message = "\(element.kind) where id, accessKey and secret belong"
                problem(.file(path: file, line: element.line), path, message)
                continue
            }
            var app = NodeConfiguration.App(id: "", accessKey: "", secret: "")
            var seen: Set<String> = []
            readApp(entries, of: path, prefix: "", into: &app, seen: &seen, file: file)
            for key in ["id", "accessKey", "secret"] where !seen.contains(key) {
                problem(.file(path: file, line: element.line), "\(path).\(key)", "missing")
            }
            origins[path] = .file(path: file, line: element.line)
            configuration.apps.append(app)
        }
    }

    private mutating func readApp(
        _ entries: [YAMLNode.Entry], of app: String, prefix: String, into result: inout NodeConfiguration.App,
        seen: inout Set<String>, file: String
    ) {
        let keys = ConfigurationKey<NodeConfiguration.App>.all
        for entry in entries {
            let path = prefix + entry.key
            let origin = ConfigurationOrigin.file(path: file, line: entry.line)
            if let key = keys.first(where: { $0.path == path }) {
                seen.insert(path)
                do throws(ValueComplaint) { try key.apply(try value(of: entry.value), &result) } catch {
                    problem(origin, "\(app).\(path)", error.message)
                }
            } else if path == "settings" {
                if case .mapping(let inner) = entry.value.content {
                    readApp(inner, of: app, prefix: "settings.", into: &result, seen: &seen, file: file)
                } else if !entry.value.isNull {
                    problem(origin, "\(app).settings", "\(entry.value.kind) where a group of keys belongs")
                }
            } else {
                problem(origin, "\(app).\(path)", unknown(path, among: keys.map(\.path), level: prefix))
            }
        }
    }

    // MARK: Environment and flags

    private mutating func read(environment: [String: String]) {
        for name in environment.keys.sorted() where name.hasPrefix("PARLOR_") {
            guard let text = environment[name], !Self.otherVariables.contains(name) else { continue }
            if name == Self.appsVariable {
                readApps(text, origin: .variable(name))
            } else if let key = keys.first(where: { $0.variableName == name }) {
                apply(key, text, .variable(name))
            } else {
                let names = keys.map(\.variableName) + [Self.appsVariable] + Self.otherVariables.sorted()
                let nearest = NearestName.of(name, among: names).map { "; did you mean \($0)?" } ?? ""
                problem(.variable(name), "", "not a variable of Parlor\(nearest)")
            }
        }
    }

    private mutating func read(flags: [String: String]) {
        for key in keys {
            if let text = flags[key.flagName] { apply(key, text, .flag("--\(key.flagName)")) }
        }
    }

    private mutating func apply(
        _ key: ConfigurationKey<NodeConfiguration>, _ text: String, _ origin: ConfigurationOrigin
    ) {
        do throws(ValueComplaint) {
            try key.apply(.text(text, quoted: false), &configuration)
            origins[key.path] = origin
        } catch { problem(origin, key.path, error.message) }
    }

    /// `ID:ACCESSKEY:SECRET`, several with commas between: for containers that get their keys by the environment.
    private mutating func readApps(_ text: String, origin: ConfigurationOrigin) {
        configuration.apps = []
        origins["apps"] = origin
        let keys = ConfigurationKey<NodeConfiguration.App>.all
        for (index, element) in text.split(separator: ",").enumerated() {
            let path = "apps[\(index)]"
            let parts = element.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3 else {
                problem(origin, path, "write ID:ACCESSKEY:SECRET, with commas between several")
                continue
            }
            var app = NodeConfiguration.App(id: "", accessKey: "", secret: "")
            for (name, part) in zip(["id", "accessKey", "secret"], parts) {
                guard let key = keys.first(where: { $0.path == name }) else { continue }
                do throws(ValueComplaint) { try key.apply(.text(part, quoted: true), &app) } catch {
                    problem(origin, "\(path).\(name)", error.message)
                }
            }
            origins[path] = origin
            configuration.apps.append(app)
        }
    }

    // MARK: Messages

    private mutating func problem(_ origin: ConfigurationOrigin, _ key: String, _ message: String) {
        problems.append(ConfigurationProblem(origin, key: key, message))
    }

    /// The names on the level where the unknown one stands, and the nearest of all.
    private func unknown(_ path: String, among paths: [String], level: String) -> String {
        if let nearest = NearestName.of(path, among: paths) { return "unknown key; did you mean \(nearest)?" }
        var names: [String] = []
        for candidate in paths where candidate.hasPrefix(level) {
            let name = String(candidate.dropFirst(level.count).prefix { $0 != "." })
            if !names.contains(name) { names.append(name) }
        }
        return "unknown key; here belong \(names.joined(separator: ", "))"
    }
}
