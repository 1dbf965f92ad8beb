package import ClientEngine
package import MediaWire
import RTCClient

/// What a synthetic user's published track sends: the same as a `SyntheticPublisher`, for one track of a client.
///
/// On the engine's thread only, but for `stop`.
package final class SyntheticTrack: TrackFeed, @unchecked Sendable {
    /// The place of its user among all joins.
    package let user: Int
    private var line: PublisherLine
    private var wakeUp = MediaTime.zero
    private let stopFlag: StopFlag

    /// Until there is a path, so often is looked for one.
    private static let patience = MediaDuration.milliseconds(5)

    /// - Parameter stop: sends nothing more when it is set.
    package init(source: FrameSource, user: Int, stop: StopFlag) {
        line = PublisherLine(source: source)
        self.user = user
        stopFlag = stop
    }

    package var skipped: Int64 { line.source.skipped }
    package var failure: String? { line.source.failure }
    package var nextDeadline: MediaTime { wakeUp }

    package func keyFrameWanted() { line.source.requestKeyFrame() }

    package func advance(stream: Int, _ transport: inout ClientTransport, _ scene: inout ClientScene) {
        guard !stopFlag.isRequested else {
            wakeUp = .distantFuture
            return
        }
        guard transport.canSend else {
            wakeUp = scene.now + Self.patience
            return
        }
        var budget = PublisherLine.turn
        wakeUp = line.advance(stream: stream, budget: &budget, &transport, &scene)
    }
}

extension LineCheck: TrackSink {}
