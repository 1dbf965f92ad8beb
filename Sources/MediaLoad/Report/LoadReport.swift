/// What a run came to: for people as a table, for machines as JSON.
package struct LoadReport: Codable, Sendable, Equatable {
    /// One room, or all together.
    package struct Room: Codable, Sendable, Equatable {
        package var name: String
        package var publishersJoined = 0
        package var publishersFailed = 0
        package var subscribersJoined = 0
        package var subscribersFailed = 0
        /// Over the whole run, as all counts.
        package var packetsSent: UInt64 = 0
        package var packetsReceived: UInt64 = 0
        /// Sealed datagrams, without UDP and IP headers, in Mbit/s under full load.
        package var megabitsSent = 0.0
        package var megabitsReceived = 0.0
        /// Under full load.
        package var packetsReceivedPerSecond = 0.0
        /// Never came to a subscriber.
        package var packetsLost: UInt64 = 0
        /// Came to a subscriber on request.
        package var packetsRecovered: UInt64 = 0
        /// Overflows of the tester's own receive buffers.
        package var testerDrops: UInt64 = 0
        package var framesDecoded: UInt64 = 0
        /// Frames, and probes, that were complete but not decoded.
        package var framesNotDecoded: UInt64 = 0
        package var framesWrong: UInt64 = 0
        /// Of 100 ms.
        package var toneStretches: UInt64 = 0
        package var toneStretchesWrong: UInt64 = 0
        /// Capture to decoded picture.
        package var latencyP50Milliseconds: Double?
        package var latencyP99Milliseconds: Double?
        /// The largest of any stream.
        package var jitterMilliseconds = 0.0
        /// Requests for packets that subscribers sent.
        package var nacksSent: UInt64 = 0
        /// Requests for packets that the node sent to publishers.
        package var nacksFromNode: UInt64 = 0
        /// Requests for key frames that reached publishers.
        package var keyFrameRequests: UInt64 = 0
        /// Post to answer.
        package var joinP50Milliseconds: Double?
        package var joinP95Milliseconds: Double?
        /// Post to the first decoded picture of a line; without video, to its first sound or packet.
        package var firstFrameP50Milliseconds: Double?
        package var firstFrameP95Milliseconds: Double?

        package init(name: String) { self.name = name }

        /// 0...1.
        package var lossShare: Double {
            let all = packetsReceived + packetsLost
            return all == 0 ? 0 : Double(packetsLost) / Double(all)
        }
    }

    package struct Fault: Codable, Sendable, Equatable {
        package var kind: FaultKind
        package var count: UInt64
        package var example: String

        package init(kind: FaultKind, count: UInt64, example: String) {
            self.kind = kind
            self.count = count
            self.example = example
        }
    }

    /// The tester about itself.
    package struct Tester: Codable, Sendable, Equatable {
        /// Of one processor, in percent, under full load.
        package var sendingThreadPercent = 0.0
        package var receivingThreadsPercent: [Double] = []
        /// The longest that a thread came late to what was due, in milliseconds.
        package var latestMilliseconds = 0.0
        /// Granted for each socket, in bytes.
        package var receiveBuffer = 0
        package var encoders = 0
        package var decodingSubscribers = 0
        /// What seals SRTP.
        package var sealing = ""

        package init() {}
    }

    package var passed: Bool
    /// Seconds of full load.
    package var seconds: Double
    package var total: Room
    package var rooms: [Room]
    package var faults: [Fault]
    package var tester: Tester
    /// What to know when reading the figures.
    package var remarks: [String]
    /// Of joins one by one.
    package var joinPhases: [JoinPhase]?
    /// Of joins at a rate.
    package var storm: StormReport?

    package init(
        passed: Bool, seconds: Double, total: Room, rooms: [Room], faults: [Fault], tester: Tester, remarks: [String],
        joinPhases: [JoinPhase]? = nil, storm: StormReport? = nil
    ) {
        self.passed = passed
        self.seconds = seconds
        self.total = total
        self.rooms = rooms
        self.faults = faults
        self.tester = tester
        self.remarks = remarks
        self.joinPhases = joinPhases
        self.storm = storm
    }
}
