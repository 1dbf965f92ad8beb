import Foundation
import MediaWire
import Testing
import WebTransport

/// Damaged requests in random pieces: whatever comes, the connection ends, and the server goes on.
@Suite(.timeLimit(.minutes(2)))
struct HTTPMutationTests {
    private static let samples = [
        "GET /a?b=c HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\r\nHEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\nhello world",
        "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;x=\"y\"\r\nhello\r\n6\r\n world\r\n0\r\nT: v\r\n\r\n",
        RawFrame.opening + "\u{1}\u{5}hello",
    ]

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `damaged requests`(seed: UInt64) async throws {
        try await withSockets(serve: echoing) { server, port in
            try await onThread {
                var random = SeededRandom(seed: seed)
                for round in 0..<150 {
                    var bytes = Array(Self.samples[Int(random.next() % 4)].utf8)
                    for _ in 0..<(random.next() % 4) {
                        mutate(&bytes, &random)
                    }
                    let socket = try RawSocket(port: port)
                    var rest = bytes[...]
                    do {
                        while !rest.isEmpty {
                            let count = Swift.min(rest.count, Int(random.next() % 40) + 1)
                            try socket.send(Array(rest.prefix(count)))
                            rest = rest.dropFirst(count)
                        }
                        socket.closeSending()
                        _ = try socket.receiveAll(orReset: true)
                    } catch let failure as RawSocket.Failure {
                        // The server may close before it has everything; it may not stay silent.
                        #expect(
                            failure.step == "send" && (failure.code == EPIPE || failure.code == ECONNRESET),
                            "seed \(seed), round \(round): \(failure), \(String(decoding: bytes, as: UTF8.self).debugDescription)"
                        )
                    }
                }
            }
            let answer = try await exchange(port, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "not a WebSocket request")
            #expect(server.counters.timedOut == 0)
        }
    }
}

private func mutate(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
    guard !bytes.isEmpty else { return }
    let place = Int(random.next() % UInt64(bytes.count))
    switch random.next() % 5 {
    case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
    case 1: bytes.remove(at: place)
    case 2: bytes.insert([0x0D, 0x0A, 0x20, 0x3A, 0x30, 0x00][Int(random.next() % 6)], at: place)
    case 3: bytes.removeSubrange(place...)
    default: bytes.insert(contentsOf: bytes[place...].prefix(20), at: place)
    }
}
