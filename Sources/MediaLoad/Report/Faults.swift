/// The names of what can be wrong with a kind of run.
package protocol FaultName: CaseIterable, Hashable, Codable, Sendable {
    /// For people: what the count counts.
    var text: String { get }
}

/// What can be wrong with a run of media. Each makes the exit code 1.
package enum FaultKind: String, FaultName {
    /// The node did not let a publisher or subscriber in.
    case joinFailed
    /// Nothing that could be decoded came on a line.
    case nothingReceived
    /// Media came, and then no more while the publisher went on.
    case stalled
    /// A picture or packet of someone else: rooms or tracks are mixed up.
    case wrongPublisher
    /// A counter stood still, went back, or jumped though no packet was lost.
    case wrongOrder
    /// The mark in the picture, or a probe, could not be read.
    case unreadable
    /// The decoder refused a complete frame.
    case undecodable
    /// The publisher's tone did not dominate.
    case wrongTone
    /// Packets that came neither by themselves nor on request.
    case lost
    /// Packets that are not authentic under the leg's key.
    case notAuthentic
    /// Authentic packets, or others, of a stream that was not negotiated.
    case unknownStream
    /// Packets that break the format of RTP or RTCP.
    case malformed
    /// The node ended the leg or the session, or went away.
    case ended
    /// The tester's own socket buffers were full: the loss figures are not the node's.
    case testerDropped
    /// The tester could not send in time, or not at all.
    case testerTooSlow
    /// A leg could not be ended.
    case leaveFailed

    package var text: String {
        switch self {
        case .joinFailed: "joins failed"
        case .nothingReceived: "lines received nothing that could be decoded"
        case .stalled: "lines stopped receiving while their publisher sent on"
        case .wrongPublisher: "frames of a wrong publisher (isolation)"
        case .wrongOrder: "frames out of order, repeated, or missing without packet loss"
        case .unreadable: "frames whose mark could not be read"
        case .undecodable: "complete frames that the decoder refused"
        case .wrongTone: "stretches of sound without the publisher's tone"
        case .lost: "packets lost for good"
        case .notAuthentic: "packets that were not authentic"
        case .unknownStream: "packets of streams that were not negotiated"
        case .malformed: "malformed packets"
        case .ended: "legs or sessions that ended before their users left"
        case .testerDropped: "receive buffer overflows of the tester itself: its loss is not the node's"
        case .testerTooSlow: "frames or packets that the tester could not make or send in time"
        case .leaveFailed: "legs that could not be ended"
        }
    }
}

/// How often each fault occurred, and an example of it.
package struct FaultTally<Kind: FaultName>: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        package var count: UInt64
        package var example: String
    }

    private var entries: [Kind: Entry] = [:]

    package init() {}

    package mutating func add(_ kind: Kind, count: UInt64 = 1, _ example: @autoclosure () -> String) {
        guard count > 0 else { return }
        if entries[kind] == nil { entries[kind] = Entry(count: 0, example: example()) }
        entries[kind]?.count += count
    }

    package mutating func add(_ other: FaultTally) {
        for (kind, entry) in other.all { add(kind, count: entry.count, entry.example) }
    }

    package subscript(_ kind: Kind) -> UInt64 { entries[kind]?.count ?? 0 }
    package var isEmpty: Bool { entries.isEmpty }
    package var count: UInt64 { entries.values.reduce(0) { $0 + $1.count } }

    /// In the order of the kinds.
    package var all: [(kind: Kind, entry: Entry)] {
        Kind.allCases.compactMap { kind in entries[kind].map { (kind, $0) } }
    }
}

package typealias FaultCounts = FaultTally<FaultKind>
