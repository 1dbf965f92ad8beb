import MediaContract
import MediaTransport
import MediaWire
import Testing

/// Certificates that tests share: making a key costs more than a handshake.
enum TestCertificates {
    static let client = Certificate.selfSigned(commonName: "client", days: 30)
    static let server = Certificate.selfSigned(commonName: "server", days: 30)
    static let stranger = Certificate.selfSigned(commonName: "stranger", days: 30)
}

extension Certificate {
    /// As signalling would carry it.
    var digest: DTLSFingerprint? { DTLSFingerprint(hash: .sha256, bytes: hex(fingerprint)) }
}

extension DTLSAssociation {
    mutating func receive(_ bytes: [UInt8], now: MediaTime) {
        bytes.withUnsafeBytes { receive($0, now: now) }
    }

    /// Everything that waits.
    mutating func takeAll() -> [[UInt8]] {
        var all: [[UInt8]] = []
        var buffer = [UInt8](repeating: 0, count: DTLSAssociation.longestDatagram)
        while let length = buffer.withUnsafeMutableBytes({ takeDatagram(into: $0) }) {
            all.append(Array(buffer[..<length]))
        }
        return all
    }
}

/// A datagram on its way.
struct DTLSDatagram {
    var isFromClient: Bool
    /// How many this end sent before it.
    var number: Int
    /// Since the beginning.
    var time: MediaDuration
    var bytes: [UInt8]
}

/// Two ends and a network between them, in virtual time.
struct DTLSPair: ~Copyable {
    private struct Arrival {
        var time: MediaTime
        var order: Int
        var datagram: DTLSDatagram
    }

    var client: DTLSAssociation
    var server: DTLSAssociation
    private(set) var now = MediaTime(nanoseconds: 1_000_000_000)
    private(set) var sent: [DTLSDatagram] = []
    private var underway: [Arrival] = []
    private var order = 0
    let start = MediaTime(nanoseconds: 1_000_000_000)

    /// `nil` fingerprints: the right ones.
    init(
        client clientCertificate: Certificate? = TestCertificates.client,
        server serverCertificate: Certificate? = TestCertificates.server,
        clientExpects: [DTLSFingerprint]? = nil, serverExpects: [DTLSFingerprint]? = nil,
        clientProfiles: [SRTPProfile]? = nil, serverProfiles: [SRTPProfile]? = nil
    ) throws {
        let clientCertificate = try #require(clientCertificate)
        let serverCertificate = try #require(serverCertificate)
        let all: [SRTPProfile] = [.aeadAES128GCM, .aeadAES256GCM, .aesCM128HmacSHA1_80]
        let clientContext = try #require(
            DTLSContext(certificate: clientCertificate, profiles: clientProfiles ?? all))
        let serverContext = try #require(
            DTLSContext(certificate: serverCertificate, profiles: serverProfiles ?? all))
        let ofServer = try #require(serverCertificate.digest)
        let ofClient = try #require(clientCertificate.digest)
        // Nothing may throw between the two: what cannot be copied is made wholly or not at all.
        let client = try made(
            DTLSAssociation(
                context: clientContext, role: .client, fingerprints: clientExpects ?? [ofServer], now: start))
        let server = try made(
            DTLSAssociation(
                context: serverContext, role: .server, fingerprints: serverExpects ?? [ofClient], now: start))
        self.client = client
        self.server = server
    }

    var elapsed: MediaDuration { now - start }
    /// Copies, since `#expect` cannot look into what is not copyable.
    var states: [DTLSAssociation.State] { [client.state, server.state] }
    var areConnected: Bool { client.state == .connected && server.state == .connected }

    /// Lets time pass until nothing is underway and nobody waits for anything, or until `limit` is over.
    ///
    /// `fate`: after which times a datagram arrives; none: it is lost; several: it is duplicated.
    mutating func run(
        limit: MediaDuration = .seconds(40), fate: (DTLSDatagram) -> [MediaDuration] = { _ in [.milliseconds(20)] }
    ) {
        client.start(now: now)
        collect(fate)
        while true {
            let arrival = underway.min { ($0.time, $0.order) < ($1.time, $1.order) }
            let deadlines = [arrival?.time, client.nextDeadline, server.nextDeadline].compactMap(\.self)
            guard let next = deadlines.min(), next - start <= limit else { return }
            now = max(now, next)
            if let arrival, arrival.time <= now {
                underway.removeAll { $0.order == arrival.order }
                if arrival.datagram.isFromClient {
                    server.receive(arrival.datagram.bytes, now: now)
                } else {
                    client.receive(arrival.datagram.bytes, now: now)
                }
            } else {
                client.advance(to: now)
                server.advance(to: now)
            }
            collect(fate)
        }
    }

    mutating func collect(_ fate: (DTLSDatagram) -> [MediaDuration]) {
        for (isFromClient, bytes) in client.takeAll().map({ (true, $0) }) + server.takeAll().map({ (false, $0) }) {
            let number = sent.count { $0.isFromClient == isFromClient }
            let datagram = DTLSDatagram(isFromClient: isFromClient, number: number, time: elapsed, bytes: bytes)
            sent.append(datagram)
            for delay in fate(datagram) {
                underway.append(Arrival(time: now + delay, order: order, datagram: datagram))
                order += 1
            }
        }
    }

    /// Both ends have the same keys, and what one seals the other opens.
    mutating func expectKeys(profile: SRTPProfile? = nil) throws {
        let (first, second) = (client.takeKeys(), server.takeKeys())
        let (ofClient, ofServer) = (try #require(first), try #require(second))
        #expect(ofClient.inbound == ofServer.outbound && ofClient.outbound == ofServer.inbound)
        #expect(ofClient.inbound != ofClient.outbound)
        if let profile { #expect(ofClient.inbound.profile == profile) }
        let again = (client.takeKeys(), server.takeKeys())
        #expect(again.0 == nil && again.1 == nil, "keys are given once")
        try expectSealed(by: ofClient.outbound, opensWith: ofServer.inbound)
        try expectSealed(by: ofServer.outbound, opensWith: ofClient.inbound)
    }

    private func expectSealed(by outbound: SRTPMasterKey, opensWith inbound: SRTPMasterKey) throws {
        var random = SeededRandom(seed: 5764)
        let sealer = try made(SRTPSealer(key: outbound))
        var opener = try made(SRTPOpener(key: inbound))
        let packet = random.packet(ssrc: 7, index: 1)
        let sealed = seal([packet], by: sealer, tag: outbound.profile.tagLength, backend: .automatic)
        #expect(opener.open(sealed[0], of: packet) == .plain(packet.bytes))
        var changed = sealed[0]
        changed[changed.count - 1] ^= 1
        #expect(opener.open(changed, of: packet) != .plain(packet.bytes))
    }
}
