import MediaContract
import MediaWire

/// A waiting datagram: what is known of it besides its bytes.
struct OutboxSlot {
    var length: Int32 = 0
    var next: Int32 = -1
    var ssrc: UInt32 = 0
    /// Rollover counter and sequence number (RFC 3711, section 3.3.1).
    var index: UInt64 = 0
    /// The encoding it is a copy of; -1: none.
    var encoding: Int32 = -1
    var headerLength: UInt16 = 0
    var isVideo = false
    var isSealed = false
    var isDone = false
}

/// What waits for one destination, oldest first.
struct OutboxQueue {
    var head: Int32 = -1
    var tail: Int32 = -1
    /// Its socket took no more at the last flush.
    var isBlocked = false
    /// It stands in the list of destinations to visit at the next flush.
    var isListed = false
}

/// Waiting datagrams, in slots. They queue by destination, so that runs of equal ones leave as one message, and they are sealed
/// as one batch right before that. Fixed in size: what does not fit waits for a flush, or is dropped by name.
///
/// A destination is a transport, or its RTCP on a socket of its own (see `destination(ofTransport:)`). Destination 0 is for answers
/// that go where a datagram came from, each to its own address.
package struct Outbox: ~Copyable {
    /// Room for a datagram of 1500 bytes with grown extensions and a tag.
    static var slotSize: Int { 1600 }

    /// The planned messages, after `Switchboard.prepareFlush`.
    package private(set) var messages: UnsafeMutableBufferPointer<OutboundMessage>
    /// The planned segments: sealed datagrams.
    package private(set) var segments: UnsafeMutableBufferPointer<UnsafeRawBufferPointer>
    package private(set) var messageCount = 0
    /// Datagrams waiting.
    package private(set) var count = 0
    /// Whether runs of equal datagrams to one destination may be planned as one message. The engine turns it off for good
    /// when the kernel refuses UDP_SEGMENT.
    package var segmentation: Bool
    /// A message carries at most this many bytes, so that no burst is longer than a subscriber's link can take at once.
    let messageBytes: Int

    let capacity: Int
    private let storage: UnsafeMutableRawPointer
    let slots: UnsafeMutablePointer<OutboxSlot>
    private let free: UnsafeMutablePointer<Int32>
    private(set) var freeCount: Int
    private let plannedSlots: UnsafeMutablePointer<Int32>
    private let plannedDestinations: UnsafeMutablePointer<Int32>
    /// Of each slot that waits for destination 0, where it goes.
    private let answerPaths: UnsafeMutablePointer<WebRTCPath>
    /// The slots that are being sealed, in the order of the batch.
    let sealing: UnsafeMutablePointer<Int32>

    private(set) var queues: UnsafeMutablePointer<OutboxQueue>
    private var queueCapacity = 64
    /// Destinations with something waiting.
    private(set) var listed: UnsafeMutablePointer<Int32>
    private(set) var listedCount = 0
    private var blockedCount = 0

    init(capacity: Int, segmentation: Bool, messageBytes: Int) {
        self.capacity = capacity
        self.segmentation = segmentation
        self.messageBytes = min(messageBytes, 63_000)
        messages = .allocate(capacity: capacity)
        segments = .allocate(capacity: capacity)
        storage = .allocate(byteCount: capacity * Self.slotSize, alignment: 64)
        slots = .allocate(capacity: capacity)
        slots.initialize(repeating: OutboxSlot(), count: capacity)
        free = .allocate(capacity: capacity)
        for index in 0..<capacity { free[index] = Int32(capacity - 1 - index) }
        freeCount = capacity
        plannedSlots = .allocate(capacity: capacity)
        plannedDestinations = .allocate(capacity: capacity)
        sealing = .allocate(capacity: capacity)
        answerPaths = .allocate(capacity: capacity)
        answerPaths.initialize(repeating: WebRTCPath(), count: capacity)
        queues = .allocate(capacity: queueCapacity)
        queues.initialize(repeating: OutboxQueue(), count: queueCapacity)
        listed = .allocate(capacity: queueCapacity)
    }

    deinit {
        messages.deallocate()
        segments.deallocate()
        storage.deallocate()
        slots.deallocate()
        free.deallocate()
        plannedSlots.deallocate()
        plannedDestinations.deallocate()
        sealing.deallocate()
        answerPaths.deallocate()
        queues.deallocate()
        listed.deallocate()
    }

    var isFull: Bool { freeCount == 0 }

    /// Where a transport's datagrams queue; one more: its RTCP, if that has a socket of its own.
    @inline(__always) static func destination(ofTransport place: Int) -> Int { place &* 2 &+ 2 }
    /// The inverse of that; -1: none.
    @inline(__always) static func transport(ofDestination destination: Int) -> Int { destination / 2 &- 1 }

    /// Queues an answer to where something came from. It is sealed already, or never will be.
    mutating func answer(_ slot: Int, to path: WebRTCPath) {
        slots[slot].encoding = -1
        slots[slot].isVideo = false
        slots[slot].isSealed = true
        answerPaths[slot] = path
        enqueue(slot, to: 0)
    }

    /// Room for the queues of this many destinations. Called when transports are added, never per packet.
    mutating func reserve(destinations: Int) {
        guard destinations > queueCapacity else { return }
        let size = max(destinations, queueCapacity * 2)
        let moreQueues = UnsafeMutablePointer<OutboxQueue>.allocate(capacity: size)
        moreQueues.initialize(repeating: OutboxQueue(), count: size)
        moreQueues.update(from: queues, count: queueCapacity)
        let moreListed = UnsafeMutablePointer<Int32>.allocate(capacity: size)
        moreListed.update(from: listed, count: listedCount)
        queues.deallocate()
        listed.deallocate()
        queues = moreQueues
        listed = moreListed
        queueCapacity = size
    }

    /// Whether a copy for this destination may wait here: a destination whose socket takes nothing keeps at most an eighth of the slots, and
    /// while any is blocked the last quarter is not for video.
    @inline(__always) func admits(_ destination: Int, isVideo: Bool) -> Bool {
        blockedCount == 0 || admitsWhileBlocked(destination, isVideo: isVideo)
    }

    private func admitsWhileBlocked(_ destination: Int, isVideo: Bool) -> Bool {
        if isVideo, freeCount <= capacity / 4 { return false }
        guard queues[destination].isBlocked else { return true }
        var waiting = 0
        var slot = queues[destination].head
        while slot >= 0 {
            waiting += 1
            slot = slots[Int(slot)].next
        }
        return waiting < max(capacity / 8, 1)
    }

    @inline(__always) func bytes(of slot: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: storage + slot &* Self.slotSize, count: Self.slotSize)
    }

    /// Takes a free slot; the caller fills it and calls `enqueue` or `giveBack`. `nil`: full.
    @inline(__always) mutating func take() -> Int? {
        guard freeCount > 0 else { return nil }
        freeCount &-= 1
        return Int(free[freeCount])
    }

    @inline(__always) mutating func giveBack(_ slot: Int) {
        free[freeCount] = Int32(truncatingIfNeeded: slot)
        freeCount &+= 1
    }

    @inline(__always) mutating func enqueue(_ slot: Int, to destination: Int) {
        slots[slot].next = -1
        slots[slot].isDone = false
        let number = Int32(truncatingIfNeeded: slot)
        let queue = queues + destination
        if queue.pointee.head < 0 {
            queue.pointee.head = number
            if !queue.pointee.isListed {
                queue.pointee.isListed = true
                listed[listedCount] = Int32(truncatingIfNeeded: destination)
                listedCount &+= 1
            }
        } else {
            slots[Int(queue.pointee.tail)].next = number
        }
        queue.pointee.tail = number
        count &+= 1
    }

    /// Frees the waiting datagrams that are marked as done, wherever they wait.
    mutating func dropDone() {
        for place in 0..<listedCount { drop(from: Int(listed[place])) { $0.isDone } }
    }

    // MARK: The plan

    mutating func beginPlan() { messageCount = 0 }

    /// Plans everything that waits for one destination. Equal lengths in a row make one message; a shorter one may end it.
    mutating func plan(destination: Int, socket: SocketID, address: TransportAddress, segment: inout Int) {
        var slot = queues[destination].head
        while slot >= 0 {
            let first = segment
            let size = Int(slots[Int(slot)].length)
            let limit = segmentation ? max(1, min(64, messageBytes / max(size, 1))) : 1
            var length = size
            while slot >= 0, segment - first < limit, length == size {
                length = Int(slots[Int(slot)].length)
                if length > size { break }
                segments[segment] = UnsafeRawBufferPointer(
                    start: UnsafeRawPointer(storage + Int(slot) * Self.slotSize), count: length)
                plannedSlots[segment] = slot
                segment += 1
                slot = slots[Int(slot)].next
            }
            messages[messageCount] = OutboundMessage(
                socket: socket, destination: address, firstSegment: first, segmentCount: segment - first,
                segmentSize: size)
            plannedDestinations[messageCount] = Int32(truncatingIfNeeded: destination)
            messageCount += 1
        }
    }

    /// Plans the answers, each by itself.
    mutating func planAnswers(segment: inout Int) {
        var slot = queues[0].head
        while slot >= 0 {
            let size = Int(slots[Int(slot)].length)
            segments[segment] = UnsafeRawBufferPointer(
                start: UnsafeRawPointer(storage + Int(slot) * Self.slotSize), count: size)
            plannedSlots[segment] = slot
            let path = answerPaths[Int(slot)]
            messages[messageCount] = OutboundMessage(
                socket: path.socket, destination: path.address, firstSegment: segment, segmentCount: 1,
                segmentSize: size)
            plannedDestinations[messageCount] = 0
            messageCount += 1
            segment += 1
            slot = slots[Int(slot)].next
        }
    }

    /// Marks the datagrams of a message; returns its destination.
    mutating func mark(message index: Int, _ outcome: SendOutcome) -> Int {
        let message = messages[index]
        let destination = Int(plannedDestinations[index])
        // An answer that cannot leave now is asked for again; it must not hold up others.
        if outcome == .blocked, destination != 0 {
            if !queues[destination].isBlocked { blockedCount += 1 }
            queues[destination].isBlocked = true
        } else {
            for segment in message.firstSegment..<message.firstSegment + message.segmentCount {
                slots[Int(plannedSlots[segment])].isDone = true
            }
        }
        return destination
    }

    /// Frees what is done and keeps the rest in order.
    mutating func finish() {
        var kept = 0
        for place in 0..<listedCount {
            let destination = Int(listed[place])
            drop(from: destination) { $0.isDone }
            if queues[destination].head >= 0 {
                listed[kept] = Int32(truncatingIfNeeded: destination)
                kept += 1
                continue
            }
            if queues[destination].isBlocked { blockedCount -= 1 }
            queues[destination] = OutboxQueue()
        }
        listedCount = kept
    }

    /// Frees the waiting datagrams that `condition` names; the destination stays listed until `finish`.
    @discardableResult
    mutating func drop(from destination: Int, where condition: (OutboxSlot) -> Bool) -> Int {
        var slot = queues[destination].head
        var head: Int32 = -1
        var tail: Int32 = -1
        var dropped = 0
        while slot >= 0 {
            let next = slots[Int(slot)].next
            if condition(slots[Int(slot)]) {
                giveBack(Int(slot))
                count -= 1
                dropped += 1
            } else {
                if tail >= 0 { slots[Int(tail)].next = slot } else { head = slot }
                slots[Int(slot)].next = -1
                tail = slot
            }
            slot = next
        }
        queues[destination].head = head
        queues[destination].tail = tail
        return dropped
    }

    /// Makes room for speech where everything is full: takes the slot of the oldest video copy of some destination. `nil`: there is none.
    mutating func takeFromVideo() -> Int? {
        for place in 0..<listedCount {
            var found = false
            drop(from: Int(listed[place])) { slot in
                guard !found, slot.isVideo else { return false }
                found = true
                return true
            }
            if found { return take() }
        }
        return nil
    }

    /// Frees waiting copies of a removed encoding, wherever they were to go.
    mutating func drop(copiesOf encoding: Int) {
        for place in 0..<listedCount {
            drop(from: Int(listed[place])) { $0.encoding == Int32(truncatingIfNeeded: encoding) }
        }
    }
}
