/// A short list of places in a slab, in raw storage: read in the fan-out loop without reference counting.
struct IndexList: ~Copyable {
    private(set) var base: UnsafeMutablePointer<Int32>
    private(set) var count = 0
    private var capacity: Int

    init(capacity: Int = 4) {
        self.capacity = capacity
        base = .allocate(capacity: capacity)
    }

    deinit { base.deallocate() }

    @inline(__always) subscript(place: Int) -> Int { Int(base[place]) }

    var all: [Int] { (0..<count).map { Int(base[$0]) } }

    mutating func append(_ index: Int) {
        if count == capacity {
            let larger = UnsafeMutablePointer<Int32>.allocate(capacity: capacity * 2)
            larger.update(from: base, count: count)
            base.deallocate()
            base = larger
            capacity *= 2
        }
        base[count] = Int32(index)
        count += 1
    }

    func place(of index: Int) -> Int? { (0..<count).first { Int(base[$0]) == index } }

    mutating func removeFirst() {
        for later in 0..<max(count - 1, 0) { base[later] = base[later + 1] }
        count = max(count - 1, 0)
    }

    /// Keeps the order of the others.
    mutating func remove(_ index: Int) {
        guard let place = place(of: index) else { return }
        for later in place..<(count - 1) { base[later] = base[later + 1] }
        count -= 1
    }
}
