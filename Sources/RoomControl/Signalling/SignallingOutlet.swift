/// The way out to one signalling connection. Nothing here waits: a connection that takes too little is closed.
package struct SignallingOutlet: Sendable {
    /// The connection is a user's from here on: called before its `auth-res`.
    package var entered: @Sendable () -> Void
    /// Queues one frame, as UTF-8.
    package var send: @Sendable ([UInt8]) -> Void
    /// Sends what is queued, then closes with a code (RFC 6455, section 7.4) and a reason.
    package var close: @Sendable (UInt16, String) -> Void

    package init(
        entered: @escaping @Sendable () -> Void = {}, send: @escaping @Sendable ([UInt8]) -> Void,
        close: @escaping @Sendable (UInt16, String) -> Void
    ) {
        self.entered = entered
        self.send = send
        self.close = close
    }
}

/// Codes with which the node closes a signalling connection.
package enum SignallingClose {
    /// After `disconnect`, and after the client's own.
    static let done: UInt16 = 1000
    /// A user whose frames stopped: if it is there after all, it comes back and hears that its session is over.
    static let lost: UInt16 = 1011
    /// No `auth` in time.
    static let noAuth: UInt16 = 4408
    /// A connection that only sends what is refused.
    static let abuse: UInt16 = 4429
}
