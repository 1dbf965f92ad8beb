import CNet
import MediaContract
import MediaEngine
import MediaTransport
import MediaWire
import Testing

/// How a client of the engine reaches it.
enum LoopbackLink {
    case udp(Loopback, TestSender, TestReceiver, remote: parlor_address)
    case tcp(TestStream)

    init(udp address: TransportAddress) throws {
        let remote = parlor_address(
            high: address.high, low: address.low, port: address.port, is_ipv4: address.isIPv4 ? 1 : 0)
        let socket = try Loopback(address.isIPv4 ? Loopback.ipv4 : Loopback.ipv6, receiveBuffer: 4 << 20, gro: true)
        self = .udp(socket, try TestSender(), try TestReceiver(), remote: remote)
    }

    func send(_ datagrams: [[UInt8]]) throws {
        switch self {
        case .tcp(let stream): try stream.send(datagrams.flatMap(TestStream.frame))
        case .udp(let socket, let sender, _, let remote):
            var rest = datagrams.map { [$0] }
            while !rest.isEmpty {
                let result = try sender.send(Array(rest.prefix(32)), to: remote, from: socket)
                if result == PARLOR_WOULD_BLOCK {
                    try #require(socket.wait(for: PARLOR_WRITABLE) != 0)
                    continue
                }
                try #require(result > 0)
                rest.removeFirst(Int(result))
            }
        }
    }

    /// What is there, or comes within a moment.
    func receive() throws -> [[UInt8]] {
        switch self {
        case .tcp(let stream):
            _ = stream.wait(PARLOR_READABLE, seconds: 0.05)
            stream.read()
            return stream.takeFrames()
        case .udp(let socket, _, let receiver, let remote):
            guard socket.wait(for: PARLOR_READABLE, seconds: 0.05) != 0 else { return [] }
            // As every ICE agent: what comes from elsewhere is nothing of the candidate's (RFC 8445, section 7.2.5.2.1).
            return try receiver.receive(1, on: socket).filter { $0.source.isEqual(remote) }.map(\.bytes)
        }
    }
}

/// A WebRTC client of the engine on loopback: checks, a real DTLS handshake, SRTP both ways, over UDP or TCP.
final class WebRTCLoopbackPeer {
    private(set) var link: LoopbackLink
    let peer: PeerID
    let transport: TransportID
    private let credentials: ICECredentials
    private var association: DTLSAssociation
    private var random = SystemRandomNumberGenerator()
    private var hasStarted = false
    private var isConnected = false
    private var sealer = SRTPSealer()
    private var opener = SRTPOpener()
    private var batch = SRTPBatch(capacity: 1, backend: .evp)
    private var tagLength = 0

    private(set) var answers = 0
    /// Indices that the payloads of opened packets carry, in order of arrival.
    private(set) var indices: [Int] = []

    static let nodeCertificate = Certificate.selfSigned(commonName: "node", days: 10)
    private static let ownCertificate = Certificate.selfSigned(commonName: "client", days: 10)

    static func dtls() throws -> DTLSContext {
        let certificate = try #require(nodeCertificate)
        return try #require(DTLSContext(certificate: certificate))
    }

    private static func fingerprint(_ certificate: Certificate) throws -> DTLSFingerprint {
        let bytes = certificate.fingerprint.split(separator: ":").compactMap { UInt8($0, radix: 16) }
        return try #require(DTLSFingerprint(hash: .sha256, bytes: bytes))
    }

    private static func clock() -> MediaTime { MediaTime(nanoseconds: parlor_monotonic_time()) }

    init(number: UInt64, link: LoopbackLink, engine: Engine) throws {
        self.link = link
        peer = PeerID(number)
        transport = TransportID(number)
        credentials = ICECredentials(
            usernameFragment: "00000000" + String(number + 0x1000_0000, radix: 16), password: "0123456789abcdef01234567"
        )
        let own = try #require(Self.ownCertificate)
        let node = try #require(Self.nodeCertificate)
        guard let context = DTLSContext(certificate: own),
            let association = DTLSAssociation(
                context: context, role: .client,
                fingerprints: [try Self.fingerprint(node)],
                now: Self.clock())
        else { throw Failed() }
        self.association = association
        engine.post(.addPeer(peer, isolation: IsolationKey(1)), to: 0)
        engine.post(
            .addWebRTCTransport(
                WebRTCTransportSpec(
                    id: transport, peer: peer, credentials: credentials, role: .server,
                    fingerprints: [try Self.fingerprint(own)],
                    localSSRC: UInt32(truncatingIfNeeded: 0x7000_0000 + number), cname: "node")), to: 0)
    }

    struct Failed: Error {}

    // MARK: Connecting

