import ClientEngine
import MediaWire

/// How synthetic users get to the node and its media: by plain legs or as clients of the room.
protocol LoadPath: Sendable {
    /// A publisher comes in and sends.
    ///
    /// - Parameter user: its place among all joins.
    /// - Returns: bytes of its socket's receive buffer.
    func publish(_ user: LoadUser, sources: [FrameSource]) async throws -> Int
    /// A subscriber comes in and receives all publishers of its room.
    ///
    /// - Parameter lines: by publishers and kinds.
    func subscribe(_ user: LoadUser, lines: [LineCheck], publishers: [String]) async throws -> Int
    func publishers(_ joins: [LoadTally.Join]) async -> [PublisherFigures]
    func subscribers(_ joins: [LoadTally.Join]) async -> [SubscriberFigures]
    /// The sending threads first; how many these are.
    func loads() async -> (loads: [ClientEngineLoad], sending: Int)
    /// Of those who came in and have not left: who lost the node, for now or for good.
    func away() async -> Away
    /// Publishers send nothing more.
    func stopPublishers() async
    /// Everybody leaves. Who was not there any more is a fault.
    func leaveAll() async -> FaultCounts
    /// The threads end.
    func end() async
}

/// Users without a node.
struct Away: Sendable {
    /// They try to come back, or have given up.
    var count = 0
    /// Everybody has given up.
    var isEverybody = false
}

/// Somebody who joins.
struct LoadUser: Sendable {
    /// Among all joins.
    var place: Int
    var room: Int
    /// Among the publishers or subscribers of its room.
    var index: Int
    var name: String
    var token: String
    /// When its join began.
    var started: MediaTime
}
