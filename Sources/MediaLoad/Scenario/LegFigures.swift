package import ClientEngine
package import MediaWire

/// What a publisher has done so far, as copied from its thread.
package struct PublisherFigures: Sendable {
    package var room: Int
    package var statistics: ClientStatistics
    package var skipped: Int64
    package var failure: String?
    package var sendFailures: UInt64

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
        package var publisher: UInt16
        package var frames: UInt64
        package var wrong: UInt64
        package var framesChecked: UInt64
        package var toneWindows: UInt64
        package var toneWrong: UInt64
        package var latency: LatencyHistogram
        package var firstFrame: MediaTime?
        package var lastPacket: MediaTime?
        package var faults: FaultCounts
        package var reception: ReceptionStatistics
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
            Line(
                publisher: check.publisher, frames: check.frames.frames, wrong: check.frames.wrong,
                framesChecked: check.framesChecked, toneWindows: check.tone.windows, toneWrong: check.tone.wrong,
                latency: check.frames.latency, firstFrame: check.firstFrame, lastPacket: check.lastPacket,
                faults: check.faults, reception: reception)
        }
    }
}
