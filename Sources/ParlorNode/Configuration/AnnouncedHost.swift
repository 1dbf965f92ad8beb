package import MediaWire

/// An entry of `media.announce`: where clients are told to send media.
package enum AnnouncedHost: Hashable, Sendable, CustomStringConvertible {
    /// A literal, not necessarily one of the machine's: behind a NAT that maps one to one it is the public one. Its port is 0.
    case address(TransportAddress)
    /// Looked up at start and once a minute: clients are told literals only.
    case name(String)
    /// What `media.listen` comes to: of each family the first address that others can reach.
    case auto
    /// Every address of the machine that is listened on, loopback too.
    case all

    /// How many entries there may be.
    package static let maximum = 16

    /// Whether it is one that somebody chose, and not what the machine happens to have.
    var isParticular: Bool {
        switch self {
        case .address, .name: true
        case .auto, .all: false
        }
    }

    package var description: String {
        switch self {
        case .address(let address): address.host
        case .name(let name): name
        case .auto: "auto"
        case .all: "all"
        }
    }

    /// Whether the text can be the name of a host (RFC 1123, section 2.1; underscores occur). One that ends in a number would be a mistyped
    /// address.
    static func isName(_ text: String) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let last = labels.last, !last.utf8.allSatisfy({ (48...57).contains($0) }) else { return false }
        return labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.utf8.allSatisfy(Numbers.isNameByte)
                && label.utf8.first != UInt8(ascii: "-") && label.utf8.last != UInt8(ascii: "-")
        }
    }
}

extension ValueReader where T == [AnnouncedHost]? {
    /// Literals, names and the two words; `auto` alone is the default.
    static let announced = ValueReader { (value) throws(ValueComplaint) in
        var hosts: [AnnouncedHost] = []
        for element in value.elements() {
            let host = try host(element)
            if !hosts.contains(host) { hosts.append(host) }
        }
        guard !hosts.isEmpty else {
            throw ValueComplaint("no address in the list; leave the key out for the default")
        }
        guard hosts.count <= AnnouncedHost.maximum else {
            throw ValueComplaint("\(hosts.count) addresses; give at most \(AnnouncedHost.maximum)")
        }
        return hosts == [.auto] ? nil : hosts
    }

    private static func host(_ element: String) throws(ValueComplaint) -> AnnouncedHost {
        switch element {
        case "auto": return .auto
        case "all": return .all
        default: break
        }
        guard let address = TransportAddress(host: element, port: 0) else {
            guard AnnouncedHost.isName(element) else {
                throw ValueComplaint(
                    "\"\(element)\" is neither an address nor a name; write 192.0.2.7, 2001:db8::7, media.example.com, "
                        + "auto or all")
            }
            return .name(element.lowercased())
        }
        guard !address.isMulticast else { throw ValueComplaint("\(element) is a multicast address") }
        guard !address.isUnspecified else {
            throw ValueComplaint("\(element) means every address; name those that clients can reach, or write all")
        }
        return .address(address)
    }
}
