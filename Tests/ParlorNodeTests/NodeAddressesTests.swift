import MediaWire
import ParlorNode
import RoomControl
import Testing

/// Where the media sockets listen, and what clients are told.
struct NodeAddressesTests {
    private func address(_ text: String) throws -> TransportAddress {
        try #require(TransportAddress(host: text, port: 0))
    }

    private func addresses(_ texts: String...) throws -> [TransportAddress] { try texts.map(address) }

    private func media(
        listen: [String]? = nil, announce: [AnnouncedHost]? = nil
    ) throws -> NodeConfiguration.Media {
        var media = NodeConfiguration().media
        media.listen = try listen?.map(address)
        media.announce = announce
        return media
    }

    @Test func allAddressesByDefault() throws {
        let machine = try addresses("127.0.0.1", "192.0.2.7", "192.0.2.8", "::1", "2001:db8::7")
        let found = NodeAddresses(try media(), machine: machine)
        #expect(found.ipv4?.host == "0.0.0.0")
        #expect(found.ipv6?.host == "::")
        #expect(found.candidates.map(\.host) == ["192.0.2.7", "2001:db8::7"])
        // A plain client on this machine is told loopback.
        #expect(found.announced.map(\.host) == ["192.0.2.7", "2001:db8::7", "127.0.0.1", "::1"])
        #expect(found.warnings.isEmpty && found.failure == nil)
    }

    @Test func withoutIPv6NoneIsAskedFor() throws {
        let found = NodeAddresses(try media(), machine: try addresses("127.0.0.1"))
        #expect(found.ipv6 == nil)
        #expect(found.announced.map(\.host) == ["127.0.0.1"])
        #expect(found.candidates.map(\.host) == ["127.0.0.1"], "better than nothing")
        #expect(found.warnings.count == 1 && found.failure == nil)
    }

    /// Behind a NAT that maps one to one, the public address is none of the machine's.
    @Test func whatIsConfiguredWins() throws {
        let found = NodeAddresses(
            try media(listen: ["0.0.0.0"], announce: [.address(address("198.51.100.1"))]),
            machine: try addresses("127.0.0.1", "10.0.0.5", "::1"))
        #expect(found.ipv6 == nil)
        #expect(found.candidates.map(\.host) == ["198.51.100.1"])
        #expect(found.announced.map(\.host) == ["198.51.100.1", "127.0.0.1"])
    }

