package import ClientEngine
package import MediaWire
import RTCClient

/// What a publisher has done so far, as copied from its thread.
package struct PublisherFigures: Sendable {
    package var room: Int
    /// Its place among all joins.
    package var user: Int
    package var statistics: ClientStatistics
    package var skipped: Int64
    package var failure: String?
    package var sendFailures: UInt64

    package init(room: Int, user: Int, statistics: ClientStatistics = ClientStatistics(), skipped: Int64 = 0) {
        self.room = room
        self.user = user
        self.statistics = statistics
        self.skipped = skipped
        sendFailures = 0
    }

    init(room: Int, user: Int, _ view: ClientView<MediaSession>) {
        self.room = room
        self.user = user
        statistics = view.statistics
        let tracks = view.session.feeds.compactMap { $0 as? SyntheticTrack }
        skipped = tracks.reduce(0) { $0 + $1.skipped }
        failure = tracks.lazy.compactMap(\.failure).first
        sendFailures = view.sendFailures
    }

    package init(room: Int, user: Int, _ view: ClientView<SyntheticPublisher>) {
        self.room = room
        self.user = user
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

        init(_ check: LineCheck, _ reception: ReceptionStatistics) {
            self.init(kind: check.kind, publisher: check.publisher)
            frames = check.frames.frames
            wrong = check.frames.wrong
            framesChecked = check.framesChecked
            toneWindows = check.tone.windows
            toneWrong = check.tone.wrong
            latency = check.frames.latency
            firstFrame = check.firstFrame
            lastPacket = check.lastPacket
            faults = check.faults
            self.reception = reception
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
        lines = zip(view.session.lines, view.reception).map { Line($0, $1) }
    }

    /// - Parameter lines: what the user expects, in the order of publishers and kinds.
    init(room: Int, name: String, joinStarted: MediaTime, lines: [LineCheck], _ view: ClientView<MediaSession>) {
        self.room = room
        self.name = name
        statistics = view.statistics
        self.joinStarted = joinStarted
        socketDrops = view.socketDrops
        sendFailures = view.sendFailures
        let sinks = view.session.sinks
        self.lines = lines.map { line in
            let place = sinks.firstIndex { $0 === line }
            return Line(line, place.map { view.reception[$0] } ?? ReceptionStatistics())
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
