import MediaContract
import MediaWire
import RoomControl
import RoomProtocol
import Testing

@Suite struct HostCandidateTests {
    private static let first = TransportAddress(ipv4: 0xC633_6401, port: 0)  // 198.51.100.1
    private static let second = TransportAddress(high: 0x2001_0DB8_0000_0000, low: 0x10, port: 9, isIPv4: false)

    @Test func oneForEachAddress() {
        let candidates = HostCandidates.candidates(
            policy: .preferUDP, announced: [Self.first, Self.second], port: 7882)
        // RFC 8445, section 5.1.2.1: 126 * 2^24 + 65535 * 2^8 + 255, as browsers give their first host candidate.
        #expect(
            candidates == [
                ICECandidate(
                    foundation: "udp1", priority: 2_130_706_431, ip: "198.51.100.1", protocol: "udp", port: 7882),
                ICECandidate(
                    foundation: "udp2", priority: 2_130_706_175, ip: "2001:db8::10", protocol: "udp", port: 7882),
            ])
        #expect(candidates.allSatisfy { $0.type == "host" && $0.tcpType == nil })
        #expect(
            HostCandidates.candidates(policy: .forceUDP, announced: [Self.first, Self.second], port: 7882) == candidates
        )
    }

    @Test func whoWantsTCPGetsNoUDP() {
        #expect(HostCandidates.candidates(policy: .forceTCP, announced: [Self.first], port: 7882).isEmpty)
    }

    /// RFC 6544, section 4.2, with the type preference that browsers have: 90 * 2^24 + (4 * 2^13 + 8191) * 2^8 + 255.
    @Test func tcpStandsBehindUDP() {
        func candidates(_ policy: CandidatePolicy, tcp: Bool = true) -> [ICECandidate] {
            HostCandidates.candidates(
                policy: policy, announced: [Self.first, Self.second, Self.first], port: 7882, tcp: tcp)
        }
        let tcp = [
            ICECandidate(
                foundation: "tcp1", priority: 1_520_435_199, ip: "198.51.100.1", protocol: "tcp", port: 7882,
                tcpType: "passive"),
            ICECandidate(
                foundation: "tcp2", priority: 1_520_434_943, ip: "2001:db8::10", protocol: "tcp", port: 7882,
                tcpType: "passive"),
        ]
        let udp = candidates(.forceUDP)
        #expect(udp.map(\.protocol) == ["udp", "udp"] && udp == candidates(.preferUDP, tcp: false))
        #expect(candidates(.forceTCP) == tcp)
        #expect(candidates(.preferUDP) == udp + tcp)
        #expect(candidates(.forceTCP, tcp: false).isEmpty)
        let all = candidates(.preferUDP)
        #expect(Set(all.map(\.foundation)).count == all.count)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.priority > $1.priority })
        #expect(HostCandidates.candidates(policy: .preferUDP, announced: [Self.first], port: 0, tcp: true).isEmpty)
    }

    /// The settings of a node say the same for each of its workers.
    @Test func workersHaveTheirPorts() {
        var settings = ConnectionSettings(announced: [Self.first], firstPort: 7882)
        #expect(settings.candidates(policy: .preferUDP, worker: 2).map(\.port) == [7884])
        settings.tcp = true
        let both = settings.candidates(policy: .preferUDP, worker: 2)
        #expect(both.map(\.protocol) == ["udp", "tcp"] && both.allSatisfy { $0.port == 7884 })
    }

    @Test func whatCannotBeReachedIsLeftOut() {
        let mapped = TransportAddress(high: 0, low: 0xFFFF_C633_6401, port: 1, isIPv4: false)
        let multicast = TransportAddress(ipv4: 0xE000_0001, port: 0)
        let candidates = HostCandidates.candidates(
            policy: .preferUDP,
            announced: [.unspecified, Self.first, multicast, mapped, Self.first.with(port: 5), Self.second], port: 1)
        #expect(candidates.map(\.ip) == ["198.51.100.1", "2001:db8::10"])
        #expect(HostCandidates.candidates(policy: .preferUDP, announced: [Self.first], port: 0).isEmpty)
        let many = (1...UInt32(40)).map { TransportAddress(ipv4: $0, port: 0) }
        let most = HostCandidates.candidates(policy: .preferUDP, announced: many, port: 1)
        #expect(most.count == HostCandidates.maximum)
        #expect(Set(most.map(\.foundation)).count == most.count)
        #expect(zip(most, most.dropFirst()).allSatisfy { $0.priority > $1.priority })
    }

    @Test func credentials() {
        var random = RandomSource.seeded(5)
        let some = (0..<1000).map { _ in ICECredentials(using: &random) }
        for one in some {
            #expect(one.usernameFragment.wholeMatch(of: /[0-9a-f]{16}/) != nil)
            #expect(one.password.wholeMatch(of: /[0-9a-f]{32}/) != nil)
        }
        #expect(Set(some.map(\.usernameFragment)).count == 1000)
        #expect(Set(some.map(\.password)).count == 1000)
        // Small numbers keep their zeros.
        var zero = Zero()
        #expect(ICECredentials(using: &zero).usernameFragment == "0000000000000000")
        let parameters = some[0].parameters
        #expect(parameters.usernameFragment == some[0].usernameFragment && parameters.password == some[0].password)
        #expect(parameters.iceLite)
        var dumped = ""
        dump(some[0], to: &dumped)
        #expect(!"\(some[0])\([some[0]])\(dumped)".contains(some[0].password))
    }

    private struct Zero: RandomNumberGenerator {
        mutating func next() -> UInt64 { 0 }
    }
}
