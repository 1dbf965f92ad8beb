import MediaContract
import MediaTransport
import MediaWire

/// A client's checker, a node that is ICE-lite, and paths between them of which each has its delay; in virtual time.
struct ICENetwork {
    struct Path {
        var path: ICEPath
        /// One way. `nil`: nothing arrives.
        var there: MediaDuration?
        var back: MediaDuration?
    }

    private struct Arrival {
        var time: MediaTime
        var order: Int
        var path: ICEPath
        var isRequest: Bool
        var bytes: [UInt8]
    }

    var checker: ICEChecker
    var paths: [Path]
    var random: SeededRandom
    private(set) var now = MediaTime(nanoseconds: 1_000_000_000)
    let start = MediaTime(nanoseconds: 1_000_000_000)
    /// What the node answers with; a node that was restarted knows both for a while.
    var passwords: [String: ICEPassword] = [:]
    /// The path of the last nomination that the node saw, and each of them.
    private(set) var nominations: [(time: MediaDuration, path: ICEPath)] = []
    /// When which path was checked.
    private(set) var checks: [(time: MediaDuration, path: ICEPath)] = []
    private(set) var states: [ICEChecker.State] = [.checking]
    private var underway: [Arrival] = []
    private var order = 0
    /// What part of the datagrams is lost.
    var loss = 0.0
    /// Changes each answer on its way.
    var tampers: (([UInt8]) -> [UInt8])?

    static let local = "0123456789abcdef"

    init(_ paths: [Path], priorities: [UInt32]? = nil, seed: UInt64 = 8445) {
        random = SeededRandom(seed: seed)
        self.paths = paths
        let remote = ICECredentials(using: &random)
        passwords[remote.usernameFragment] = ICEPassword(remote.password)
        checker = ICEChecker(localFragment: Self.local, remote: remote, now: start, using: &random)
        for (index, path) in paths.enumerated() {
            checker.add(path.path, priority: priorities?[index] ?? UInt32(1000 - index))
        }
    }

    var elapsed: MediaDuration { now - start }

    /// New credentials at both ends; the checker begins anew.
    mutating func restart() {
        let remote = ICECredentials(using: &random)
        passwords[remote.usernameFragment] = ICEPassword(remote.password)
        checker.restart(localFragment: Self.local, remote: remote, now: now)
    }

    mutating func run(until limit: MediaDuration, stopWhen: (ICENetwork) -> Bool = { _ in false }) {
        let end = start + limit
        checker.advance(to: now, using: &random)
        collect()
        while !stopWhen(self) {
            let arrival = underway.min { ($0.time, $0.order) < ($1.time, $1.order) }
            guard let next = [arrival?.time, checker.nextDeadline].compactMap(\.self).min(), next <= end else {
                now = end
                return
            }
            now = max(now, next)
            if let arrival, arrival.time <= now {
                underway.removeAll { $0.order == arrival.order }
                deliver(arrival)
            } else {
                checker.advance(to: now, using: &random)
            }
            if checker.state != states.last { states.append(checker.state) }
            collect()
        }
    }

    private mutating func collect() {
        var buffer = [UInt8](repeating: 0, count: 600)
        while let (path, length) = buffer.withUnsafeMutableBytes({ checker.takeCheck(into: $0) }) {
            checks.append((elapsed, path))
            send(Array(buffer[..<length]), over: path, isRequest: true)
        }
    }

    private mutating func send(_ bytes: [UInt8], over path: ICEPath, isRequest: Bool) {
        guard let known = paths.first(where: { $0.path == path }), let delay = isRequest ? known.there : known.back,
            Double.random(in: 0..<1, using: &random) >= loss
        else { return }
        underway.append(Arrival(time: now + delay, order: order, path: path, isRequest: isRequest, bytes: bytes))
        order += 1
    }

    private mutating func deliver(_ arrival: Arrival) {
        guard arrival.isRequest else {
            let bytes = tampers?(arrival.bytes) ?? arrival.bytes
            bytes.withUnsafeBytes { _ = checker.receive($0, over: arrival.path, now: now, using: &random) }
            return
        }
        guard let request = STUNBindingRequest.parse(arrival.bytes.span.bytes) else { return }
        let name = String(decoding: arrival.bytes[request.usernameRange], as: UTF8.self)
        let parts = name.split(separator: ":")
        guard parts.count == 2, parts[1] == Self.local, let password = passwords[String(parts[0])],
            arrival.bytes.withUnsafeBytes({ password.verifies($0, request) })
        else { return }
        if request.usesCandidate { nominations.append((elapsed, arrival.path)) }
        var answer = [UInt8](repeating: 0, count: 100)
        let mapped = TransportAddress(ipv4: 0x0A00_0001, port: UInt16(arrival.path.socket))
        let length = arrival.bytes.withUnsafeBytes { datagram in
            answer.withUnsafeMutableBytes {
                password.writeResponse(to: request, in: datagram, mapped: mapped, into: $0)
            }
        }
        guard let length else { return }
        send(Array(answer[..<length]), over: arrival.path, isRequest: false)
    }
}
