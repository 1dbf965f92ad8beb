#if canImport(MediaTransport)
    import MediaContract
    import MediaTransport
    import MediaWire
#endif

/// What must hold for two associations and whatever happens between them. Run by the fuzzer, and by the unit tests on its corpus.
///
/// The bytes are a script: it delivers what the two ends send each other, changes, loses and repeats it, lets time pass,
/// and slips in datagrams of its own. So it gets to every state of the handshake, though no key is known to it.
struct DTLSExercise: ~Copyable {
    static func run(_ script: [UInt8]) {
        guard var exercise = DTLSExercise(script) else { preconditionFailure("no certificate, or no memory") }
        exercise.play()
    }

    private static let longestScript = 64
    private static let certificates = [
        Certificate.selfSigned(commonName: "client", days: 30), Certificate.selfSigned(commonName: "server", days: 30),
    ]
    private static let contexts = certificates.map { $0.flatMap { DTLSContext(certificate: $0) } }

    private var client: DTLSAssociation
    private var server: DTLSAssociation
    private var script: [UInt8]
    private var place = 0
    private var now = MediaTime(nanoseconds: 1_000_000_000)
    /// What each end sent, the client's at 0, and how much of that was delivered or lost.
    private var sent: [[[UInt8]]] = [[], []]
    private var next = [0, 0]
    private var states: [DTLSAssociation.State] = [.handshaking, .handshaking]
    /// Whether anything came that the other end did not send.
    private var isHonest = true
    private var wasClosed = false

    private init?(_ script: [UInt8]) {
        self.script = script
        guard let clientContext = Self.contexts[0], let serverContext = Self.contexts[1],
            let clientDigest = Self.digest(0), let serverDigest = Self.digest(1),
            let client = DTLSAssociation(
                context: clientContext, role: .client, fingerprints: [serverDigest], now: now)
        else { return nil }
        guard
            let server = DTLSAssociation(context: serverContext, role: .server, fingerprints: [clientDigest], now: now)
        else { return nil }
        self.client = client
        self.server = server
    }

    private static func digest(_ index: Int) -> DTLSFingerprint? {
        let text = certificates[index]?.fingerprint ?? ""
        let digits = text.compactMap(\.hexDigitValue)
        return DTLSFingerprint(
            hash: .sha256,
            bytes: stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }

    private mutating func byte() -> UInt8 {
        guard place < script.count else { return 0 }
        place += 1
        return script[place - 1]
    }

    private mutating func play() {
        client.start(now: now)
        check()
        var steps = 0
        while place < script.count, steps < Self.longestScript {
            steps += 1
            let (action, from) = (byte(), Int(byte() & 1))
            switch action % 10 {
            case 0, 1: if let datagram = take(from) { deliver(datagram, from: from) }
            case 2:
                if var datagram = take(from) {
                    let position = Int(byte()) << 8 | Int(byte())
                    let change = byte()
                    datagram[position % datagram.count] ^= change
                    isHonest = isHonest && change == 0
                    deliver(datagram, from: from)
                }
            case 3:
                if let datagram = take(from) {
                    isHonest = false
                    deliver(Array(datagram[..<(Int(byte()) * datagram.count / 256)]), from: from)
                }
            case 4: _ = take(from)
            case 5: pass(.milliseconds(Int64(byte()) * 20))
            case 6:
                if !sent[from].isEmpty { deliver(sent[from][Int(byte()) % sent[from].count], from: from) }
            case 7:
                isHonest = false
                let length = Int(byte())
                deliver((0..<length).map { _ in byte() }, from: from)
            case 8:
                isHonest = false
                deliver(fragment(), from: from)
            default:
                if byte() % 8 == 0 {
                    wasClosed = true
                    if from == 0 { client.close() } else { server.close() }
                    check()
                }
            }
        }
        finish()
    }

    /// A record of a handshake fragment whose fields are right as often as not.
    private mutating func fragment() -> [UInt8] {
        let type = byte()
        let (sequence, message) = (byte(), byte() & 0x0F)
        let (length, offset) = (Int(byte()) * 4, Int(byte()) * 4)
        let part = (0..<Int(byte())).map { _ in byte() }
        func two(_ number: Int) -> [UInt8] { [UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)] }
        let body = [type, 0] + two(length) + [0, message, 0] + two(offset) + [0] + two(part.count) + part
        return [22, 0xFE, 0xFD, 0, type >> 7, 0, 0, 0, 0, 0, sequence] + two(body.count) + body
    }

    private mutating func take(_ from: Int) -> [UInt8]? {
        guard next[from] < sent[from].count else { return nil }
        next[from] += 1
        return sent[from][next[from] - 1]
    }

    private mutating func deliver(_ datagram: [UInt8], from: Int) {
        datagram.withUnsafeBytes { bytes in
            if from == 0 { server.receive(bytes, now: now) } else { client.receive(bytes, now: now) }
        }
        check()
    }

    private mutating func pass(_ time: MediaDuration) {
        now = now + time
        client.advance(to: now)
        server.advance(to: now)
        for deadline in [client.nextDeadline, server.nextDeadline] { precondition(deadline.map { $0 > now } ?? true) }
        check()
    }

    /// What holds after each step.
    private mutating func check() {
        var buffer = [UInt8](repeating: 0, count: DTLSAssociation.longestDatagram)
        for end in 0...1 {
            var count = 0
            while let length = buffer.withUnsafeMutableBytes({
                end == 0 ? client.takeDatagram(into: $0) : server.takeDatagram(into: $0)
            }) {
                precondition(length > 13 && length <= buffer.count)
                sent[end].append(Array(buffer[..<length]))
                count += 1
            }
            precondition(count <= 16, "more waits than may")
        }
        let current = [client.state, server.state]
        for end in 0...1 {
            switch states[end] {
            case .handshaking: break
            case .connected:
                // What the other end did not send is not authentic; so only its end is an end.
                precondition(current[end] == .connected || current[1 - end] != .connected || wasClosed)
            case .failed, .closed: precondition(current[end] == states[end], "the end is the end")
            }
        }
        precondition((client.nextDeadline != nil) == (current[0] == .handshaking))
        precondition((server.nextDeadline != nil) == (current[1] == .handshaking))
        states = current
    }

    /// From now on the network is a good one.
    private mutating func finish() {
        for _ in 0..<200 {
            var moved = false
            for from in 0...1 {
                while let datagram = take(from) {
                    deliver(datagram, from: from)
                    moved = true
                }
            }
            if moved { continue }
            guard states.contains(.handshaking) else { break }
            pass(.milliseconds(500))
        }
        precondition(!states.contains(.handshaking), "a handshake ends within its limit")
        let keys = (client.takeKeys(), server.takeKeys())
        precondition((keys.0 != nil) == (states[0] == .connected) && (keys.1 != nil) == (states[1] == .connected))
        if let ofClient = keys.0, let ofServer = keys.1 {
            precondition(ofClient.inbound == ofServer.outbound && ofClient.outbound == ofServer.inbound)
        }
        let elapsed = now - MediaTime(nanoseconds: 1_000_000_000)
        if isHonest, !wasClosed, elapsed < .seconds(20) {
            precondition(states == [.connected, .connected], "loss, repetition and disorder are survived")
        }
    }
}