    func check(nominates: Bool = true) throws {
        var bytes = [UInt8](repeating: 0, count: 256)
        let length = bytes.withUnsafeMutableBytes { buffer in
            ICEPassword(credentials.password).writeRequest(
                transactionID: STUNTransactionID(using: &random),
                username: Array("\(credentials.usernameFragment):them".utf8), priority: 1, tieBreaker: 7,
                nominates: nominates, into: buffer) ?? 0
        }
        try link.send([Array(bytes[..<length])])
    }

    /// Checks, and shakes hands, until keys are agreed.
    func connect() throws {
        try check()
        try until { self.isConnected }
    }

    /// From now on over another link, which a check makes the one in use.
    func move(to other: LoopbackLink) throws {
        link = other
        let before = answers
        try check()
        try until { self.answers > before }
    }

    private func until(_ condition: () -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(10)
        while !condition() {
            try #require(ContinuousClock.now < deadline, "not connected in time")
            try receive()
            association.advance(to: Self.clock())
            try pump()
        }
    }

    private func pump() throws {
        var room = [UInt8](repeating: 0, count: 1500)
        while let length = room.withUnsafeMutableBytes({ association.takeDatagram(into: $0) }) {
            try link.send([Array(room[..<length])])
        }
        guard !isConnected, association.state == .connected, let keys = association.takeKeys(),
            let sealer = SRTPSealer(key: keys.outbound), let opener = SRTPOpener(key: keys.inbound)
        else { return }
        self.sealer = sealer
        self.opener = opener
        isConnected = true
        tagLength = keys.outbound.profile.tagLength
    }

    // MARK: Media

    /// Sealed VP8 packets of 1000 bytes; bytes 7 ... 10 of the payload carry the index.
    func publish(_ numbers: Range<UInt64>, ssrc: UInt32) throws {
        try link.send(try numbers.map { try packet(index: $0, ssrc: ssrc) })
    }

    private func packet(index: UInt64, ssrc: UInt32) throws -> [UInt8] {
        let size = 1000
        var packet = [UInt8](repeating: 0, count: 12 + size + 16)
        let length = try packet.withUnsafeMutableBytes { buffer -> Int in
            var writer = RTPHeaderWriter(
                into: buffer, marker: true, payloadType: 96, sequenceNumber: UInt16(truncatingIfNeeded: index),
                timestamp: UInt32(truncatingIfNeeded: index &* 3000), ssrc: ssrc, twoByte: false)
            guard let header = writer.finish(), let base = buffer.baseAddress else { throw Failed() }
            // RFC 7741: descriptor with S set, then a frame tag; every thousandth is a key frame.
            let start: [UInt8] = [0x10, index % 1000 == 0 ? 0x10 : 0x11, 0, 0, 0x9D, 0x01, 0x2A]
            for (offset, byte) in start.enumerated() { buffer[header + offset] = byte }
            for offset in 0..<4 { buffer[header + 7 + offset] = UInt8(truncatingIfNeeded: index >> (8 * offset)) }
            batch.append(
                sealer, packet: base, length: header + size, headerLength: header, ssrc: ssrc, index: index)
            #expect(batch.seal() == 0)
            return header + size + tagLength
        }
        return Array(packet[..<length])
    }

    /// Whether just these packets came, in order.
    func has(_ expected: Range<Int>) -> Bool { indices == Array(expected) }

    /// Waits for so many packets.
    func receive(until count: Int) throws {
        let deadline = ContinuousClock.now + .seconds(10)
        while indices.count < count, ContinuousClock.now < deadline { try receive() }
    }

    private func receive() throws {
        for datagram in try link.receive() {
            switch datagram.first ?? 255 {
            case 0...3:
                let isSigned = datagram.withUnsafeBytes { bytes in
                    STUNBindingResponse.parse(bytes.bytes).map {
                        ICEPassword(credentials.password).verifies(bytes, $0)
                    }
                }
                guard isSigned == true else { continue }
                answers += 1
                if !hasStarted {
                    hasStarted = true
                    association.start(now: Self.clock())
                    try pump()
                }
            case 20...63:
                datagram.withUnsafeBytes { association.receive($0, now: Self.clock()) }
                try pump()
            default: open(datagram)
            }
        }
    }

    private func open(_ datagram: [UInt8]) {
        guard datagram.count > 1, !(192...223).contains(datagram[1]) else { return }
        var bytes = datagram
        bytes.withUnsafeMutableBytes { buffer in
            var header = RTPHeader()
            guard case .header = RTPHeader.parse(UnsafeRawBufferPointer(buffer).bytes, into: &header),
                case .opened(let length) = opener.openRTP(
                    buffer, ssrc: header.ssrc, sequenceNumber: header.sequenceNumber, headerLength: header.headerLength),
                length >= header.headerLength + 11
            else {
                Issue.record("a packet that does not open")
                return
            }
            indices.append((0..<4).reduce(0) { $0 | Int(buffer[header.headerLength + 7 + $1]) << (8 * $1) })
        }
    }
}
