/// Stable places for noncopyable values, found by index. Raw storage, so that a value is reached through a pointer: no
/// reference counting, no copy, no exclusivity check on the packet path.
///
/// Pointers are good until the next `insert`, which may move the storage; only commands insert.
struct Slab<Element: ~Copyable>: ~Copyable {
    private(set) var base: UnsafeMutablePointer<Element>
    private(set) var capacity: Int
    private(set) var count = 0
    private var occupied: [Bool]
    private var free: [Int32] = []

    init(capacity: Int = 16) {
        self.capacity = max(capacity, 1)
        base = .allocate(capacity: self.capacity)
        occupied = [Bool](repeating: false, count: self.capacity)
        free = (0..<Int32(self.capacity)).reversed()
    }

    deinit {
        for index in 0..<capacity where occupied[index] { (base + index).deinitialize(count: 1) }
        base.deallocate()
    }

    /// Where the next `insert` will put its element.
    var nextPlace: Int { free.last.map { Int($0) } ?? capacity }

    mutating func insert(_ element: consuming Element) -> Int {
        if free.isEmpty { grow() }
        let index = Int(free.removeLast())
        (base + index).initialize(to: element)
        occupied[index] = true
        count += 1
        return index
    }

    mutating func remove(at index: Int) {
        precondition(isOccupied(index), "a slab place is freed once")
        (base + index).deinitialize(count: 1)
        occupied[index] = false
        free.append(Int32(index))
        count -= 1
    }

    func isOccupied(_ index: Int) -> Bool { index >= 0 && index < capacity && occupied[index] }

    /// The places in use, lowest first; for commands, reports and snapshots, never per packet.
    var indices: [Int] { (0..<capacity).filter { occupied[$0] } }

    @inline(__always) subscript(index: Int) -> UnsafeMutablePointer<Element> { base + index }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
        for index in 0..<capacity where occupied[index] {
            (larger + index).moveInitialize(from: base + index, count: 1)
        }
        base.deallocate()
        base = larger
        free.append(contentsOf: (Int32(capacity)..<Int32(capacity * 2)).reversed())
        occupied.append(contentsOf: repeatElement(false, count: capacity))
        capacity *= 2
    }
}
