import Foundation
import Glibc
import MediaContract
import MediaTransport
import MediaWire
import Testing

/// Against the openssl command over loopback: a peer with its own BIOs, timers and defaults.
@Suite(.serialized) struct DTLSInteropTests {
    private static let profiles: [(SRTPProfile, String)] = [
        (.aeadAES128GCM, "SRTP_AEAD_AES_128_GCM"), (.aeadAES256GCM, "SRTP_AEAD_AES_256_GCM"),
        (.aesCM128HmacSHA1_80, "SRTP_AES128_CM_SHA1_80"),
    ]

    /// The keys as the command prints them, in the order of RFC 5764, section 4.2.
    private func material(_ output: String) -> [UInt8]? {
        output.split(separator: "\n").first { $0.contains("Keying material:") }
            .flatMap { $0.split(separator: ":").last }.map { hex(String($0)) }
    }

    private func arguments(_ folder: URL, _ certificate: Certificate?, _ profile: (SRTPProfile, String)) throws
        -> [String]
    {
        var arguments = [
            "-dtls1_2", "-use_srtp", profile.1, "-keymatexport", "EXTRACTOR-dtls_srtp", "-keymatexportlen",
            "\(2 * (profile.0.keyLength + profile.0.saltLength))",
        ]
        if let certificate {
            let files = (folder.appending(path: "certificate.pem"), folder.appending(path: "key.pem"))
            try certificate.certificatePEM.write(to: files.0, atomically: true, encoding: .utf8)
            try certificate.privateKeyPEM.write(to: files.1, atomically: true, encoding: .utf8)
            arguments += ["-cert", files.0.path(), "-cert_chain", files.0.path(), "-key", files.1.path()]
        }
        return arguments
    }

    /// Our server, their client: its fragments are small, its certificates long or missing, and it sends data that nobody reads.
    @Test(arguments: 0..<6) func theirClient(form: Int) throws {
        let profile = Self.profiles[form % 3]
        let certificate = form == 3 ? OpenSSLCommand.longChain : form >= 4 ? nil : TestCertificates.client
        let folder = try OpenSSLCommand.temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let own = try #require(TestCertificates.server)
        let context = try #require(DTLSContext(certificate: own))
        // Without a certificate: when one is expected, and when any would do.
        let fingerprints = [form == 5 ? own.digest : certificate?.digest].compactMap(\.self)
        let server = try made(
            DTLSAssociation(context: context, role: .server, fingerprints: fingerprints, now: .zero))
        var end = try LoopbackEnd(server)
        var command = ["s_client", "-connect", "127.0.0.1:\(end.port)"] + (form == 1 ? ["-mtu", "300"] : [])
        command += try arguments(folder, certificate, profile)
        let (process, output) = OpenSSLCommand.reading(command)
        let input = Pipe()
        process.standardInput = input
        try input.fileHandleForWriting.write(contentsOf: Array("like a data channel\n".utf8))
        try input.fileHandleForWriting.close()
        try process.run()
        defer { OpenSSLCommand.end(process) }

        if certificate == nil {
            end.run { $0 != .handshaking }
            #expect(end.state == .failed(.handshakeFailed), "without a certificate")
            let none = end.association.takeKeys()
            #expect(none == nil)
            return
        }
        end.run { $0 == .connected }
        try #require(end.state == .connected)
        let taken = end.association.takeKeys()
        let keys = try #require(taken)
        #expect(keys.inbound.profile == profile.0)
        // Its input is at its end, so it leaves, with a close_notify.
        end.run { $0 != .connected }
        #expect(end.state == .failed(.closedByPeer))
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(material(text) == keys.inbound.key + keys.outbound.key + keys.inbound.salt + keys.outbound.salt)
        #expect(end.longest <= 1200)
    }

