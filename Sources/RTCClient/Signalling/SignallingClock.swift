/// The time that the client's deadlines are measured in.
package protocol SignallingClock: Sendable {
    /// Since any fixed moment; never goes back.
    var now: Duration { get }

    /// Returns at that time, or throws when the task is cancelled.
    func sleep(until time: Duration) async throws
}

extension SignallingClock {
    package func sleep(for duration: Duration) async throws { try await sleep(until: now + duration) }
}

/// The system's time.
package struct ContinuousSignallingClock: SignallingClock {
    private let start = ContinuousClock.now

    package init() {}

    package var now: Duration { ContinuousClock.now - start }

    package func sleep(until time: Duration) async throws {
        try await Task.sleep(until: start + time, tolerance: .milliseconds(10), clock: .continuous)
    }
}
