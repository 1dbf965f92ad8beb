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
            if path == Self.apps.path {
                if let apps = read(Self.apps, entry, file: file) { configuration.apps = apps }
            } else if path == Self.iceServers.path {
                if let servers = read(Self.iceServers, entry, file: file) { configuration.media.iceServers = servers }
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
                let siblings = keys.map(\.path) + Self.listPaths
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

    // MARK: Lists of groups

    /// A key whose value is a list of groups of keys.
    private struct GroupList<Element: Sendable> {
        var path: String
        /// What one is called.
        var name: String
        /// What one without any key is.
        var blank: Element
        /// Keys without which one is nothing.
        var required: [String]
        var keys: [ConfigurationKey<Element>]

        /// The names that stand in an element, without those of groups inside it.
        var names: String {
            let names = keys.map(\.path).filter { !$0.contains(".") }
            return names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
        }
    }

    private static let apps = GroupList(
        path: "apps", name: "app", blank: NodeConfiguration.App(id: "", accessKey: "", secret: ""),
        required: ["id", "accessKey", "secret"], keys: ConfigurationKey<NodeConfiguration.App>.all)
    private static let iceServers = GroupList(
        path: "media.iceServers", name: "server", blank: NodeConfiguration.ICEServer(), required: ["urls"],
        keys: ConfigurationKey<NodeConfiguration.ICEServer>.all)

    /// Those of all lists, which are no keys with one value.
    private static let listPaths = [iceServers.path, apps.path]

    /// `nil`: it is no list. What is wrong with an element is a problem, and the element counts all the same.
    private mutating func read<Element>(
        _ list: GroupList<Element>, _ entry: YAMLNode.Entry, file: String
    ) -> [Element]? {
        let origin = ConfigurationOrigin.file(path: file, line: entry.line)
        guard case .sequence(let elements) = entry.value.content else {
            let first = list.keys.first.map { "\"- \($0.path): \($0.placeholder)\"" } ?? "-"
            problem(
                origin, list.path, "\(entry.value.kind) where a list belongs; begin each \(list.name) with \(first)")
            return nil
        }
        origins[list.path] = origin
        var result: [Element] = []
        for (index, element) in elements.enumerated() {
            let path = "\(list.path)[\(index)]"
            let origin = ConfigurationOrigin.file(path: file, line: element.line)
            guard case .mapping(let entries) = element.content else {
                problem(origin, path, "\(element.kind) where \(list.names) belong")
                continue
            }
            var one = list.blank
            var seen: Set<String> = []
            read(entries, of: path, prefix: "", list.keys, into: &one, seen: &seen, file: file)
            for key in list.required where !seen.contains(key) { problem(origin, "\(path).\(key)", "missing") }
            origins[path] = origin
            result.append(one)
        }
        return result
    }

    private mutating func read<Element>(
        _ entries: [YAMLNode.Entry], of element: String, prefix: String, _ keys: [ConfigurationKey<Element>],
        into result: inout Element, seen: inout Set<String>, file: String
    ) {
        for entry in entries {
            let path = prefix + entry.key
            let origin = ConfigurationOrigin.file(path: file, line: entry.line)
            if let key = keys.first(where: { $0.path == path }) {
                seen.insert(path)
                do throws(ValueComplaint) { try key.apply(try value(of: entry.value), &result) } catch {
                    problem(origin, "\(element).\(path)", error.message)
                }
            } else if keys.contains(where: { $0.path.hasPrefix(path + ".") }) {
                if case .mapping(let inner) = entry.value.content {
                    read(inner, of: element, prefix: path + ".", keys, into: &result, seen: &seen, file: file)
                } else if !entry.value.isNull {
                    problem(origin, "\(element).\(path)", "\(entry.value.kind) where a group of keys belongs")
                }
            } else {
                problem(origin, "\(element).\(path)", unknown(path, among: keys.map(\.path), level: prefix))
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
