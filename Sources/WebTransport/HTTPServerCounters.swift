internal import CWeb

/// Counts since the start; every way in which a request or a connection is dropped has its own.
package struct HTTPServerCounters: Sendable, Equatable {
    package var accepted: UInt64 = 0
    /// Connections over the limit.
    package var refused: UInt64 = 0
    /// Failures of accept itself: no file descriptors, mostly.
    package var acceptErrors: UInt64 = 0
    package var requests: UInt64 = 0
    package var responses: UInt64 = 0
    /// 400, 417 and 501.
    package var malformed: UInt64 = 0
    /// 431.
    package var headerTooLarge: UInt64 = 0
    /// 413.
    package var bodyTooLarge: UInt64 = 0
    /// 408, and connections closed for being slow in their handshake or in taking a response.
    package var timedOut: UInt64 = 0
    /// 503: the handler was too slow.
    package var handlerLate: UInt64 = 0
    package var tlsFailures: UInt64 = 0
    /// Connections that the peer closed inside a request or a response.
    package var broken: UInt64 = 0
    package var upgrades: UInt64 = 0
    /// WebSockets closed because the peer took its messages too slowly.
    package var slowReaders: UInt64 = 0
    /// Open now.
    package var connections: UInt64 = 0
    /// With the handler now.
    package var running: UInt64 = 0

    package init() {}

    init(_ counters: parlor_web_counters) {
        accepted = counters.accepted
        refused = counters.refused
        acceptErrors = counters.accept_errors
        requests = counters.requests
        responses = counters.responses
        malformed = counters.malformed
        headerTooLarge = counters.header_too_large
        bodyTooLarge = counters.body_too_large
        timedOut = counters.timed_out
        handlerLate = counters.handler_late
        tlsFailures = counters.tls_failures
        broken = counters.broken
        upgrades = counters.upgrades
        slowReaders = counters.slow_readers
        connections = counters.connections
        running = counters.running
    }
}
