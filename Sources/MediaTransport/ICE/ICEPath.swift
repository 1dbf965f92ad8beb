package import MediaWire

/// A way from a client to a candidate of the node: over one of the client's own sockets or TCP connections to one address.
package struct ICEPath: Hashable, Sendable {
    /// The caller's own number of the socket or connection.
    package var socket: Int
    /// The other end.
    package var address: TransportAddress

    package init(socket: Int, address: TransportAddress) {
        self.socket = socket
        self.address = address
    }
}

/// What an `ICEChecker` knows of one path.
struct ICEPathCheck: Sendable {
    enum Status: Sendable {
        /// No check was sent yet.
        case waiting
        /// The check `transaction` is out.
        case inProgress
        /// A check was answered.
        case valid
        /// No check was answered, or one by a verified error.
        case failed
    }

    let path: ICEPath
    /// Of the candidate, as its line says: the higher, the better.
    let priority: UInt32
    var status = Status.waiting
    var transaction = STUNTransactionID(high: 0, low: 0)
    var nominates = false
    var sendings = 0
    var sentAt = MediaTime.zero
    var nextSending = MediaTime.distantFuture

    /// Back to the beginning, as for a restart.
    mutating func reset() {
        status = .waiting
        nominates = false
        sendings = 0
        nextSending = .distantFuture
    }

    mutating func begin(_ transaction: STUNTransactionID, nominates: Bool, now: MediaTime) {
        status = .inProgress
        self.transaction = transaction
        self.nominates = nominates
        sendings = 0
        sent(now: now)
    }

    /// RFC 8489, section 6.2.1: the wait doubles.
    mutating func sent(now: MediaTime) {
        let wait = ICEChecker.firstTimeout.nanoseconds << Int64(min(sendings, 20))
        sendings &+= 1
        sentAt = now
        nextSending = now + MediaDuration(nanoseconds: wait)
    }
}
