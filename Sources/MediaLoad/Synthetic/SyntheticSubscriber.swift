package import ClientEngine
package import MediaWire

/// A subscriber that checks everything it receives.
package struct SyntheticSubscriber: ClientSession {
    /// One for each received stream of the transport, in their order.
    package let lines: [LineCheck]
    /// When its join began: the start of the time to the first frame.
    package let joinStarted: MediaTime

    package init(lines: [LineCheck], joinStarted: MediaTime) {
        self.lines = lines
        self.joinStarted = joinStarted
    }

    package var nextDeadline: MediaTime { .distantFuture }

    package mutating func receive(
        _ packet: ClientPacket, payload: RawSpan, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) {
        guard lines.indices.contains(packet.stream) else { return }
        let wanted = lines[packet.stream].receive(packet, payload: payload, now: scene.now) { scene.wallTime }
        if wanted { transport.requestKeyFrame(stream: packet.stream, now: scene.now, into: &scene.outbox) }
    }

    package mutating func keyFramesWanted(
        _ streams: UInt64, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) {}

    package mutating func advance(_ transport: inout ClientTransport, _ scene: inout ClientScene) {}
}
