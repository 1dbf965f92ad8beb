import FoundationEssentials

/// What a run of signalling came to: for people as a table, for machines as JSON.
package struct SignallingReport: Codable, Sendable, Equatable {
    /// Something that was done often, and how long it took.
    package struct Times: Codable, Sendable, Equatable {
        package var count: UInt64
        package var p50Milliseconds: Double?
        package var p99Milliseconds: Double?
        package var maxMilliseconds: Double?

        package init(_ histogram: LatencyHistogram) {
            count = histogram.count
            p50Milliseconds = histogram.milliseconds(part: 0.5)
            p99Milliseconds = histogram.milliseconds(part: 0.99)
            maxMilliseconds = histogram.count == 0 ? nil : Double(histogram.largest) / 1000
        }
    }

    /// The node's process.
    package struct Node: Codable, Sendable, Equatable {
        package var processID: Int32
        /// Resident, in bytes: before anybody joined, with the idle connections, with everybody, and at the end of the churn.
        package var memoryBefore: Int64
        package var memoryWithIdle: Int64
        package var memoryWithUsers: Int64
        package var memoryAtEnd: Int64
        /// Of one processor, in percent, during the churn.
        package var processorPercent: Double

        package init(
            processID: Int32, memoryBefore: Int64, memoryWithIdle: Int64, memoryWithUsers: Int64, memoryAtEnd: Int64,
            processorPercent: Double
        ) {
            self.processID = processID
            self.memoryBefore = memoryBefore
            self.memoryWithIdle = memoryWithIdle
            self.memoryWithUsers = memoryWithUsers
            self.memoryAtEnd = memoryAtEnd
            self.processorPercent = processorPercent
        }
    }

    package struct Fault: Codable, Sendable, Equatable {
        package var kind: SignallingFault
        package var count: UInt64
        package var example: String
    }

    package var passed: Bool
    package var seed: UInt64
    package var users: Int
    package var rooms: Int
    package var idle: Int
    package var idleRooms: Int
    /// Of churn.
    package var seconds: Double
    package var joins: Times
    package var rejoins: Times
    package var resumes: Times
    package var requests: Times
    package var deliveries: Times
    package var actions: UInt64
    package var messagesSent: UInt64
    package var messagesDelivered: UInt64
    /// During the churn, as are the other rates.
    package var messagesSentPerSecond: Double
    package var messagesDeliveredPerSecond: Double
    package var notificationsPerSecond: Double
    /// Of every kind, messages too.
    package var notifications: UInt64
    package var quietPoints: UInt64
    package var viewsCompared: UInt64
    package var listsCompared: UInt64
    /// `nil`: it is not on this machine.
    package var node: Node?
    /// Of one processor, in percent, during the churn.
    package var testerProcessorPercent: Double
    package var faults: [Fault]

    /// Bytes of the node's memory for each idle connection.
    package var memoryPerIdle: Double? {
        guard let node, idle > 0 else { return nil }
        return Double(node.memoryWithIdle - node.memoryBefore) / Double(idle)
    }

    /// Bytes of the node's memory for each user, after joining.
    package var memoryPerUser: Double? {
        guard let node, users > 0 else { return nil }
        return Double(node.memoryWithUsers - node.memoryWithIdle) / Double(users)
    }

    /// - Parameters:
    ///   - tally: of the whole run.
    ///   - seconds: of churn, at whose beginning and end stood `before` and `after`.
    package init(
        _ scenario: SignallingScenario, _ tally: SignallingTally, seconds: Double, from before: SignallingTally,
        to after: SignallingTally, node: Node?, testerProcessorPercent: Double
    ) {
        func rate(_ count: (SignallingTally) -> UInt64) -> Double {
            seconds > 0 ? Double(count(after) - count(before)) / seconds : 0
        }
        seed = scenario.seed
        users = scenario.users
        rooms = scenario.users == 0 ? 0 : scenario.rooms
        idle = scenario.idle
        idleRooms = scenario.idleRooms
        self.seconds = seconds
        joins = Times(tally.joins)
        rejoins = Times(tally.rejoins)
        resumes = Times(tally.resumes)
        requests = Times(tally.requests)
        deliveries = Times(tally.deliveries)
        actions = tally.actions
        messagesSent = tally.messagesSent
        messagesDelivered = tally.messagesDelivered
        messagesSentPerSecond = rate(\.messagesSent)
        messagesDeliveredPerSecond = rate(\.messagesDelivered)
        notifications = tally.notifications
        notificationsPerSecond = rate(\.notifications)
        quietPoints = tally.quietPoints
        viewsCompared = tally.viewsCompared
        listsCompared = tally.listsCompared
        self.node = node
        self.testerProcessorPercent = testerProcessorPercent
        faults = tally.faults.all.map { Fault(kind: $0.kind, count: $0.entry.count, example: $0.entry.example) }
        // A run in which nothing was looked at proves nothing.
        passed = faults.isEmpty && tally.viewsCompared > 0
    }

    /// Keys sorted, indented.
    package var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}

