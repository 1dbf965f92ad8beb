import MediaContract
import MediaWire

/// A packet that was taken in and is still to be forwarded: its number on the track's line, and whether subscribers get it.
struct PendingPacket {
    var sequence: Int64
    var isLeftOut: Bool
}

/// One published stream: how its packets are recognised, its cache, and who listens.
struct Track: ~Copyable {
    /// Packets taken in between two fan-outs.
    static var pendingLimit: Int { 64 }

    let id: TrackID
    let transport: Int
    let codec: Codec
    let payloadType: UInt8
    let mid: ShortText
    let feedback: FeedbackSet
    // Worked out once: comparing values of other modules goes through a witness table, per packet.
    let isVideo: Bool
    let asksForMissing: Bool
    /// For each extension id on the wire: its kind plus one, or 0.
    let extensionKinds: UnsafeMutablePointer<UInt8>

    var encoding: Encoding
    var cache: PacketCache
    var missing = MissingPackets()
    var keyFrames = KeyFrameRequester()
    var subscriptions = IndexList()

    // The run that waits for fan-out
    let pending: UnsafeMutablePointer<PendingPacket>
    var pendingCount = 0
    var pendingBytes = 0
    /// Where an interrupted fan-out goes on.
    var nextSubscription = 0
    var nextPending = 0

    var armedFor = MediaTime.distantFuture
    var fullIntraSequence: UInt8 = 0

    // Figures
    var packets: UInt64 = 0
    var bytes: UInt64 = 0
    var keyFrameCount: UInt64 = 0
    var nacksSent: UInt64 = 0
    var keyFrameRequestsSent: UInt64 = 0
    var bytesAtCheck: UInt64 = 0

    init(_ spec: TrackSpec, transport: Int) {
        id = spec.id
        self.transport = transport
        codec = spec.codec
        payloadType = spec.payloadType
        mid = spec.mid.flatMap { ShortText($0) } ?? ShortText()
        feedback = spec.feedback
        isVideo = spec.codec.kind == .video
        asksForMissing = spec.feedback.contains(.nack)
        extensionKinds = .allocate(capacity: 256)
        extensionKinds.initialize(repeating: 0, count: 256)
        for mapping in spec.extensions { extensionKinds[Int(mapping.id)] = mapping.kind.rawValue + 1 }
        encoding = Encoding(clockRate: spec.codec.clockRate)
        // A second of speech, or of video at a megabit; the cache grows with the bitrate.
        cache =
            spec.codec.kind == .audio
            ? PacketCache(byteCapacity: 16 << 10, entryCapacity: 128)
            : PacketCache(byteCapacity: 128 << 10, entryCapacity: 1024)
        pending = .allocate(capacity: Self.pendingLimit)
    }

    deinit {
        extensionKinds.deallocate()
        pending.deallocate()
    }

    var canRequestKeyFrames: Bool { isVideo && !feedback.isDisjoint(with: [.pli, .fir]) }

    /// Takes a subscription out, also in the middle of an interrupted fan-out.
    mutating func leave(subscription: Int) {
        guard let place = subscriptions.place(of: subscription) else { return }
        subscriptions.remove(subscription)
        if place < nextSubscription {
            nextSubscription -= 1
        } else if place == nextSubscription {
            nextPending = 0
        }
    }

    /// The largest cache of one track.
    static var cacheLimit: Int { 4 << 20 }

    /// Once a second: the byte ring should hold a second of what came in.
    mutating func fitCache() {
        let lately = bytes &- bytesAtCheck
        bytesAtCheck = bytes
        while cache.byteCapacity < Self.cacheLimit, UInt64(cache.byteCapacity) < lately { cache.grow() }
    }
}
