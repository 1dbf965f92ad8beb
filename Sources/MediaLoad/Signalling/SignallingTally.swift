/// What happened, for one room or for all of them.
package struct SignallingTally: Sendable, Equatable {
    /// From the HTTP request to auth-res.
    package var joins = LatencyHistogram()
    /// The same, of users who were there before.
    package var rejoins = LatencyHistogram()
    /// From opening the socket to auth-res.
    package var resumes = LatencyHistogram()
    /// Publishing and subscribing, to the answer.
    package var requests = LatencyHistogram()
    /// From sending to each receiver; without what a resume replays.
    package var deliveries = LatencyHistogram()
    package var actions: UInt64 = 0
    package var messagesSent: UInt64 = 0
    /// With those that a resume replays.
    package var messagesDelivered: UInt64 = 0
    package var notifications: UInt64 = 0
    package var quietPoints: UInt64 = 0
    package var viewsCompared: UInt64 = 0
    /// Of the server API.
    package var listsCompared: UInt64 = 0
    package var faults = SignallingFaults()

    package init() {}

    package mutating func add(_ other: SignallingTally) {
        joins.add(other.joins)
        rejoins.add(other.rejoins)
        resumes.add(other.resumes)
        requests.add(other.requests)
        deliveries.add(other.deliveries)
        actions += other.actions
        messagesSent += other.messagesSent
        messagesDelivered += other.messagesDelivered
        notifications += other.notifications
        quietPoints += other.quietPoints
        viewsCompared += other.viewsCompared
        listsCompared += other.listsCompared
        faults.add(other.faults)
    }
}