extension SignallingReport {
    /// The table, the node, and a line for each kind of fault.
    package var text: String {
        var text = "\(title)\n\n\(table)\n\(nodeText)"
        guard !faults.isEmpty else {
            return text
                + (passed
                    ? "\nAll right: \(viewsCompared) views were their rooms at \(quietPoints) quiet points, and every message"
                        + " came once, in order, to the right users.\n"
                    : "\nWRONG  nothing was compared\n")
        }
        text += "\n"
        for fault in faults {
            text += "WRONG  \(fault.kind.rawValue): \(fault.count) \(fault.kind.text)"
            text += fault.example.isEmpty ? "\n" : " (first: \(fault.example))\n"
        }
        return text
    }

    private var title: String {
        var parts: [String] = []
        if users > 0 { parts.append("\(users) users in \(rooms) rooms") }
        if idle > 0 { parts.append("\(idle) idle in \(idleRooms)") }
        return parts.joined(separator: ", ") + ", \(LoadReport.fixed(seconds, 0)) s, seed \(seed)"
    }

    private var table: String {
        var table = LoadTable("", "count", "per s", "p50", "p99", "max ms")
        func add(_ name: String, _ times: Times, _ rate: Double? = nil) {
            guard times.count > 0 else { return }
            func cell(_ value: Double?) -> String { value.map { LoadReport.fixed($0, 1) } ?? "-" }
            table.add([
                name, "\(times.count)", rate.map { LoadReport.fixed($0, 0) } ?? "-", cell(times.p50Milliseconds),
                cell(times.p99Milliseconds), cell(times.maxMilliseconds),
            ])
        }
        add("join", joins)
        add("join again", rejoins)
        add("resume", resumes)
        add("request", requests)
        if messagesSent > 0 {
            table.add(["message sent", "\(messagesSent)", LoadReport.fixed(messagesSentPerSecond, 0), "-", "-", "-"])
            var received = deliveries
            received.count = messagesDelivered
            add("message received", received, messagesDeliveredPerSecond)
        }
        table.add(["notification", "\(notifications)", LoadReport.fixed(notificationsPerSecond, 0), "-", "-", "-"])
        return table.text
    }

    private var nodeText: String {
        let own = "tester: CPU \(LoadReport.fixed(testerProcessorPercent, 0)) % of one processor\n"
        guard let node else { return "node: not on this machine (--pid), so not measured\n" + own }
        func mebibytes(_ bytes: Int64) -> String { LoadReport.fixed(Double(bytes) / 1_048_576, 1) + " MiB" }
        var text = "node:   CPU \(LoadReport.fixed(node.processorPercent, 0)) %, memory \(mebibytes(node.memoryBefore))"
        if let each = memoryPerIdle { text += ", \(LoadReport.fixed(each / 1024, 1)) KiB per idle connection" }
        if let each = memoryPerUser { text += ", \(LoadReport.fixed(each / 1024, 1)) KiB per user" }
        return text + ", \(mebibytes(node.memoryAtEnd)) at the end\n" + own
    }
}
