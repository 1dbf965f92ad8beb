import Foundation
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct HTTPServerTests {
    @Test func `a request reaches the handler as it was sent`() async throws {
        let answer = try await withServer(handler: echo) { _, port in
            try await exchange(
                port,
                "PATCH /a%2Fb/../c?x=%41&y=+ HTTP/1.1\r\nHost: h\r\nx-Qiniu-B: 2\r\nX-Qiniu-A:  1 \r\n"
                    + "Connection: close\r\nContent-Length: 3\r\nx-qiniu-b: 3\r\n\r\nabc")
        }
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(
            answer.hasSuffix(
                "\r\n\r\nPATCH /a%2Fb/../c?x=%41&y=+\nHost=h\nx-Qiniu-B=2\nX-Qiniu-A=1\nConnection=close\n"
                    + "Content-Length=3\nx-qiniu-b=3\nabc"))
    }

    @Test(arguments: [200, 201, 204, 406, 428, 599, 612, 615, 999])
    func `any status goes out`(status: Int) async throws {
        let answer = try await withServer(handler: { _ in HTTPResponse(status: status, text: "x") }) { _, port in
            try await exchange(port, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        }
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
        #expect(answer.hasSuffix("\r\n\r\n") == (status == 204))
    }
}
