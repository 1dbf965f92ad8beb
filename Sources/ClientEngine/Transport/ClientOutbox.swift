package import MediaTransport

/// Datagrams on their way out, of all clients of one thread. RTP waits here until `seal` seals all of it as one batch; then the
/// datagrams are read and `clear` empties the box. It allocates when it is made and never after.
package struct ClientOutbox: ~Copyable {
    /// One datagram.
    package struct Entry {
        /// The transport's `id`.
        package var client: Int
        /// By which of the client's sockets, and where to.
        package var path: ICEPath
        /// In bytes; with tag once sealed.
        package fileprivate(set) var length: Int
        /// What sealing adds; 0: sealed already (RTCP), or not to be sealed (ICE, DTLS).
        fileprivate var tagLength: Int
        /// The place in the batch; -1: sealed already.
        fileprivate var position: Int
        package fileprivate(set) var isSealed: Bool
    }

    /// Larger than any datagram on an Ethernet path.
    static var slotSize: Int { 1600 }

    package let capacity: Int
    package private(set) var count = 0
    private let bytes: UnsafeMutableRawPointer
    private let entries: UnsafeMutablePointer<Entry>
    private var batch: SRTPBatch

    /// - Parameter capacity: datagrams, 1...65,536.
    package init(capacity: Int = 2048) {
        precondition((1...1 << 16).contains(capacity), "an outbox holds 1 to 65,536 datagrams")
        self.capacity = capacity
        bytes = .allocate(byteCount: capacity * Self.slotSize, alignment: 64)
        entries = .allocate(capacity: capacity)
        batch = SRTPBatch(capacity: capacity)
    }

    deinit {
        bytes.deallocate()
        entries.deallocate()
    }

    package var free: Int { capacity &- count }

    /// Who seals, for logs.
    package var backendName: String { batch.backendName }

    /// The slot that the next `add` takes; `nil` when the box is full.
    var nextSlot: UnsafeMutableRawBufferPointer? {
        count < capacity ? UnsafeMutableRawBufferPointer(start: slot(count), count: Self.slotSize) : nil
    }

    private func slot(_ index: Int) -> UnsafeMutableRawPointer { bytes + index &* Self.slotSize }

    /// Takes the plain RTP packet in `nextSlot`, which must have room for the tag, to be sealed later.
    mutating func addRTP(
        client: Int, path: ICEPath, length: Int, headerLength: Int, ssrc: UInt32, index: UInt64,
        tagLength: Int, sealer: borrowing SRTPSealer
    ) {
        entries[count] = Entry(
            client: client, path: path, length: length, tagLength: tagLength, position: batch.count,
            isSealed: false)
        batch.append(
            sealer, packet: slot(count), length: length, headerLength: headerLength, ssrc: ssrc, index: index)
        count &+= 1
    }

    /// Takes the sealed datagram in `nextSlot`.
    mutating func addSealed(client: Int, path: ICEPath, length: Int) {
        entries[count] = Entry(
            client: client, path: path, length: length, tagLength: 0, position: -1, isSealed: true)
        count &+= 1
    }

    /// Seals what waits. Returns how many could not be sealed; they must not be sent.
    @discardableResult
    package mutating func seal() -> Int {
        guard batch.count > 0 else { return 0 }
        let failed = batch.seal()
        for index in 0..<count where entries[index].position >= 0 {
            let entry = entries[index]
            entries[index].isSealed = failed == 0 || !batch.hasFailed(entry.position)
            entries[index].length = entry.length &+ entry.tagLength
            entries[index].position = -1
        }
        return failed
    }

    /// A datagram; valid after `seal`.
    package subscript(index: Int) -> Entry {
        precondition(index >= 0 && index < count, "the outbox has no such datagram")
        return entries[index]
    }

    /// Its bytes, valid until `clear`.
    package func datagram(_ index: Int) -> UnsafeRawBufferPointer {
        precondition(index >= 0 && index < count, "the outbox has no such datagram")
        return UnsafeRawBufferPointer(start: slot(index), count: entries[index].length)
    }

    package mutating func clear() {
        if batch.count > 0 { batch.seal() }
        count = 0
    }
}
