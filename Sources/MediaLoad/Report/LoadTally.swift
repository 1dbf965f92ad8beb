import ClientEngine
import MediaContract
package import MediaWire

/// Adds up what publishers and subscribers tell into a report.
package struct LoadTally: Sendable {
    /// How a join went.
    package struct Join: Sendable {
        package var room: Int
        package var isPublisher: Bool
        /// The place among the room's publishers or subscribers.
        package var index: Int
        package var user: String
        /// Post to answer.
        package var milliseconds: Double?
        /// Why it failed.
        package var failure: String?

        package init(room: Int, isPublisher: Bool, index: Int, user: String) {
            self.room = room
            self.isPublisher = isPublisher
            self.index = index
            self.user = user
        }
    }

    /// Counts when full load began, or before.
    package struct Mark: Sendable {
        package var time = MediaTime.zero
        /// For each room.
        package var bytesSent: [UInt64] = []
        package var bytesReceived: [UInt64] = []
        package var packetsReceived: [UInt64] = []

        package init() {}
    }

    /// A line whose last packet is older than this, when its publisher has just stopped, has stalled.
    static let stallTime = MediaDuration.seconds(1)
    /// A line must have had its first frame this long after the join.
    static let firstFrameTime = MediaDuration.milliseconds(1500)

    /// A tester that is later than this, in milliseconds, says so.
    static let tolerableLateness = 50.0

    package let scenario: LoadScenario
    package var joins: [Join] = []
    package var publishers: [PublisherFigures] = []
    package var subscribers: [SubscriberFigures] = []
    package var start = Mark()
    /// When publishers stopped, or now.
    package var end = MediaTime.zero
    package var tester = LoadReport.Tester()
    /// What went wrong beside the media.
    package var otherFaults = FaultCounts()
    /// Of joins one by one.
    package var joinPhases: JoinPhases?
    /// Of joins at a rate.
    package var storm: StormReport?

    package init(_ scenario: LoadScenario) { self.scenario = scenario }

    /// Takes over all figures as they are now.
    ///
    /// - Parameter isWhole: whoever is not among them has left; else he may have lost the node, and his last figures stay.
    package mutating func take(
        _ publishers: [PublisherFigures], _ subscribers: [SubscriberFigures], isWhole: Bool
    ) {
        var (publishers, subscribers) = (publishers, subscribers)
        if !isWhole {
            let sending = Set(publishers.map(\.user))
            publishers += self.publishers.filter { !sending.contains($0.user) }
            let receiving = Set(subscribers.map { "\($0.room) \($0.name)" })
            subscribers += self.subscribers.filter { !receiving.contains("\($0.room) \($0.name)") }
        }
        self.publishers = publishers
        self.subscribers = subscribers
    }

    /// What the counts are now.
    package var mark: Mark {
        var mark = Mark()
        mark.time = end
        mark.bytesSent = [UInt64](repeating: 0, count: scenario.rooms)
        mark.bytesReceived = mark.bytesSent
        mark.packetsReceived = mark.bytesSent
        for publisher in publishers { mark.bytesSent[publisher.room] &+= publisher.statistics.bytesSent }
        for subscriber in subscribers {
            mark.bytesReceived[subscriber.room] &+= subscriber.statistics.bytesReceived
            mark.packetsReceived[subscriber.room] &+= subscriber.statistics.packetsReceived
        }
        return mark
    }

    package var report: LoadReport {
        let rooms = (0..<scenario.rooms).map { room($0...$0, name: scenario.roomName($0)) }
        let total =
            scenario.rooms == 1 ? rooms[0] : room(0...scenario.rooms - 1, name: "all \(scenario.rooms) rooms")
        let faults = faults
        return LoadReport(
            passed: faults.isEmpty, seconds: max((end - start.time).seconds, 0), total: total, rooms: rooms,
            faults: faults.all.map {
                LoadReport.Fault(kind: $0.kind, count: $0.entry.count, example: $0.entry.example)
            },
            tester: tester, remarks: remarks, joinPhases: joinPhases?.report, storm: storm)
    }

    private func room(_ range: ClosedRange<Int>, name: String) -> LoadReport.Room {
        var result = LoadReport.Room(name: name)
        var joinTimes = LatencyHistogram()
        var firstFrames = LatencyHistogram()
        var latency = LatencyHistogram()
        for join in joins where range.contains(join.room) {
            if let time = join.milliseconds { joinTimes.add(microseconds: Int64(time * 1000)) }
            switch (join.isPublisher, join.failure == nil) {
            case (true, true): result.publishersJoined += join.milliseconds == nil ? 0 : 1
            case (true, false): result.publishersFailed += 1
            case (false, true): result.subscribersJoined += join.milliseconds == nil ? 0 : 1
            case (false, false): result.subscribersFailed += 1
            }
        }
        for publisher in publishers where range.contains(publisher.room) {
            result.packetsSent &+= publisher.statistics.packetsSent
            result.nacksFromNode &+= publisher.statistics.nacksReceived
            result.keyFrameRequests &+= publisher.statistics.keyFrameRequestsReceived
        }
        for subscriber in subscribers where range.contains(subscriber.room) {
            result.packetsReceived &+= subscriber.statistics.packetsReceived
            result.nacksSent &+= subscriber.statistics.nacksSent
            result.testerDrops &+= subscriber.socketDrops
            for line in subscriber.lines {
                result.packetsLost &+= line.reception.lost
                result.packetsRecovered &+= line.reception.recovered
                result.framesDecoded &+= line.frames
                result.framesNotDecoded &+= line.framesChecked
                result.framesWrong &+= line.wrong
                result.toneStretches &+= line.toneWindows
                result.toneStretchesWrong &+= line.toneWrong
                result.jitterMilliseconds = max(result.jitterMilliseconds, line.reception.jitter * 1000)
                latency.add(line.latency)
                if let first = line.firstFrame, line.kind == .video || scenario.isAudioOnly {
                    firstFrames.add(microseconds: (first - subscriber.joinStarted).nanoseconds / 1000)
                }
            }
        }
        let seconds = (end - start.time).seconds
        if seconds > 0, start.bytesSent.count == scenario.rooms {
            let now = mark
            for room in range {
                // A client that has come back counts anew.
                func gained(_ counts: KeyPath<Mark, [UInt64]>) -> Double {
                    max(Double(now[keyPath: counts][room]) - Double(start[keyPath: counts][room]), 0) / seconds
                }
                result.megabitsSent += gained(\.bytesSent) * 8 / 1e6
                result.megabitsReceived += gained(\.bytesReceived) * 8 / 1e6
                result.packetsReceivedPerSecond += gained(\.packetsReceived)
            }
        }
        result.latencyP50Milliseconds = latency.milliseconds(part: 0.5)
        result.latencyP99Milliseconds = latency.milliseconds(part: 0.99)
        result.joinP50Milliseconds = joinTimes.milliseconds(part: 0.5)
        result.joinP95Milliseconds = joinTimes.milliseconds(part: 0.95)
        result.firstFrameP50Milliseconds = firstFrames.milliseconds(part: 0.5)
        result.firstFrameP95Milliseconds = firstFrames.milliseconds(part: 0.95)
        return result
    }

    // MARK: Faults

    package var faults: FaultCounts {
        var faults = otherFaults
        for join in joins {
            if let failure = join.failure {
                faults.add(.joinFailed, "\(join.user) of \(scenario.roomName(join.room)): \(failure)")
            }
        }
        for publisher in publishers {
            let statistics = publisher.statistics
            addDrops(of: statistics.failures, who: "a publisher", to: &faults)
            faults.add(
                .ended, count: min(statistics.goodbyesReceived, 1),
                "a publisher of \(scenario.roomName(publisher.room))")
            faults.add(
                .testerTooSlow,
                count: UInt64(clamping: publisher.skipped) + statistics.sendRefused + publisher.sendFailures,
                publisher.failure ?? "a publisher of \(scenario.roomName(publisher.room))")
        }
        for subscriber in subscribers { add(subscriber, to: &faults) }
        return faults
    }

    private func add(_ subscriber: SubscriberFigures, to faults: inout FaultCounts) {
        let room = scenario.roomName(subscriber.room)
        let who = "\(subscriber.name) of \(room)"
        addDrops(of: subscriber.statistics.failures, who: who, to: &faults)
        faults.add(.ended, count: min(subscriber.statistics.goodbyesReceived, 1), who)
        faults.add(.testerDropped, count: subscriber.socketDrops, who)
        faults.add(.testerTooSlow, count: subscriber.statistics.sendRefused + subscriber.sendFailures, who)
        for (index, line) in subscriber.lines.enumerated() {
            for (kind, entry) in line.faults.all { faults.add(kind, count: entry.count, "\(who): \(entry.example)") }
            let publisher = index / scenario.kinds.count
            let what = "\(who), \(line.kind.name) of \(scenario.publisherName(publisher))"
            faults.add(.lost, count: line.reception.lost, what)
            let hasPublisher = joins.contains {
                $0.isPublisher && $0.room == subscriber.room && $0.index == publisher && $0.failure == nil
            }
            guard hasPublisher else { continue }
            if line.firstFrame == nil {
                if end > subscriber.joinStarted + Self.firstFrameTime { faults.add(.nothingReceived, what) }
            } else if let last = line.lastPacket, end > last + Self.stallTime {
                faults.add(.stalled, what)
            }
        }
    }

    private func addDrops(
        of failures: [(reason: DropReason, count: UInt64)], who: String, to faults: inout FaultCounts
    ) {
        for (reason, count) in failures {
            let example = "\(who): \(reason.name)"
            switch reason {
            // The repair of a packet that was only late.
            case .replayed, .tooOld: continue
            // Late answers to checks, and what overtook the last flight of a handshake: datagrams have no order.
            case .unknownCheck, .unverifiedSource, .noKeysYet: continue
            case .authenticationFailed: faults.add(.notAuthentic, count: count, example)
            case .unknownSSRC, .tooManySSRCs: faults.add(.unknownStream, count: count, example)
            default: faults.add(.malformed, count: count, example)
            }
        }
    }

    // MARK: Remarks

    private var remarks: [String] {
        var remarks: [String] = []
        if scenario.sharesEncoders {
            remarks.append(
                "\(scenario.publisherCount) publishers share \(scenario.sourceCount) encoders of each kind: pictures tell"
                    + " encoders apart, not all publishers.")
        }
        if scenario.decodingSubscribers < scenario.subscriberCount {
            remarks.append(
                "\(scenario.decodingSubscribers) of \(scenario.subscriberCount) subscribers decode; of the others packets,"
                    + " order and picture headers are checked (frames: decoded+complete).")
        }
        let busiest = tester.receivingThreadsPercent.max() ?? 0
        if max(busiest, tester.sendingThreadPercent) > 80 {
            remarks.append(
                "The tester was busy: sending thread \(LoadReport.fixed(tester.sendingThreadPercent, 0)) %, receiving"
                    + " \(LoadReport.fixed(busiest, 0)) % of a processor. Its latencies are partly its own.")
        }
        if tester.latestMilliseconds > Self.tolerableLateness {
            remarks.append(
                "The tester's threads came up to \(LoadReport.fixed(tester.latestMilliseconds, 0)) ms late to what was due (too"
                    + " little processor time): latencies and jitter are partly its own.")
        }
        if subscribers.contains(where: { $0.socketDrops > 0 }) {
            remarks.append("The tester lost packets itself: loss, wrong frames and latency are not the node's alone.")
        }
        return remarks
    }
}
