import MediaWire

/// What the names of `media.announce` mean while the node runs: an address may move, and a resolver may fail for a while. Pure.
package struct AnnouncedNames: Sendable {
    /// The last good word about each name.
    package private(set) var found: [String: HostNames.Found]
    /// Names of which it is known that the resolver fails, so that it is said once.
    private var failing: Set<String> = []

    /// - Parameter found: what was found at start; what was not is in the warnings of then.
    package init(_ found: [String: HostNames.Found]) {
        self.found = found
        for case (let name, .nothing) in found { failing.insert(name) }
    }

    /// What came of looking again. Returns lines for the log; empty: nothing has changed. What of it is announced is the
    /// `Announcement`'s to say.
    package mutating func take(_ latest: [String: HostNames.Found]) -> [String] {
        var lines: [String] = []
        for (name, outcome) in latest.sorted(by: { $0.key < $1.key }) {
            switch outcome {
            case .nothing(let reason):
                // Clients that know the old addresses may still reach them, and there are no others.
                guard failing.insert(name).inserted else { continue }
                lines.append("\(name) is not found any more (\(reason)); its addresses of before still count")
            case .addresses(let addresses):
                let wasFailing = failing.remove(name) != nil
                // Resolvers hand out the same addresses in turning order, which means nothing.
                let isNew = Set(addresses) != Set(present(name))
                if isNew { found[name] = outcome }
                guard isNew || wasFailing else { continue }
                let hosts = addresses.map(\.host).joined(separator: ", ")
                lines.append(
                    isNew
                        ? "\(name) is at \(hosts) now"
                        : "\(name) is found again, at the same addresses")
            }
        }
        return lines
    }

    private func present(_ name: String) -> [TransportAddress] {
        guard case .addresses(let addresses)? = found[name] else { return [] }
        return addresses
    }
}
