import Foundation
import MediaWire
import Testing

extension EndToEnd {
    @Suite struct KickTests {
        /// The player's ports are the test's own: it sees every packet, and when the kernel got it.
        @Test func notOnePacketAfterTheAnswer() async throws {
            try await NodeProcess.run { node in
                let publishing = try await node.publish("r", "cam")
                let publisher = try node.start(Programme.plain.replacing(publishing.command), name: "publisher")
                let first = try FreePorts.row(of: 4)
                let tap = try UDPTap((0..<4).map { first + UInt16($0) })
                let ended = try await node.parlor(
                    "sdp", "play", "--room", "r", "--user", "me", "--port", "\(first)", "--out", "me.sdp", "--json")
                let leg = try JSONDecoder().decode(Leg.self, from: Data(ended.output.utf8))
                try await until("media flows") {
                    tap.drain()
                    return [0, 2].allSatisfy { port in tap.datagrams.count { $0.port == port } >= 60 }
                }

                try await node.parlor("kick", "r", "me")
                let answered = Self.now()
                // What the node sent before is in the sockets by now: loopback delivers within the send call.
                tap.drain()
                #expect(try await node.users(in: "r") == ["cam"])
                #expect(try await node.state(of: leg.target) == nil)

                // The publisher goes on, and the node takes it in: a second of that, without a packet for the player.
                let before = try #require(try await node.state(of: publishing.target)).packetsIn
                try await until("the publisher sends on") {
                    try await node.state(of: publishing.target)?.packetsIn ?? 0 >= before + 100
                }
                #expect(tap.drain() == 0, "packets after the answer")
                #expect(tap.datagrams.allSatisfy { $0.time < answered })
                #expect(publisher.exitCode == nil, "\(publisher.lastWords)")

                // Each line was told, and then nothing came.
                let lines = try SealedReports.lines(of: node.scratch.read("me.sdp"), from: tap)
                try #require(lines.count == 2)
                for (line, reports) in lines.enumerated() {
                    let farewell = try #require(
                        reports.firstIndex { $0.contains(RTCPType.goodbye) }, "a BYE on line \(line)")
                    #expect(farewell == reports.count - 1)
                    let bye = try #require(tap.datagrams.last { $0.port == 2 * line + 1 })
                    let media = try #require(tap.datagrams.last { $0.port == 2 * line })
                    #expect(media.time <= bye.time)
                }

                // Gone is not banned.
                _ = try await node.play("r", "me")
                #expect(try await node.users(in: "r").sorted() == ["cam", "me"])
                try await node.parlor("kick", "r", "nobody", code: 1)
                try await node.parlor("kick", "nowhere", "me", code: 1)
            }
        }

        @Test func kickedPublisherIsNotForwarded() async throws {
            try await NodeProcess.run { node in
                let publishing = try await node.publish("r", "cam")
                let publisher = try node.start(Programme.plain.replacing(publishing.command), name: "publisher")
                let first = try FreePorts.row(of: 4)
                let tap = try UDPTap((0..<4).map { first + UInt16($0) })
                let leg = try JSONDecoder().decode(
                    Leg.self,
                    from: Data(
                        try await node.parlor(
                            "sdp", "play", "--room", "r", "--user", "me", "--port", "\(first)", "--json"
                        ).output.utf8))
                try await until("media flows") {
                    tap.drain()
                    return [0, 2].allSatisfy { port in tap.datagrams.count { $0.port == port } >= 30 }
                }
                try await node.parlor("kick", "r", "cam")
                tap.drain()
                let (media, state) = (tap.media, try await node.state(of: leg.target))
                #expect(state?.state == "waiting", "the player waits for the next one")
                #expect(try await node.users(in: "r") == ["me"])
                // The node's ports are closed. In the hands of the test they show that FFmpeg sends on, unless it has noticed.
                let sink = try UDPTap(publishing.nodePorts)
                try await until("the publisher sends on, or ends") {
                    sink.drain()
                    return sink.media >= 60 || publisher.exitCode != nil
                }
                #expect(tap.drain() == 0 && tap.media == media)
                #expect(try await node.state(of: leg.target)?.state == "waiting")
            }
        }

        private static func now() -> Int64 {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }
    }
}
