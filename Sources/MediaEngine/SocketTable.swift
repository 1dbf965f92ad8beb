import MediaContract

extension SocketID {
    /// The low bits name the slot in the worker's socket table, so that a look-up is one array access; the bits above
    /// count up and make the name unique. The shared sockets are the first slots, with serial 0.
    private static var slotBits: UInt64 { 20 }

    init(serial: UInt64, slot: Int) {
        precondition(slot >= 0 && slot < 1 << Self.slotBits, "a socket slot beyond the table")
        self.init(serial << Self.slotBits | UInt64(slot))
    }

    var slot: Int { Int(truncatingIfNeeded: rawValue & (1 << Self.slotBits - 1)) }

    /// Plain sockets take the slots behind the shared ones, by the position of their port in the plain range.
    static var firstPlainSlot: Int { Int(sharedLimit) }
}

/// The sockets of one worker: shared ones and those of plain legs. Its thread's alone.
struct SocketTable {
    struct Entry {
        let id: SocketID
        let descriptor: Int32
        let hasErrorQueue: Bool
        /// EAGAIN came, and EPOLLOUT has not yet.
        var isBlocked = false
    }

    private var entries: [Entry?]

    init(plainPorts: Int) {
        entries = [Entry?](repeating: nil, count: SocketID.firstPlainSlot + plainPorts)
    }

    /// The slot of an open socket; `nil` when it is not (any more) in the table.
    func slot(of id: SocketID) -> Int? {
        let slot = id.slot
        guard slot < entries.count, let entry = entries[slot], entry.id.rawValue == id.rawValue else { return nil }
        return slot
    }

    subscript(slot: Int) -> Entry {
        get {
            guard let entry = entries[slot] else { preconditionFailure("a socket slot is used that is empty") }
            return entry
        }
        set { entries[slot] = newValue }
    }

    mutating func insert(_ id: SocketID, descriptor: Int32, hasErrorQueue: Bool) {
        precondition(
            id.slot < entries.count && entries[id.slot] == nil, "a socket is attached to a slot that is in use")
        entries[id.slot] = Entry(id: id, descriptor: descriptor, hasErrorQueue: hasErrorQueue)
    }

    /// Takes the socket out, once: `nil` when it is not in the table.
    mutating func remove(_ id: SocketID) -> Entry? {
        guard let slot = slot(of: id) else { return nil }
        defer { entries[slot] = nil }
        return entries[slot]
    }

    var open: [SocketID] { entries.compactMap { $0?.id } }
}