    /// Our client, their server, which asks for a certificate, and leaves when we do.
    @Test(arguments: 0..<4) func theirServer(form: Int) throws {
        let profile = Self.profiles[form % 3]
        let certificate = form == 3 ? OpenSSLCommand.longChain : TestCertificates.server
        let folder = try OpenSSLCommand.temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let own = try #require(TestCertificates.client)
        let context = try #require(DTLSContext(certificate: own))
        let digest = try #require(certificate?.digest)
        let client = try made(DTLSAssociation(context: context, role: .client, fingerprints: [digest], now: .zero))
        var end = try LoopbackEnd(client)
        let port = try LoopbackEnd.freePort()
        var command = ["s_server", "-accept", "127.0.0.1:\(port)", "-Verify", "1", "-naccept", "1"]
        command += try arguments(folder, certificate, profile)
        let (process, output) = OpenSSLCommand.reading(command)
        // At the end of its input it would leave.
        let input = Pipe()
        process.standardInput = input
        try process.run()
        defer { OpenSSLCommand.end(process) }

        end.connect(port)
        end.run { $0 == .connected }
        try #require(end.state == .connected)
        let taken = end.association.takeKeys()
        let keys = try #require(taken)
        #expect(keys.inbound.profile == profile.0)
        end.association.close()
        end.run { _ in false }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(material(text) == keys.outbound.key + keys.inbound.key + keys.outbound.salt + keys.inbound.salt)
        #expect(end.longest <= 1200)
    }
}

/// An association on a UDP socket of its own, on loopback, by the system's clock.
private struct LoopbackEnd: ~Copyable {
    var association: DTLSAssociation
    private let socket: Int32
    private var peer: sockaddr_in?
    private let begin = ContinuousClock.now
    private(set) var longest = 0

    init(_ association: consuming DTLSAssociation) throws {
        let descriptor = try LoopbackEnd.bound()
        self.association = association
        socket = descriptor
    }

    deinit { close(socket) }

    var state: DTLSAssociation.State { association.state }

    var port: UInt16 { LoopbackEnd.port(of: socket) }

    private var now: MediaTime {
        let (seconds, attoseconds) = (ContinuousClock.now - begin).components
        return MediaTime(nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    mutating func connect(_ port: UInt16) {
        peer = LoopbackEnd.address(port)
        association.start(now: now)
    }

    /// Until the state is one that is waited for; at most 10 s, and for a closed association until all is sent.
    mutating func run(_ condition: (DTLSAssociation.State) -> Bool) {
        // The loopback interface takes 64 KiB at once, and the command asks it.
        var buffer = [UInt8](repeating: 0, count: 65536)
        flush()
        while !condition(association.state), association.state != .closed, now < .zero + .seconds(10) {
            var wanted = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            poll(&wanted, 1, 20)
            var source = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let length = withUnsafeMutablePointer(to: &source) { place in
                place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT), $0, &size)
                }
            }
            if length > 0 {
                peer = source
                association.receive(Array(buffer[..<length]), now: now)
            }
            association.advance(to: now)
            flush()
        }
    }

    private mutating func flush() {
        let all = association.takeAll()
        guard var peer else { return }
        for datagram in all {
            longest = max(longest, datagram.count)
            withUnsafePointer(to: &peer) { place in
                place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = sendto(socket, datagram, datagram.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        sockaddr_in(
            sin_family: sa_family_t(AF_INET), sin_port: port.bigEndian,
            sin_addr: in_addr(s_addr: UInt32(0x7F00_0001).bigEndian), sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
    }

    private static func bound() throws -> Int32 {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var local = address(0)
        let result = withUnsafePointer(to: &local) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard descriptor >= 0, result == 0 else { throw NotMade() }
        return descriptor
    }

    private static func port(of descriptor: Int32) -> UInt16 {
        var local = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &local) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &size) }
        }
        return UInt16(bigEndian: local.sin_port)
    }

    /// A port that was free a moment ago.
    static func freePort() throws -> UInt16 {
        let descriptor = try bound()
        defer { close(descriptor) }
        return port(of: descriptor)
    }
}
