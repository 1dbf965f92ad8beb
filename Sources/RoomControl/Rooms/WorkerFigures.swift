package import MediaContract
package import MediaWire

/// The workers' figures for whoever asks how things are. A worker makes a copy of them on the thread that carries the media, so
/// those who ask at about the same time share one: however many ask, it is at most five copies per second.
package actor WorkerFigures {
    /// How old figures may be.
    package static let age = MediaDuration.milliseconds(200)

    private enum Figures {
        case coming(Task<MediaSnapshot?, Never>)
        /// `nil`: the worker did not answer.
        case known(MediaSnapshot?, until: MediaTime)
    }

    private let plane: any MediaPlane
    private let clock: RoomClock
    private var figures: [Int: Figures] = [:]

    init(plane: any MediaPlane, clock: RoomClock) {
        self.plane = plane
        self.clock = clock
    }

    /// The worker's figures, of now or of up to `age` ago; `nil`: it did not answer.
    package func of(worker: Int) async -> MediaSnapshot? {
        switch figures[worker] {
        case .coming(let task): return await task.value
        case .known(let snapshot, let end) where clock.now() < end: return snapshot
        case .known, nil: break
        }
        let task = Task { [plane] in await plane.snapshot(worker: worker) }
        figures[worker] = .coming(task)
        let snapshot = await task.value
        figures[worker] = .known(snapshot, until: clock.now() + WorkerFigures.age)
        return snapshot
    }
}
