package import MediaContract
package import MediaSwitch
package import MediaTransport
package import MediaWire

/// A WebRTC client in the virtual network: checks, a real DTLS handshake, then SRTP as `VirtualPeer` has it.
package final class VirtualBrowser: VirtualReceiver {
    package let transport: TransportID
    package let peer: PeerID
    package private(set) var credentials: ICECredentials
    package private(set) var address: TransportAddress
    package let socket: SocketID
    /// The node's role; ours is the other one.
    package let nodeRole: DTLSRole
    /// There once keys are agreed.
    package private(set) var media: VirtualPeer?
    package private(set) var answers = 0
    package private(set) var errors = 0
    package private(set) var longestDatagram = 0
    package private(set) var datagramsIn = 0
    private var association: DTLSAssociation
    private var random: SeededRandom
    private let certificate: Certificate
    private var started = false

    /// Certificates take a while to make; tests share them.
    package static let nodeCertificate = makeCertificate("node")
    package static let browserCertificate = makeCertificate("browser")

    package static func makeCertificate(_ name: String) -> Certificate {
        guard let certificate = Certificate.selfSigned(commonName: name, days: 10, now: 1_800_000_000) else {
            preconditionFailure("OpenSSL makes a certificate")
        }
        return certificate
    }

    /// What a switchboard needs to serve browsers.
    package static func configuration() -> Switchboard.Configuration {
        var configuration = Switchboard.Configuration()
        configuration.dtls = DTLSContext(certificate: nodeCertificate)
        return configuration
    }

    package init(
        transport: TransportID, peer: PeerID, address: TransportAddress, nodeRole: DTLSRole,
        socket: SocketID = .sharedIPv4, seed: UInt64, certificate: Certificate = VirtualBrowser.browserCertificate,
        now: MediaTime
    ) {
        self.transport = transport
        self.peer = peer
        self.address = address
        self.nodeRole = nodeRole
        self.socket = socket
        self.certificate = certificate
        random = SeededRandom(seed: seed &* 104_729 &+ transport.rawValue)
        credentials = ICECredentials(using: &random)
        guard let context = DTLSContext(certificate: certificate),
            let association = DTLSAssociation(
                context: context, role: nodeRole == .client ? .server : .client,
                fingerprints: [Self.fingerprint(Self.nodeCertificate)], now: now)
        else { preconditionFailure("OpenSSL makes an association") }
        self.association = association
    }

    package static func fingerprint(_ certificate: Certificate) -> DTLSFingerprint {
        let bytes = certificate.fingerprint.split(separator: ":").compactMap { UInt8($0, radix: 16) }
        guard let fingerprint = DTLSFingerprint(hash: .sha256, bytes: bytes) else {
            preconditionFailure("a SHA-256 fingerprint has 32 bytes")
        }
        return fingerprint
    }

    package func spec(fingerprints: [DTLSFingerprint]? = nil, silenceLimit: MediaDuration = .seconds(30))
        -> WebRTCTransportSpec
    {
        WebRTCTransportSpec(
            id: transport, peer: peer, credentials: credentials, role: nodeRole,
            fingerprints: fingerprints ?? [Self.fingerprint(certificate)],
            localSSRC: UInt32(truncatingIfNeeded: transport.rawValue &+ 0x5000_0000), cname: "node",
            silenceLimit: silenceLimit)
    }

    // MARK: ICE

    package func check(
        _ network: VirtualNetwork, nominates: Bool = true, credentials: ICECredentials? = nil,
        from source: TransportAddress? = nil
    ) {
        network.send(
            makeCheck(nominates: nominates, credentials: credentials ?? self.credentials), from: source ?? address,
            to: socket)
    }

    package func makeCheck(nominates: Bool, credentials: ICECredentials) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 256)
        let length = bytes.withUnsafeMutableBytes { buffer in
            ICEPassword(credentials.password).writeRequest(
                transactionID: STUNTransactionID(using: &random),
                username: Array("\(credentials.usernameFragment):them".utf8), priority: 1, tieBreaker: 7,
                nominates: nominates, into: buffer) ?? 0
        }
        bytes.removeSubrange(length...)
        return bytes
    }

    /// Moves to another address, without a word.
    package func move(to other: TransportAddress, _ network: VirtualNetwork) {
        network.detach(address)
        address = other
        media?.address = other
        network.attach(self, at: other)
    }

    package func restart(_ network: VirtualNetwork) {
        credentials = ICECredentials(using: &random)
        network.apply(.restartICE(transport, credentials))
    }

    // MARK: DTLS

    /// Sends the ClientHello, if that is ours to send.
    package func startHandshake(_ network: VirtualNetwork) {
        guard !started else { return }
        started = true
        association.start(now: network.now)
        pump(network)
    }

    /// What time brings: retransmission.
    package func tick(_ network: VirtualNetwork) {
        association.advance(to: network.now)
        pump(network)
    }

    package func closeDTLS(_ network: VirtualNetwork) {
        association.close()
        pump(network)
    }

    private func pump(_ network: VirtualNetwork) {
        var room = [UInt8](repeating: 0, count: 1500)
        while let length = room.withUnsafeMutableBytes({ association.takeDatagram(into: $0) }) {
            network.send(Array(room[..<length]), from: address, to: socket)
        }
        guard media == nil, association.state == .connected, let keys = association.takeKeys() else { return }
        // The virtual peer names keys as the node does.
        media = VirtualPeer(
            address: address, socket: socket, transport: transport, peer: peer, inbound: keys.outbound,
            outbound: keys.inbound)
    }

    package func receive(_ datagram: [UInt8], from source: TransportAddress, network: VirtualNetwork) {
        datagramsIn += 1
        guard let first = datagram.first else { return }
        switch first {
        case 0...3:
            let response = datagram.withUnsafeBytes { STUNBindingResponse.parse($0.bytes) }
            let isSigned = datagram.withUnsafeBytes { bytes in
                response.map { ICEPassword(credentials.password).verifies(bytes, $0) } ?? false
            }
            if isSigned, response?.errorCode == nil { answers += 1 } else { errors += 1 }
            if nodeRole == .server { startHandshake(network) }
        case 20...63:
            longestDatagram = max(longestDatagram, datagram.count)
            datagram.withUnsafeBytes { association.receive($0, now: network.now) }
            pump(network)
        default: media?.receive(datagram, from: source, network: network)
        }
    }

    package var handshakeState: DTLSAssociation.State { association.state }

    /// Attaches, checks, and runs until keys are agreed or `limit` is over.
    package func connect(_ network: VirtualNetwork, within limit: MediaDuration = .seconds(10)) {
        network.attach(self, at: address)
        let end = network.now + limit
        while media == nil, network.now < end {
            check(network)
            tick(network)
            network.run(for: .milliseconds(50))
        }
        // The last flight is still on its way to the node.
        network.run(for: .milliseconds(50))
    }
}
