/// Frames that wait for a connection's kernel buffer, as bytes in a ring. What stands at the head may be the rest of a frame whose
/// beginning has left: the other end would take anything else for it.
struct FrameQueue {
    /// Where the bytes are; the owner gives it and takes it back.
    private(set) var storage: UnsafeMutableRawPointer?
    private var capacity = 0
    private var head = 0
    private(set) var count = 0

    var room: Int { capacity &- count }

    mutating func open(_ storage: UnsafeMutableRawPointer, capacity: Int) {
        self.storage = storage
        self.capacity = capacity
    }

    /// Gives the storage back, with whatever is in it.
    mutating func close() -> UnsafeMutableRawPointer? {
        defer { self = FrameQueue() }
        return storage
    }

    /// The caller has seen that there is room.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= room, "a frame is queued that does not fit")
        guard let storage, let source = bytes.baseAddress, !bytes.isEmpty else { return }
        var tail = head &+ count
        if tail >= capacity { tail &-= capacity }
        let first = min(bytes.count, capacity &- tail)
        (storage + tail).copyMemory(from: source, byteCount: first)
        if first < bytes.count { storage.copyMemory(from: source + first, byteCount: bytes.count &- first) }
        count &+= bytes.count
    }

    /// The bytes in order: up to the end of the ring, and from its start.
    var regions: (first: UnsafeRawBufferPointer, second: UnsafeRawBufferPointer) {
        guard let storage else { return (.init(start: nil, count: 0), .init(start: nil, count: 0)) }
        let first = min(count, capacity &- head)
        return (
            UnsafeRawBufferPointer(start: storage + head, count: first),
            UnsafeRawBufferPointer(start: storage, count: count &- first)
        )
    }

    mutating func remove(_ bytes: Int) {
        precondition(bytes <= count, "more leaves a queue than was in it")
        count &-= bytes
        head = count == 0 ? 0 : head &+ bytes
        if head >= capacity { head &-= capacity }
    }
}
