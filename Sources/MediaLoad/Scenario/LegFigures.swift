package import ClientEngine
package import MediaWire

/// What a publisher has done so far, as copied from its thread.
package struct PublisherFigures: Sendable {
    package var room: Int
    package var statistics: ClientStatistics
    package var skipped: Int64
    package var failure: String?
    package var sendFailures: UInt64

    package init(room: Int, statistics: ClientStatistics = ClientStatistics(), skipped: Int64 = 0) {
        self.room = room
        self.statistics = statistics
        self.skipped = skipped
        sendFailures = 0
    }

    package init(room: Int, _ view: ClientView<SyntheticPublisher>) {
        self.room = room
        statistics = view.statistics
        skipped = view.session.skipped
        failure = view.session.failure
        sendFailures = view.sendFailures
    }
}

/// What a subscriber has found so far.
package struct SubscriberFigures: Sendable {
    package struct Line: Sendable {
        package var kind: MediaKind
        package var publisher: UInt16
        package var frames: UInt64 = 0
        package var wrong: UInt64 = 0
        package var framesChecked: UInt64 = 0
        package var toneWindows: UInt64 = 0
        package var toneWrong: UInt64 = 0
        package var latency = LatencyHistogram()
        package var firstFrame: MediaTime?
        package var lastPacket: MediaTime?
        package var faults = FaultCounts()
        package var reception = ReceptionStatistics()

        package init(kind: MediaKind, publisher: UInt16) {
            self.kind = kind
            self.publisher = publisher
        }
    }

    package var room: Int
    package var name: String
    package var statistics: ClientStatistics
    package var lines: [Line]
    package var joinStarted: MediaTime
    package var socketDrops: UInt64
    package var sendFailures: UInt64

    package init(room: Int, name: String, _ view: ClientView<SyntheticSubscriber>) {
        self.room = room
        self.name = name
        statistics = view.statistics
        joinStarted = view.session.joinStarted
        socketDrops = view.socketDrops
        sendFailures = view.sendFailures
        lines = zip(view.session.lines, view.reception).map { check, reception in
            var line = Line(kind: check.kind, publisher: check.publisher)
            line.frames = check.frames.frames
            line.wrong = check.frames.wrong
            line.framesChecked = check.framesChecked
            line.toneWindows = check.tone.windows
            line.toneWrong = check.tone.wrong
            line.latency = check.frames.latency
            line.firstFrame = check.firstFrame
            line.lastPacket = check.lastPacket
            line.faults = check.faults
            line.reception = reception
            return line
        }
    }

    package init(room: Int, name: String, lines: [Line], joinStarted: MediaTime) {
        self.room = room
        self.name = name
        statistics = ClientStatistics()
        self.lines = lines
        self.joinStarted = joinStarted
        socketDrops = 0
        sendFailures = 0
    }
}
