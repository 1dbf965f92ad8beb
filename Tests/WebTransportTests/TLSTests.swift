import Foundation
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct TLSTests {
    @Test func `a client that trusts the certificate gets its answer over TLS`() async throws {
        let client = try HTTPClient(trust: .authorities(.text(TestCertificate.chain)))
        let handler: @Sendable (HTTPRequest) async -> HTTPResponse = { request in
            HTTPResponse(status: request.isTLS ? 200 : 500, body: request.body)
        }
        try await withServer(tls: try TestCertificate.configuration(), handler: handler) { _, port in
            let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            for host in ["127.0.0.1", "localhost"] {
                let response = try await client.request("POST", "https://\(host):\(port)/", body: body)
                #expect(response.status == 200)
                #expect(response.body == body)
            }
        }
    }

    @Test func `a certificate that is not trusted, or for another name, is refused`() async throws {
        let trusting = try HTTPClient(trust: .authorities(.text(TestCertificate.chain)))
        let system = try HTTPClient()
        let insecure = try HTTPClient(trust: .insecure)
        let server = HTTPServer()
        let port = try server.listen(host: "::", port: 0, tls: try TestCertificate.configuration())
        server.start(handler: echo)
        let unknown = await #expect(throws: WebTransportError.self) {
            try await system.request("GET", "https://127.0.0.1:\(port)/")
        }
        #expect(unknown?.kind == .tls)
        let misnamed = await #expect(throws: WebTransportError.self) {
            try await trusting.request("GET", "https://[::1]:\(port)/")
        }
        #expect(misnamed?.kind == .tls)
        #expect(try await insecure.request("GET", "https://[::1]:\(port)/").status == 200)
        await server.stop()
    }

    @Test func `plain text on the TLS port is closed and counted`() async throws {
        try await withServer(tls: try TestCertificate.configuration(), handler: echo) { server, port in
            _ = try await onThread {
                let socket = try RawSocket(port: port)
                try socket.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                return try socket.receiveAll(orReset: true)
            }
            let client = try HTTPClient(trust: .insecure)
            #expect(try await client.request("GET", "https://127.0.0.1:\(port)/").status == 200)
            #expect(server.counters.tlsFailures == 1)
        }
    }

    @Test func `a TLS handshake that does not go on is ended`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.headerDeadline = .milliseconds(100)
        try await withServer(configuration, tls: try TestCertificate.configuration(), handler: echo) { server, port in
            let answer = try await exchange(port, [0x16, 0x03, 0x01])
            #expect(answer.isEmpty)
            #expect(server.counters.timedOut == 1)
        }
    }

    @Test func `a refusal arrives whole, though the client is still sending`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.bodyLimit = 1000
        let client = try HTTPClient(trust: .insecure)
        try await withServer(configuration, tls: try TestCertificate.configuration(), handler: echo) { server, port in
            let body = [UInt8](repeating: 0, count: 3_000_000)
            let response = try await client.request("POST", "https://127.0.0.1:\(port)/", body: body)
            #expect(response.status == 413)
            #expect(response.text.contains("it may have 1000 bytes"))
            #expect(server.counters.bodyTooLarge == 1)
        }
    }

    @Test(
        arguments: [
            (["h2", "http/1.1"], 0x0303, nil), (["http/1.1"], 0x0303, nil), ([], 0x0303, nil),
            (["h2"], 0x0303, 120),  // no_application_protocol (RFC 7301, section 3.2)
            (["http/1.1"], 0x0302, 70),  // protocol_version
        ] as [([String], UInt16, UInt8?)])
    func `a greeting is answered with HTTP 1_1, or with the alert that says why not`(
        protocols: [String], version: UInt16, alert: UInt8?
    ) async throws {
        try await withServer(tls: try TestCertificate.configuration(), handler: echo) { _, port in
            let answer = try await onThread {
                let socket = try RawSocket(port: port)
                try socket.send(greeting(protocols: protocols, version: version))
                return try socket.receiveSome()
            }
            if let alert {
                #expect(answer.first == 21 && answer.dropFirst(5) == [2, alert])
            } else {
                // The server's greeting comes first, in the clear in TLS 1.2: record and message type, then version.
                #expect(answer.count > 11 && answer[0] == 22 && answer[5] == 2 && answer[9...10] == [3, 3])
                let chosen: [UInt8] = [0, 16, 0, 11, 0, 9, 8] + Array("http/1.1".utf8)
                #expect((answer.firstRange(of: chosen) != nil) == !protocols.isEmpty)
            }
        }
    }

    @Test func `files, and certificates that cannot be used`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let chain = folder.appending(path: "chain.pem").path
        let key = folder.appending(path: "key.pem").path
        try TestCertificate.chain.write(toFile: chain, atomically: true, encoding: .utf8)
        try TestCertificate.key.write(toFile: key, atomically: true, encoding: .utf8)
        #expect(throws: Never.self) { try TLSConfiguration(certificateChain: .file(chain), privateKey: .file(key)) }
        #expect(throws: Never.self) { try HTTPClient(trust: .authorities(.file(chain))) }

        let mismatch = #expect(throws: WebTransportError.self) {
            try TLSConfiguration(certificateChain: .file(chain), privateKey: .text(TestCertificate.otherKey))
        }
        #expect(mismatch?.kind == .tls)
        let missing = #expect(throws: WebTransportError.self) {
            try TLSConfiguration(certificateChain: .file(chain + "x"), privateKey: .file(key))
        }
        #expect(missing?.message.contains(chain + "x") == true)
        #expect(throws: WebTransportError.self) {
            try TLSConfiguration(certificateChain: .text("no PEM"), privateKey: .text(""))
        }
        #expect(throws: WebTransportError.self) { try HTTPClient(trust: .authorities(.text("no PEM"))) }
    }
}

/// A ClientHello of TLS 1.2 or before (RFC 5246, section 7.4.1.2), in a record of its own.
private func greeting(protocols: [String], version: UInt16) -> [UInt8] {
    func counted(_ bytes: [UInt8], _ width: Int) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: bytes.count >> ($0 * 8)) } + bytes
    }
    let versionBytes = [UInt8(version >> 8), UInt8(version & 0xFF)]
    let suites: [UInt8] = [0xC0, 0x2B, 0xC0, 0x0A]
    var extensions: [UInt8] = [0, 10] + counted(counted([0, 29, 0, 23], 2), 2)  // groups: X25519, P-256
    extensions += [0, 13] + counted(counted([4, 3, 8, 4, 2, 3], 2), 2)  // signatures: ECDSA and RSA-PSS
    if !protocols.isEmpty {
        extensions += [0, 16] + counted(counted(protocols.flatMap { counted(Array($0.utf8), 1) }, 2), 2)
    }
    let body =
        versionBytes + [UInt8](repeating: 7, count: 32) + [0] + counted(suites, 2) + [1, 0] + counted(extensions, 2)
    return [22, 3, 1] + counted([1] + counted(body, 3), 2)
}
