/// Opus packets as RTP payloads: one packet is one payload (RFC 7587, section 4.2).
package struct OpusPacketizer: Sendable {
    private var startsTalkspurt = true

    package init() {}

    /// The marker is set on the first packet after silence (RFC 3551, section 4.1), so on the very first one too.
    package mutating func packetize(_ packet: [UInt8]) -> RTPPayload {
        defer { startsTalkspurt = false }
        return RTPPayload(bytes: packet, marker: startsTalkspurt)
    }

    /// Nothing was sent for a while: the next packet begins a talkspurt.
    package mutating func pause() { startsTalkspurt = true }
}