    @Test func publicAndLocalAtOnce() throws {
        let machine = try addresses("127.0.0.1", "10.0.0.5", "10.1.0.5", "::1", "fd00::5")
        let both = try media(announce: [.address(address("198.51.100.1")), .auto])
        #expect(
            NodeAddresses(both, machine: machine).candidates.map(\.host) == ["198.51.100.1", "10.0.0.5", "fd00::5"])
        let everything = try media(announce: [.all, .address(address("10.1.0.5"))])
        #expect(
            NodeAddresses(everything, machine: machine).candidates.map(\.host) == [
                "10.0.0.5", "10.1.0.5", "fd00::5", "127.0.0.1", "::1",
            ])
    }

    @Test func namesAreAnnouncedAsAddresses() throws {
        let machine = try addresses("127.0.0.1", "10.0.0.5")
        let configuration = try media(announce: [.name("media.example.com"), .name("other.example.com")])
        let found = NodeAddresses(
            configuration, machine: machine,
            names: [
                "media.example.com": .addresses(try addresses("203.0.113.9", "2001:db8::9")),
                "other.example.com": .nothing("Name or service not known"),
            ])
        // There is no IPv6 to receive on.
        #expect(found.candidates.map(\.host) == ["203.0.113.9"])
        #expect(found.warnings == ["other.example.com is not announced: Name or service not known"])
        #expect(found.failure == nil)
    }

    @Test func nothingToAnnounceIsAFailure() throws {
        let machine = try addresses("127.0.0.1", "10.0.0.5")
        let unknown = NodeAddresses(
            try media(announce: [.name("a.example"), .name("b.example")]), machine: machine,
            names: [
                "a.example": .nothing("Name or service not known"),
                "b.example": .addresses(try addresses("2001:db8::9")),
            ])
        #expect(
            unknown.failure == "nothing can be announced of a.example, b.example; "
                + "a.example is not announced: Name or service not known; "
                + "b.example is not announced: the node listens on no IPv6 address")
        #expect(NodeAddresses(try media(announce: [.name("a.example")]), machine: machine).failure != nil)
    }

    /// A machine that tells nothing of itself has loopback at least.
    @Test func loopbackIsAlwaysThere() throws {
        for announce in [nil, [AnnouncedHost.all]] {
            let found = NodeAddresses(try media(announce: announce), machine: [])
            #expect(found.candidates.map(\.host) == ["127.0.0.1"] && found.announced == found.candidates)
            #expect(found.failure == nil && found.ipv6 == nil && found.warnings.count == 1)
        }
    }

    @Test func developmentAnnouncesTheMachine() throws {
        let development = NodeConfiguration.development
        let found = NodeAddresses(development.media, machine: try addresses("127.0.0.1", "10.0.0.5", "::1"))
        #expect(found.ipv4?.host == "0.0.0.0" && found.ipv6?.host == "::")
        #expect(found.candidates.map(\.host) == ["10.0.0.5", "127.0.0.1", "::1"])
        #expect(found.warnings.isEmpty)
        #expect(development.http.listen.isLoopback)
    }

    @Test func theResolverIsAsked() {
        guard case .addresses(let addresses) = HostNames.look(up: "localhost") else {
            Issue.record("localhost has no address here")
            return
        }
        #expect(addresses.allSatisfy { $0.isLoopback && $0.port == 0 } && !addresses.isEmpty)
        // RFC 6761, section 6.4: this name never exists.
        guard case .nothing(let reason) = HostNames.look(up: "parlor.invalid") else {
            Issue.record("an invalid name has an address")
            return
        }
        #expect(!reason.isEmpty)
        #expect(HostNames.look(up: [.auto, .all, .name("localhost")]).keys.sorted() == ["localhost"])
    }

    /// A name's last good addresses stay; what changes is said once.
    @Test func namesAreFollowed() throws {
        let (old, new) = (try addresses("203.0.113.9", "203.0.113.8"), try addresses("203.0.113.7"))
        var names = AnnouncedNames(["a.example": .addresses(old), "b.example": .nothing("not known")])
        func take(_ a: HostNames.Found, _ b: HostNames.Found) -> [String] {
            names.take(["a.example": a, "b.example": b])
        }
        #expect(take(.addresses(old), .nothing("not known")) == [], "a warning at start said it")
        #expect(take(.addresses(old.reversed()), .nothing("not known")) == [], "the order turns")
        #expect(names.found["a.example"] == .addresses(old))

        let gone = "a.example is not found any more (try again); its addresses of before still count"
        #expect(take(.nothing("try again"), .nothing("not known")) == [gone])
        #expect(take(.nothing("try again"), .nothing("another")) == [])
        #expect(names.found["a.example"] == .addresses(old))
        #expect(take(.addresses(old), .nothing("")) == ["a.example is found again, at the same addresses"])
        #expect(take(.nothing("try again"), .nothing("")) == [gone])

        let both = [
            "a.example is at 203.0.113.7 now", "b.example is at 203.0.113.9, 203.0.113.8 now",
        ]
        #expect(take(.addresses(new), .addresses(old)) == both)
        #expect(names.found == ["a.example": .addresses(new), "b.example": .addresses(old)])
        #expect(take(.addresses(new), .addresses(old)) == [])
    }

    /// The log says that an address is announced only if it is, and why if not.
    @Test func whatIsSaidToBeAnnouncedIs() throws {
        let machine = try addresses("127.0.0.1", "10.0.0.5")
        let names: [AnnouncedHost] = [.name("a.example"), .name("b.example")]
        func media(_ more: AnnouncedHost...) throws -> NodeConfiguration.Media {
            try self.media(announce: names + more)
        }
        func found(_ a: String..., b: String...) throws -> [String: HostNames.Found] {
            ["a.example": .addresses(try a.map(address)), "b.example": .addresses(try b.map(address))]
        }
        func take(
            _ found: [String: HostNames.Found], _ media: NodeConfiguration.Media, _ announcement: inout Announcement
        ) -> [String] {
            let lines = announcement.take(NodeAddresses(media, machine: machine, names: found))
            return lines
        }
        let alone = try media()
        var announcement = Announcement(
            NodeAddresses(alone, machine: machine, names: try found("203.0.113.9", b: "2001:db8::9")))
        let said = "announced to those who join or restart from here on: "
        #expect(try take(found("203.0.113.9", b: "2001:db8::8"), alone, &announcement) == [], "its warning was said")
        #expect(try take(found("203.0.113.7", b: "2001:db8::8"), alone, &announcement) == [said + "203.0.113.7"])
        #expect(announcement.addresses.candidates.map(\.host) == ["203.0.113.7"])

        // Nothing is left: what there was stays.
        let failure = try take(found("2001:db8::7", b: "2001:db8::8"), alone, &announcement)
        #expect(
            failure == [
                "nothing can be announced of a.example, b.example; "
                    + "a.example is not announced: the node listens on no IPv6 address; "
                    + "b.example is not announced: the node listens on no IPv6 address; announced as before: 203.0.113.7"
            ])
        #expect(announcement.addresses.candidates.map(\.host) == ["203.0.113.7"])
        #expect(
            announcement.addresses.announced.map(\.host) == ["203.0.113.7", "127.0.0.1"], "plain clients, too")
        #expect(try take(found("203.0.113.7", b: "2001:db8::8"), alone, &announcement) == [], "back where it was")
        #expect(
            try take(found("2001:db8::7", b: "203.0.113.6"), alone, &announcement) == [
                "a.example is not announced: the node listens on no IPv6 address", said + "203.0.113.6",
            ])

        // What another entry announces already is no change.
        let with = try media(.address(address("203.0.113.5")))
        var both = Announcement(
            NodeAddresses(with, machine: machine, names: try found("203.0.113.5", b: "203.0.113.4")))
        #expect(both.addresses.candidates.map(\.host) == ["203.0.113.5", "203.0.113.4"])
        #expect(try take(found("203.0.113.5", b: "203.0.113.5"), with, &both) == [said + "203.0.113.5"])
        #expect(try take(found("203.0.113.5", b: "2001:db8::4"), with, &both).count == 1)
        #expect(both.addresses.candidates.map(\.host) == ["203.0.113.5"])
    }

    @Test func candidatesArePrinted() throws {
        var settings = ConnectionSettings(
            announced: try addresses("192.0.2.7", "2001:db8::7"), firstPort: 7900, tcp: true)
        #expect(
            CandidateTable.lines(settings, workers: 2) == [
                "WORKER  ADDRESS             PROTOCOLS",
                "0       192.0.2.7:7900      udp, tcp",
                "0       [2001:db8::7]:7900  udp, tcp",
                "1       192.0.2.7:7901      udp, tcp",
                "1       [2001:db8::7]:7901  udp, tcp",
            ])
        settings.tcp = false
        let many = CandidateTable.lines(settings, workers: 64)
        #expect(many.count == 1 + 24 + 1 && many[1] == "0       192.0.2.7:7900      udp")
        #expect(many.last == "and 104 more: each worker has the next port")
    }
}
