import MediaWire

/// What a timer of the switchboard belongs to.
enum TimerOwner: UInt8 {
    case transport
    case encoding
}

/// All deadlines of the switchboard in one heap. An owner keeps the time it is armed for; an entry whose time no longer is
/// that one is stale, and is passed over when it comes up. So arming is cheap, and moving a deadline back costs nothing.
struct TimerQueue {
    struct Entry {
        var time: MediaTime
        var owner: TimerOwner
        var index: Int32
    }

    private var heap: [Entry] = []

    var next: MediaTime? { heap.first?.time }

    /// Room for the timers of `owners` owners, so that arming on the packet path does not allocate.
    mutating func reserve(owners: Int) { heap.reserveCapacity(max(64, owners * 4)) }

    mutating func push(_ time: MediaTime, _ owner: TimerOwner, _ index: Int) {
        heap.append(Entry(time: time, owner: owner, index: Int32(truncatingIfNeeded: index)))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            if heap[parent].time <= heap[child].time { break }
            heap.swapAt(parent, child)
            child = parent
        }
    }

    /// The earliest entry if it is due.
    mutating func pop(dueAt now: MediaTime) -> Entry? {
        guard let first = heap.first, first.time <= now else { return nil }
        let last = heap.removeLast()
        if heap.isEmpty { return first }
        heap[0] = last
        var parent = 0
        while true {
            let left = parent * 2 + 1
            if left >= heap.count { break }
            let right = left + 1
            let child = right < heap.count && heap[right].time < heap[left].time ? right : left
            if heap[parent].time <= heap[child].time { break }
            heap.swapAt(parent, child)
            parent = child
        }
        return first
    }
}
