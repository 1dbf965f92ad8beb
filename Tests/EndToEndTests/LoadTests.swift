import Foundation
import Testing

extension EndToEnd {
    /// parlor-load against a real node: it checks every frame itself, and its exit code says so.
    @Suite struct LoadTests {
        /// Of the JSON report, what is looked at here.
        struct Report: Decodable {
            struct Room: Decodable {
                var name: String
                var publishersJoined: Int
                var subscribersJoined: Int
                var packetsSent: Int
                var packetsReceived: Int
                var packetsLost: Int
                var framesDecoded: Int
                var framesWrong: Int
                var toneStretches: Int
                var toneStretchesWrong: Int
                var latencyP50Milliseconds: Double?
                var latencyP99Milliseconds: Double?
            }
            struct Phase: Decodable {
                var name: String
                var count: Int
                var p50Milliseconds: Double?
            }
            struct Fault: Decodable {
                var kind: String
                var count: Int
            }
            var passed: Bool
            var total: Room
            var rooms: [Room]
            var faults: [Fault]
            var joinPhases: [Phase]?
            var storm: Storm?
        }
        struct Storm: Decodable {
            struct Times: Decodable {
                var count: Int
                var p50: Double?
                var p99: Double?
                var max: Double?
            }
            struct Phase: Decodable {
                var seconds: Double
                var latency: Times
                var lag: Times
                var nodeProcessorPercent: Double?
            }
            var joined: Int
            var failed: Int
            var joins: Times
            var begunLate: Times
            var before: Phase
            var during: Phase
            var added: Times
        }

        @Test(arguments: [("webrtc", "vp8"), ("plain", "vp8"), ("plain", "vp9")])
        func twoRooms(_ way: String, _ codec: String) async throws {
            try await NodeProcess.run { node in
                let report = try await Self.run(
                    node, "--rooms", "2", "--publishers", "2", "--subscribers", "3", "--duration", "5", "--codec",
                    codec,
                    "--via", way
                )
                #expect(report.passed && report.faults.isEmpty)
                #expect(report.rooms.count == 2)
                for room in report.rooms {
                    #expect(room.publishersJoined == 2 && room.subscribersJoined == 3)
                    #expect(room.packetsLost == 0 && room.framesWrong == 0 && room.toneStretchesWrong == 0)
                    // Two publishers at 25 pictures a second, to three subscribers, for five seconds: 750.
                    #expect(room.framesDecoded >= 600)
                    // Sound of 20 ms a packet comes on top of at least one packet for each picture.
                    #expect(room.packetsReceived >= room.framesDecoded * 2)
                    #expect(room.packetsReceived <= room.packetsSent * 3)
                    // Stretches of 100 ms: two publishers, three subscribers, five seconds make 300.
                    #expect(room.toneStretches >= 200)
                    let (median, most) = (room.latencyP50Milliseconds ?? -1, room.latencyP99Milliseconds ?? -1)
                    #expect(median > 0 && median <= most && median < 1000)
                }
                #expect(report.total.framesDecoded == report.rooms.reduce(0) { $0 + $1.framesDecoded })
            }
        }

        /// The sequence number has gone round once when the subscriber joins: it must be told a rollover counter of 0 all the same. It opens
        /// the small packets, and decodes the picture beside them: a line without either is a fault.
        @Test(arguments: [("plain", "gcm128"), ("plain", "cm"), ("webrtc", "gcm256")])
        func subscriber70000PacketsLate(_ way: String, _ profile: String) async throws {
            try await NodeProcess.run { node in
                let report = try await Self.run(
                    node, "--via", way, "--codec", "vp8", "--packets-per-second", "20000", "--late-after", "70000",
                    "--duration", "2", "--profile", profile)
                #expect(report.passed && report.faults.isEmpty)
                #expect(report.total.packetsSent > 70_000)
                #expect(report.total.packetsReceived >= 10_000)
                #expect(report.total.packetsLost == 0)
            }
        }

        /// Users who come one after the other: each step of a join is timed.
        @Test func joinsOneByOne() async throws {
            try await NodeProcess.run { node in
                let report = try await Self.run(node, "--publishers", "2", "--joins", "4")
                #expect(report.passed && report.total.subscribersJoined == 4)
                let phases = report.joinPhases ?? []
                #expect(
                    phases.map(\.name) == [
                        "HTTP", "WebSocket", "auth", "subscribe", "ICE", "DTLS", "first packet", "first frame", "all",
                    ])
                #expect(phases.allSatisfy { $0.count == 4 && ($0.p50Milliseconds ?? -1) > 0 })
                let steps = phases.dropLast().reduce(0) { $0 + ($1.p50Milliseconds ?? 0) }
                #expect(steps < 10_000)
            }
        }

        /// Joins at a rate while streams flow: every one of them comes in, no stream loses a packet, and both phases are measured. How much
        /// they add is for a quiet machine to say.
        @Test func joinStorm() async throws {
            try await NodeProcess.run { node in
                let report = try await Self.run(
                    node, "--rooms", "2", "--publishers", "2", "--subscribers", "2", "--storm", "40", "--duration", "3")
                #expect(report.passed && report.total.packetsLost == 0)
                let storm = try #require(report.storm)
                // None begins after the 3 s, so a tester that is held up may leave out the last ones.
                #expect(storm.joined == storm.begunLate.count && storm.failed == 0)
                #expect((60...120).contains(storm.joined))
                for phase in [storm.before, storm.during] {
                    // Of each of two rooms two streams, to two subscribers, 50 packets a second, for 3 s: 1200.
                    #expect((2.5...20).contains(phase.seconds) && phase.latency.count >= 1000)
                    #expect((phase.latency.p50 ?? -1) > 0 && (phase.latency.p50 ?? 1) <= (phase.latency.p99 ?? 0))
                    #expect(phase.lag.count > 100 && (phase.lag.max ?? -1) > 0)
                    #expect((phase.nodeProcessorPercent ?? -1) > 0)
                }
                #expect((storm.added.p99 ?? -1) >= 0 && (storm.added.max ?? -1) >= (storm.added.p99 ?? 0))
            }
        }

        /// The node goes, and nothing more is received: that is not all right, whatever was received before.
        @Test func nodeThatGoesAway() async throws {
            var gone: (node: NodeProcess, load: RunningProcess)?
            try await NodeProcess.run { node in
                let load = try node.start(
                    [Programs.load, "--url", node.url, "--publishers", "1", "--subscribers", "1", "--live"],
                    name: "load")
                gone = (node, load)
                try await until("pictures flow", standing: load.lastWords) {
                    load.error.contains("packets/s") || load.exitCode != nil
                }
            }
            let load = try #require(gone).load
            try await until("the load has noticed", standing: load.lastWords) { load.error.contains("AWAY 2") }
            load.interrupt()
            #expect(try await load.exit() == 1, "\(load.lastWords)")
            #expect(load.output.contains("sessions that ended before their users left"), "\(load.lastWords)")
        }

        private static func run(_ node: NodeProcess, _ words: String...) async throws -> Report {
            let ended = try await RunningProcess.run(
                [Programs.load, "--url", node.url, "--json"] + words, environment: node.environment, in: node.scratch)
            #expect(ended.code == 0, "\(ended.error.suffix(2000))")
            return try JSONDecoder().decode(Report.self, from: Data(ended.output.utf8))
        }
    }
}
