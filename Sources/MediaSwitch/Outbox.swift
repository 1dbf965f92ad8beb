package import MediaContract
package import MediaWire

/// Waiting datagrams, in slots; sealed and planned as one batch, right before they leave. (Face only; the slots come next.)
package struct Outbox: ~Copyable {
    /// The planned messages, after `Switchboard.prepareFlush`.
    package private(set) var messages: UnsafeMutableBufferPointer<OutboundMessage>
    /// The planned segments: sealed datagrams.
    package private(set) var segments: UnsafeMutableBufferPointer<UnsafeRawBufferPointer>
    package private(set) var messageCount = 0
    /// Datagrams waiting.
    package private(set) var count = 0
    /// Whether runs of equal datagrams to one destination may be planned as one message. The engine turns it off for good
    /// when the kernel refuses UDP_SEGMENT.
    package var segmentation = true

    init() {
        messages = .allocate(capacity: 0)
        segments = .allocate(capacity: 0)
    }
}
