import MediaWire

/// Who is due next: a binary heap. An entry whose client has been rescheduled is stale; the reader tells by the client's own
/// deadline.
struct DeadlineQueue {
    struct Entry {
        var time: MediaTime
        var slot: Int
    }

    private var entries: [Entry] = []

    var next: MediaTime? { entries.first?.time }

    mutating func add(_ time: MediaTime, slot: Int) {
        entries.append(Entry(time: time, slot: slot))
        var place = entries.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard entries[place].time < entries[parent].time else { return }
            entries.swapAt(place, parent)
            place = parent
        }
    }

    mutating func takeDue(_ now: MediaTime) -> Entry? {
        guard let first = entries.first, first.time <= now else { return nil }
        let last = entries.removeLast()
        guard !entries.isEmpty else { return first }
        entries[0] = last
        var place = 0
        while true {
            var smallest = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < entries.count && entries[child].time < entries[smallest].time {
                smallest = child
            }
            guard smallest != place else { return first }
            entries.swapAt(place, smallest)
            place = smallest
        }
    }
}
