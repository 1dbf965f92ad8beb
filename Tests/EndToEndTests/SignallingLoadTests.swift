import Foundation
import Testing

extension EndToEnd {
    /// parlor-load --signalling against a real node: users come, act, drop, resume and go at random, and it compares every
    /// client's view, every message and the server API's lists itself; its exit code says so.
    @Suite struct SignallingLoadTests {
        /// Of the JSON report, what is looked at here.
        struct Report: Decodable {
            struct Times: Decodable {
                var count: Int
                var p50Milliseconds: Double?
                var p99Milliseconds: Double?
            }
            struct Node: Decodable {
                var memoryBefore: Int
                var memoryAtEnd: Int
            }
            struct Fault: Decodable {
                var kind: String
                var example: String
            }
            var passed: Bool
            var seed: UInt64
            var joins: Times
            var rejoins: Times
            var resumes: Times
            var requests: Times
            var deliveries: Times
            var messagesSent: Int
            var messagesDelivered: Int
            var quietPoints: Int
            var viewsCompared: Int
            var listsCompared: Int
            var node: Node?
            var faults: [Fault]
        }

        @Test func sixRoomsOfTenUsers() async throws {
            try await NodeProcess.run { node in
                let report = try await Self.run(
                    node, "--users", "60", "--rooms", "6", "--churn", "5s", "--check", "2s", "--actions", "2",
                    "--offline", "2s", "--idle", "20")
                #expect(report.passed && report.faults.isEmpty)
                #expect(report.joins.count == 80)
                // At 120 actions a second, of which one in ten takes the socket, and many ask for something.
                #expect(report.resumes.count > 0 && report.rejoins.count > 0 && report.requests.count > 60)
                #expect(report.messagesSent > 60 && report.messagesDelivered > report.messagesSent)
                // At the end each of 8 rooms, 80 views; on the way some more.
                #expect(report.quietPoints > 8 && report.listsCompared > 8 && report.viewsCompared > 80)
                let (median, most) = (report.joins.p50Milliseconds ?? -1, report.joins.p99Milliseconds ?? -1)
                #expect(median > 0 && median <= most)
                // Found by its port.
                #expect(report.node.map { $0.memoryBefore > 0 && $0.memoryAtEnd > 0 } ?? false)
            }
        }

        @Test func whatIsWrongIsSaid() async throws {
            try await NodeProcess.run { node in
                let ended = try await RunningProcess.run(
                    [
                        Programs.load, "--url", node.url, "--signalling", "--users", "2", "--rooms", "1", "--churn",
                        "1s",
                        "--secret", "wrong", "--quiet",
                    ], environment: node.environment, in: node.scratch)
                #expect(ended.code == 1)
                #expect(ended.output.contains("\nWRONG  joinFailed: "), "\(ended.output)")
            }
        }

        private static func run(_ node: NodeProcess, _ words: String...) async throws -> Report {
            let ended = try await RunningProcess.run(
                [Programs.load, "--url", node.url, "--signalling", "--json"] + words, environment: node.environment,
                in: node.scratch)
            #expect(ended.code == 0, "\(ended.error.suffix(2000)) \(ended.output.suffix(2000))")
            return try JSONDecoder().decode(Report.self, from: Data(ended.output.utf8))
        }
    }
}
