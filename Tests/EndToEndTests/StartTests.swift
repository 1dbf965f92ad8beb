import Foundation
import MediaWire
import Testing

extension EndToEnd {
    /// How a node starts, does not start, and ends.
    @Suite struct StartTests {
        @Test func mistakesInTheFile() async throws {
            let scratch = try Scratch()
            let file = try scratch.write(
                """
                http:
                  listen: 127.0.0.1:0
                media:
                  prot: 7900
                  workers: many
                apps:
                  - id: demo
                    accessKey: k
                    secret: s
                """, to: "node.yaml")
            let ended = try await RunningProcess.run([Programs.parlor, "serve", "--config", file], in: scratch)
            #expect(ended.code == 2)
            #expect(ended.output.isEmpty)
            #expect(ended.error.contains("node.yaml:4: media.prot: unknown key; did you mean media.port?"))
            #expect(ended.error.contains("node.yaml:5: media.workers: "))
        }

        @Test(arguments: [
            (["serve"], "--dev"), (["serve", "--dev", "--media-prot", "1"], "--media-port"),
            (["serve", "--dev", "--media-port", "70000"], "1 to 65535"),
            (["serve", "--config", "nowhere.yaml"], "nowhere.yaml"),
            (["serve", "--dev", "--media-listen", "203.0.113.7"], "203.0.113.7"), (["sing"], "serve"), ([], "serve"),
            (["sdp", "publish", "--room", "r"], "--user"), (["kick", "r"], "USER"),
        ])
        func badUsage(_ words: [String], _ hint: String) async throws {
            let scratch = try Scratch()
            let ended = try await RunningProcess.run([Programs.parlor] + words, in: scratch)
            #expect(ended.code == 2)
            #expect(ended.output.isEmpty)
            #expect(ended.error.contains(hint), "\(ended.error)")
            #expect(ended.error.split(separator: "\n").count == 1, "one clear line: \(ended.error)")
        }

        @Test func variablesThatNobodyReads() async throws {
            let scratch = try Scratch()
            let environment = Programs.environment.merging(["PARLOR_MEDIA_PROT": "7900"]) { $1 }
            let ended = try await RunningProcess.run(
                [Programs.parlor, "serve", "--dev"], environment: environment, in: scratch)
            #expect(ended.code == 2)
            #expect(ended.error.contains("PARLOR_MEDIA_PROT"))
        }

        /// Each port that somebody else has: code 1, which one, and the key to change.
        @Test func portsInUse() async throws {
            try await NodeProcess.run { node in
                let other = try FreePorts.row(of: 66)
                let busy: [(http: UInt16, media: UInt16, key: String, port: UInt16)] = [
                    (node.httpPort, other, "http.listen", node.httpPort),
                    (other, node.mediaPort, "media.port", node.mediaPort),
                ]
                for ports in busy {
                    let ended = try await RunningProcess.run(
                        [
                            Programs.parlor, "serve", "--dev", "--http-listen", "127.0.0.1:\(ports.http)",
                            "--media-port",
                            "\(ports.media)", "--media-workers", "2", "--media-plain-port-range",
                            "\(other + 2)-\(other + 65)",
                        ], in: node.scratch)
                    #expect(ended.code == 1)
                    #expect(ended.error.contains(":\(ports.port)") && ended.error.contains(ports.key), "\(ended.error)")
                    #expect(!ended.output.contains("ready"))
                }
                // The first one is not disturbed.
                #expect(try await node.request("GET", "/healthz").status == 200)
            }
        }

        /// In order means too: the players are told. `NodeProcess.run` itself checks the exit code and the time.
        @Test func endsInOrderAmidTraffic() async throws {
            // Both outlive the node: it is stopped with packets coming in and going out.
            var publisher: RunningProcess?
            let first = try FreePorts.row(of: 4)
            let tap = try UDPTap((0..<4).map { first + UInt16($0) })
            var description = ""
            try await NodeProcess.run { node in
                let leg = try await node.publish("r", "cam")
                publisher = try node.start(Programme.plain.replacing(leg.command), name: "publisher")
                try await node.parlor(
                    "sdp", "play", "--room", "r", "--user", "me", "--port", "\(first)", "--out", "me.sdp")
                description = try node.scratch.read("me.sdp")
                try await until("media flows", standing: publisher?.lastWords ?? "") {
                    tap.drain()
                    return tap.media > 100
                }
            }
            tap.drain()
            for line in try SealedReports.lines(of: description, from: tap) {
                #expect(line.last?.contains(RTCPType.goodbye) == true)
            }
            withExtendedLifetime(publisher) {}
        }
    }
}
