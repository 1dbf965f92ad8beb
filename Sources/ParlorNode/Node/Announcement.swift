import MediaWire

/// What newcomers are told while names move: a change is taken only if something is left to announce. Pure.
package struct Announcement: Sendable {
    package private(set) var addresses: NodeAddresses

    /// - Parameter addresses: as at the start; their warnings have been said.
    package init(_ addresses: NodeAddresses) { self.addresses = addresses }

    /// Takes what the configuration comes to now, or leaves what there was. Returns lines for the log: what is announced from here
    /// on, if that has changed, and what keeps addresses from it.
    package mutating func take(_ latest: NodeAddresses) -> [String] {
        if let failure = latest.failure { return ["\(failure); announced as before: \(Self.words(addresses))"] }
        // What was wrong before was said before.
        var lines = latest.warnings.filter { !addresses.warnings.contains($0) }
        if latest.candidates != addresses.candidates {
            lines.append("announced to those who join or restart from here on: \(Self.words(latest))")
        }
        addresses = latest
        return lines
    }

    private static func words(_ addresses: NodeAddresses) -> String {
        addresses.candidates.map(\.host).joined(separator: ", ")
    }
}
