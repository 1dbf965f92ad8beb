import MediaTransport
import MediaWire

/// Makes sealed RTP packets, a batch at a time: VP8 with a key frame first for large packets, Opus for small ones.
struct Publisher: ~Copyable {
    let profile: SRTPProfile
    let ssrc: UInt32
    let payloadType: UInt8 = 96
    let codec: Codec
    /// Length of a sealed packet.
    let sealedLength: Int
    /// Room for one packet.
    static let slotSize = 1600
    let slots: UnsafeMutableRawPointer
    private let size: Int
    private let sealer: SRTPSealer
    private var sealing = SRTPBatch(capacity: Cell.batch)
    private var index: UInt64 = 1
    private var timestamp: UInt32 = 0

    init(_ cell: Cell, key: SRTPMasterKey, ssrc: UInt32) {
        guard let sealer = SRTPSealer(key: key) else { preconditionFailure("no memory for a key") }
        profile = cell.profile
        size = cell.size
        self.ssrc = ssrc
        self.sealer = sealer
        codec = cell.size > 400 ? .vp8 : .opus
        sealedLength = cell.size + cell.profile.tagLength
        slots = .allocate(byteCount: Self.slotSize * Cell.batch, alignment: 64)
        slots.initializeMemory(as: UInt8.self, repeating: 0x5A, count: Self.slotSize * Cell.batch)
    }

    deinit { slots.deallocate() }

    func packet(_ place: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: slots + place * Self.slotSize, count: sealedLength)
    }

    /// Fills the first `count` slots.
    mutating func seal(_ count: Int) {
        for place in 0..<count {
            let packet = UnsafeMutableRawBufferPointer(start: slots + place * Self.slotSize, count: Self.slotSize)
            var writer = RTPHeaderWriter(
                into: packet, marker: true, payloadType: payloadType, sequenceNumber: UInt16(truncatingIfNeeded: index),
                timestamp: timestamp, ssrc: ssrc)
            let header = writer.finish() ?? RTPHeader.fixedLength
            // A VP8 descriptor with S set and a frame tag (RFC 7741, sections 4.2 and 4.3): each packet is a frame.
            packet[header] = codec == .vp8 ? 0x10 : 0xFC
            packet[header + 1] = index == 1 ? 0x10 : 0x11
            sealing.append(
                sealer, packet: slots + place * Self.slotSize, length: size, headerLength: header, ssrc: ssrc,
                index: index)
            index += 1
            timestamp &+= 3000
        }
        sealing.seal()
    }
}
