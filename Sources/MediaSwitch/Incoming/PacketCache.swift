import MediaWire

/// One accepted packet, kept once for all subscribers: what a copy needs besides the bytes.
package struct CachedPacket {
    /// Extended number on the track's own line; negative: no packet.
    package var sequence: Int64 = -1
    /// Where its bytes begin, counted over all bytes ever written.
    package var position: UInt64 = 0
    /// On the track's own timeline.
    package var timestamp: UInt32 = 0
    package var payloadLength: UInt16 = 0
    /// Bytes before the payload: the end-to-end header extensions as (kind, length, bytes).
    package var extensionLength: UInt16 = 0
    /// One of them can only be written in the two-byte form (RFC 8285, section 4.3).
    package var hasLongExtension = false
    package var marker = false
    package var isKeyFrame = false
    package var startsFrame = false
    /// Opus with redundancy (RFC 2198); the primary block starts so far into the payload.
    package var isRedundant = false
    package var primaryOffset: UInt16 = 0
    // Of tracks with layers: where in the payload the picture id lies (0 bytes long: there is none), and TL0PICIDX (0: none)
    package var pictureIDOffset: UInt8 = 0
    package var pictureIDLength: UInt8 = 0
    package var temporalLevelOffset: UInt8 = 0

    package init() {}

    package var length: Int { Int(payloadLength) &+ Int(extensionLength) }
}

/// The last packets of one track: a ring of bytes, and a ring of entries found by sequence number. A packet that was
/// overwritten simply is no longer found. Nothing grows by sequence distance; only `grow` allocates, off the packet path.
package struct PacketCache: ~Copyable {
    private var bytes: UnsafeMutableRawPointer
    package private(set) var byteCapacity: Int
    private let entries: UnsafeMutablePointer<CachedPacket>
    private let entryMask: Int64
    private var end: UInt64 = 0

    /// Both capacities are powers of two.
    package init(byteCapacity: Int, entryCapacity: Int) {
        precondition(byteCapacity.nonzeroBitCount == 1 && entryCapacity.nonzeroBitCount == 1, "rings are powers of two")
        self.byteCapacity = byteCapacity
        bytes = .allocate(byteCount: byteCapacity, alignment: 64)
        entries = .allocate(capacity: entryCapacity)
        entries.initialize(repeating: CachedPacket(), count: entryCapacity)
        entryMask = Int64(entryCapacity - 1)
    }

    deinit {
        bytes.deallocate()
        entries.deallocate()
    }

    package var entryCapacity: Int { Int(entryMask) + 1 }

    /// The packet with this number, if it is still there.
    @inline(__always) package func find(_ sequence: Int64) -> UnsafePointer<CachedPacket>? {
        let entry = entries + Int(sequence & entryMask)
        guard sequence >= 0, entry.pointee.sequence == sequence, isIntact(entry.pointee) else { return nil }
        return UnsafePointer(entry)
    }

    /// Whether a packet of this number has been here, even if its bytes were overwritten since: a number that was given away stands
    /// for one packet for good (RFC 3711, section 9.1).
    @inline(__always) package func knows(_ sequence: Int64) -> Bool {
        sequence >= 0 && (entries + Int(sequence & entryMask)).pointee.sequence == sequence
    }

    /// Extensions and payload of a packet that `find` has just found.
    @inline(__always) package func content(of packet: UnsafePointer<CachedPacket>) -> UnsafeRawPointer {
        UnsafeRawPointer(bytes + Int(truncatingIfNeeded: packet.pointee.position) & (byteCapacity - 1))
    }

    /// Makes room for a packet and names it. The caller writes `packet.length` bytes to the returned place.
    /// - Precondition: `packet.length` is at most half the ring.
    package mutating func store(_ packet: CachedPacket) -> UnsafeMutableRawPointer {
        precondition(packet.length <= byteCapacity / 2, "the ring holds at least two packets")
        var offset = Int(truncatingIfNeeded: end) & (byteCapacity - 1)
        if offset + packet.length > byteCapacity {
            end &+= UInt64(byteCapacity - offset)
            offset = 0
        }
        let entry = entries + Int(packet.sequence & entryMask)
        entry.initialize(to: packet)
        entry.pointee.position = end
        end &+= UInt64(packet.length)
        return bytes + offset
    }

    /// Where the next packet will be written, if it fits before the ring's end.
    @inline(__always) var nextPlace: UnsafeRawPointer {
        UnsafeRawPointer(bytes + Int(truncatingIfNeeded: end) & (byteCapacity - 1))
    }

    @inline(__always) private func isIntact(_ packet: CachedPacket) -> Bool {
        end &- packet.position <= UInt64(byteCapacity)
    }

    /// Doubles the byte ring and keeps every packet that is still there.
    package mutating func grow() {
        let oldBytes = bytes
        let oldMask = byteCapacity - 1
        var kept: [Int] = (0...Int(entryMask)).filter { entries[$0].sequence >= 0 && isIntact(entries[$0]) }
        kept.sort { entries[$0].position < entries[$1].position }
        byteCapacity *= 2
        bytes = .allocate(byteCount: byteCapacity, alignment: 64)
        let packets = kept.map { entries[$0] }
        // Those that are gone keep their numbers, far from any byte.
        for slot in 0...Int(entryMask) { entries[slot].position = 1 << 62 }
        end = 0
        for packet in packets {
            let source = oldBytes + Int(truncatingIfNeeded: packet.position) & oldMask
            store(packet).copyMemory(from: source, byteCount: packet.length)
        }
        oldBytes.deallocate()
    }
}
