import CNet

/// The message headers of a worker's sends: one set for runs of planned messages, one for a segmented message that must be
/// sent datagram by datagram.
struct BatchSender: ~Copyable {
    /// Messages per sendmmsg.
    static var messageCapacity: Int { 128 }
    /// Segments per sendmmsg: 16 for each message, and more than a single message can have (UDP_MAX_SEGMENTS, 128).
    static var segmentCapacity: Int { 2048 }

    let run: OpaquePointer
    let messages: UnsafeMutablePointer<parlor_outgoing>
    let segments: UnsafeMutablePointer<parlor_segment>
    let single: OpaquePointer
    let singleMessages: UnsafeMutablePointer<parlor_outgoing>
    let singleSegments: UnsafeMutablePointer<parlor_segment>

    init() {
        guard
            let run = parlor_sender_create(UInt32(Self.messageCapacity), UInt32(Self.segmentCapacity)),
            let messages = parlor_sender_messages(run), let segments = parlor_sender_segments(run),
            let single = parlor_sender_create(UInt32(Self.messageCapacity), UInt32(Self.messageCapacity)),
            let singleMessages = parlor_sender_messages(single), let singleSegments = parlor_sender_segments(single)
        else { preconditionFailure("a worker found no memory for its message headers") }
        self.run = run
        self.messages = messages
        self.segments = segments
        self.single = single
        self.singleMessages = singleMessages
        self.singleSegments = singleSegments
    }

    deinit {
        parlor_sender_destroy(run)
        parlor_sender_destroy(single)
    }
}
