import MediaContract

/// DTLS datagrams that came in and are worked off a few at a time: a step of a handshake takes up to half a millisecond, for which
/// no media of others shall wait. Fixed in size.
struct HandshakeQueue: ~Copyable {
    static var capacity: Int { 256 }
    static var slotSize: Int { 1504 }

    struct Entry {
        var transport: Int
        /// A place is used again; the name is not.
        var id: TransportID
        var length: Int
    }

    private let storage: UnsafeMutableRawPointer
    private let entries: UnsafeMutablePointer<Entry>
    private var first = 0
    private(set) var count = 0

    init() {
        storage = .allocate(byteCount: Self.capacity * Self.slotSize, alignment: 64)
        entries = .allocate(capacity: Self.capacity)
        entries.initialize(repeating: Entry(transport: -1, id: TransportID(0), length: 0), count: Self.capacity)
    }

    deinit {
        storage.deallocate()
        entries.deallocate()
    }

    var isEmpty: Bool { count == 0 }

    /// An empty one stands for the first word of a client. False: full, or longer than a slot.
    mutating func append(_ datagram: UnsafeRawBufferPointer, transport: Int, id: TransportID) -> Bool {
        guard count < Self.capacity, datagram.count <= Self.slotSize else { return false }
        let place = (first + count) % Self.capacity
        if let source = datagram.baseAddress {
            (storage + place * Self.slotSize).copyMemory(from: source, byteCount: datagram.count)
        }
        entries[place] = Entry(transport: transport, id: id, length: datagram.count)
        count += 1
        return true
    }

    /// The oldest; its bytes are good until the next `append`.
    mutating func takeFirst() -> (entry: Entry, bytes: UnsafeRawBufferPointer)? {
        guard count > 0 else { return nil }
        let place = first
        first = (first + 1) % Self.capacity
        count -= 1
        return (
            entries[place], UnsafeRawBufferPointer(start: storage + place * Self.slotSize, count: entries[place].length)
        )
    }
}

/// One of our ICE user fragments, as a number: checks are looked up by it without a String.
struct ICEFragment: FlatKey {
    var number: UInt64

    /// Random by itself.
    @inline(__always) var flatHash: UInt64 { number }
    @inline(__always) func isSame(as other: ICEFragment) -> Bool { number == other.number }
}
