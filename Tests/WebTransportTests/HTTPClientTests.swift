import Foundation
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct HTTPClientTests {
    @Test func `two hundred requests at once`() async throws {
        let client = try HTTPClient()
        let handler: @Sendable (HTTPRequest) async -> HTTPResponse = { request in
            HTTPResponse(status: 612, headers: ["X-Target": request.target], body: request.body)
        }
        try await withServer(handler: handler) { server, port in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let body = Array(repeating: UInt8(truncatingIfNeeded: number), count: number * 100)
                        let response = try await client.request(
                            "POST", "http://127.0.0.1:\(port)/n/\(number)?q", body: body, timeout: .seconds(30))
                        #expect(response.status == 612)
                        #expect(response.headers["x-target"] == "/n/\(number)?q")
                        #expect(response.body == body)
                    }
                }
                try await group.waitForAll()
            }
            #expect(server.counters.requests == 200)
            #expect(server.counters.responses == 200)
        }
    }
}
