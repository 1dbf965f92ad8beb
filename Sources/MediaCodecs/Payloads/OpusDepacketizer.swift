/// One Opus packet and what was lost before it.
package struct ReceivedAudio: Hashable, Sendable {
    package var packet: [UInt8]
    /// In 1/48000 s.
    package var timestamp: UInt32
    /// Its length at 48 kHz.
    package var samples: Int
    /// Packets that are missing directly before this one: to be concealed.
    package var missingBefore: Int

    package init(packet: [UInt8], timestamp: UInt32, samples: Int, missingBefore: Int) {
        self.packet = packet
        self.timestamp = timestamp
        self.samples = samples
        self.missingBefore = missingBefore
    }
}

/// What became of one payload.
package enum AudioReception: Hashable, Sendable {
    case audio(ReceivedAudio)
    /// Padding only: the number counts, and nothing is to be played.
    case padding
    case dropped(DepacketizerDrop)
}

/// Takes Opus packets out of RTP payloads (RFC 7587, section 4.2). Payloads come in the order of their sequence numbers.
package struct OpusDepacketizer {
    private var sequence = SequenceTracker()
    private var missing = 0
    /// `frames` counts packets that were given out.
    package private(set) var statistics = DepacketizerStatistics()

    package init() {}

    package mutating func receive(
        _ payload: RawSpan, sequenceNumber: UInt16, timestamp: UInt32, marker: Bool
    ) -> AudioReception {
        statistics.payloads &+= 1
        switch sequence.take(sequenceNumber) {
        case .first, .next: break
        case .gap(let count):
            missing &+= count
            statistics.missing &+= count
            statistics.gaps &+= 1
        case .restart:
            missing = 0
            statistics.gaps &+= 1
        case .late:
            statistics.late &+= 1
            return .dropped(.late)
        }
        if payload.isEmpty { return .padding }
        guard let header = OpusPacketHeader(payload) else {
            statistics.malformed &+= 1
            missing &+= 1
            return .dropped(.malformed)
        }
        let audio = ReceivedAudio(
            packet: payload.withUnsafeBytes { [UInt8]($0) }, timestamp: timestamp, samples: header.samples,
            missingBefore: missing)
        missing = 0
        statistics.frames &+= 1
        return .audio(audio)
    }
}
