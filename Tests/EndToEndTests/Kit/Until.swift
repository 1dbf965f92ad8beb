import Testing

/// What a wait did not see in time.
struct TimedOut: Error, CustomStringConvertible {
    var description: String
}

/// Waits for a condition, and fails with what it waited for (and how things stand) once the limit has passed. The limits
/// are generous: they bound a test that hangs, they do not measure.
func until(
    _ what: String, within limit: Duration = .seconds(60), standing: @autoclosure () -> String = "",
    _ condition: () async throws -> Bool
) async throws {
    let clock = ContinuousClock()
    let deadline = clock.now + limit
    while try await !condition() {
        guard clock.now < deadline else {
            throw TimedOut(description: "not within \(limit): \(what). \(standing())")
        }
        try await clock.sleep(for: .milliseconds(20))
    }
}
