import CCrypto
import MediaTransport
import MediaWire
import Testing

extension SeededRandom {
    mutating func masterKey(_ profile: SRTPProfile) throws -> SRTPMasterKey {
        try #require(
            SRTPMasterKey(profile: profile, key: bytes(profile.keyLength), salt: bytes(profile.saltLength)))
    }

    /// A packet with up to 15 CSRCs and perhaps an extension of up to 20 words.
    mutating func packet(ssrc: UInt32, index: UInt64, payload: Int? = nil) -> PlainPacket {
        let sources = Bool.random(using: &self) ? 0 : Int.random(in: 0...15, using: &self)
        let words = Bool.random(using: &self) ? nil : Int.random(in: 0...20, using: &self)
        let payload = payload ?? Int.random(in: 0...1200, using: &self)
        var bytes: [UInt8] = [
            0x80 | UInt8(sources) | (words == nil ? 0 : 0x10), UInt8.random(in: 0...255, using: &self),
        ]
        bytes += bigEndian(UInt16(truncatingIfNeeded: index))
        bytes += self.bytes(4)
        bytes += bigEndian(ssrc)
        bytes += self.bytes(4 * sources)
        if let words {
            bytes += [0xBE, 0xDE] + bigEndian(UInt16(words))
            bytes += self.bytes(4 * words)
        }
        let headerLength = bytes.count
        bytes += self.bytes(payload)
        return PlainPacket(bytes: bytes, headerLength: headerLength, ssrc: ssrc, index: index)
    }

    /// A sender report without blocks and some words that follow.
    mutating func rtcp(ssrc: UInt32, words: Int) -> [UInt8] {
        [0x80, 200] + bigEndian(UInt16(words + 1)) + bigEndian(ssrc) + bytes(4 * words)
    }
}

func bigEndian(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }
func bigEndian(_ value: UInt32) -> [UInt8] {
    bigEndian(UInt16(value >> 16)) + bigEndian(UInt16(value & 0xFFFF))
}

func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

struct PlainPacket {
    var bytes: [UInt8]
    var headerLength: Int
    var ssrc: UInt32
    /// ROC * 65536 + SEQ.
    var index: UInt64
    var sequenceNumber: UInt16 { UInt16(truncatingIfNeeded: index) }
}

struct NotMade: Error {}

/// `#require` for what cannot be copied.
func made<Value: ~Copyable>(_ value: consuming Value?) throws -> Value {
    guard let value else { throw NotMade() }
    return value
}

func isNil<Value: ~Copyable>(_ value: consuming Value?) -> Bool {
    guard value != nil else { return true }
    return false
}

/// Memory for one packet, with room behind it.
struct PacketBuffer: ~Copyable {
    let memory: UnsafeMutableRawBufferPointer

    init(_ bytes: [UInt8] = [], room: Int = 64) {
        memory = .allocate(byteCount: bytes.count + room, alignment: 8)
        // What a sealer must not read: the room is not zero.
        memory.initializeMemory(as: UInt8.self, repeating: 0xA5)
        memory.copyBytes(from: bytes)
    }

    deinit { memory.deallocate() }

    func bytes(_ count: Int) -> [UInt8] { Array(memory.prefix(count)) }
    func part(_ count: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
    }
}

/// Seals packets one after the other in batches of at most `capacity`.
func seal(
    _ packets: [PlainPacket], by sealer: borrowing SRTPSealer, tag: Int, backend: SRTPBatch.Backend, capacity: Int = 64
) -> [[UInt8]] {
    var batch = SRTPBatch(capacity: capacity, backend: backend)
    var sealed: [[UInt8]] = []
    var start = 0
    while start < packets.count {
        let part = packets[start..<min(start + capacity, packets.count)]
        let memory = part.map { packet in
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: packet.bytes.count + tag, alignment: 1)
            memory.copyBytes(from: packet.bytes)
            return memory
        }
        for (packet, memory) in zip(part, memory) {
            guard let base = memory.baseAddress else { continue }
            batch.append(
                sealer, packet: base, length: packet.bytes.count, headerLength: packet.headerLength, ssrc: packet.ssrc,
                index: packet.index)
        }
        let failures = batch.seal()
        #expect(failures == 0)
        sealed += memory.map { Array($0) }
        for memory in memory { memory.deallocate() }
        start += capacity
    }
    return sealed
}

/// What an opener made of a packet: its plain bytes, or why not.
enum Opening: Equatable {
    case plain([UInt8])
    case failed(SRTPOpened)
}

extension SRTPOpener {
    mutating func open(_ bytes: [UInt8], headerLength: Int, ssrc: UInt32, sequenceNumber: UInt16) -> Opening {
        let buffer = PacketBuffer(bytes, room: 0)
        let result = openRTP(
            buffer.memory, ssrc: ssrc, sequenceNumber: sequenceNumber, headerLength: headerLength)
        guard case .opened(let length) = result else { return .failed(result) }
        return .plain(buffer.bytes(length))
    }

    mutating func open(_ bytes: [UInt8], of packet: PlainPacket) -> Opening {
        open(
            bytes, headerLength: packet.headerLength, ssrc: packet.ssrc, sequenceNumber: packet.sequenceNumber)
    }

    mutating func openRTCP(_ bytes: [UInt8]) -> Opening {
        let buffer = PacketBuffer(bytes, room: 0)
        let result = openRTCP(buffer.memory)
        guard case .opened(let length) = result else { return .failed(result) }
        return .plain(buffer.bytes(length))
    }
}

/// The backends that can open this profile here.
func openerBackends(_ profile: SRTPProfile) -> [SRTPOpener.Backend] {
    var backends: [SRTPOpener.Backend] = [.evp]
    if profile != .aesCM128HmacSHA1_80, SRTPBatch.multiBufferAvailable { backends.append(.multiBuffer) }
    return backends
}

/// The backends that seal here, libsrtp2 apart.
var sealingBackends: [SRTPBatch.Backend] { SRTPBatch.multiBufferAvailable ? [.evp, .multiBuffer] : [.evp] }
