import Foundation
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct TLSTests {
    private func serverTLS() throws -> TLSConfiguration {
        try TLSConfiguration(
            certificateChain: .text(TestCertificate.chain), privateKey: .text(TestCertificate.key))
    }

    @Test func `a client that trusts the certificate gets its answer over TLS`() async throws {
        let client = try HTTPClient(trust: .authorities(.text(TestCertificate.chain)))
        let handler: @Sendable (HTTPRequest) async -> HTTPResponse = { request in
            HTTPResponse(status: request.isTLS ? 200 : 500, body: request.body)
        }
        try await withServer(tls: try serverTLS(), handler: handler) { _, port in
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
        let port = try server.listen(host: "::", port: 0, tls: try serverTLS())
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
        try await withServer(tls: try serverTLS(), handler: echo) { server, port in
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
        try await withServer(configuration, tls: try serverTLS(), handler: echo) { server, port in
            let answer = try await exchange(port, [0x16, 0x03, 0x01])
            #expect(answer.isEmpty)
            #expect(server.counters.timedOut == 1)
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
