import MediaContract
import MediaWire
import RoomTestKit
import Testing
import WebTransport

@Suite struct MetricsRouteTests {
    @Test func everyFigureAndEveryDropHasALine() async throws {
        let node = try ServiceFixture()
        var snapshot = MediaSnapshot(time: .zero)
        snapshot.packetsIn = 12
        snapshot.bytesOut = 3456
        snapshot.drops[Int(DropReason.unknownSSRC.rawValue)] = 7
        node.plane.setSnapshot(snapshot)
        let answer = await node.send("GET", "/metrics")
        #expect(answer.status == 200)
        #expect(answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
        let lines = Set(answer.text.split(separator: "\n").map(String.init))
        #expect(lines.contains(#"parlor_packets_in_total{worker="0"} 12"#))
        #expect(lines.contains(#"parlor_bytes_out_total{worker="0"} 3456"#))
        #expect(lines.contains(#"parlor_dropped_total{worker="0",reason="unknown_ssrc"} 7"#))
        let reasons = lines.filter { $0.hasPrefix("parlor_dropped_total{worker=\"0\"") }
        #expect(reasons.count == DropReason.allCases.count)
        #expect(DropReason.allCases.allSatisfy { $0.name.allSatisfy { $0.isLowercase || $0 == "_" } })
        for line in lines where !line.hasPrefix("#") {
            #expect(line.split(separator: " ").count == 2 && UInt64(line.split(separator: " ")[1]) != nil, "\(line)")
        }
    }

    @Test func aWorkerThatIsSilentIsLeftOut() async throws {
        let answer = try await ServiceFixture().send("GET", "/metrics")
        #expect(answer.status == 200)
        #expect(!answer.text.contains("worker="))
        #expect(answer.text.contains("# TYPE parlor_dropped_total counter"))
    }
}
