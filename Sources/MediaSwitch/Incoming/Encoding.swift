import MediaContract
import MediaWire

/// A packet that was taken in and is still to be forwarded: its number on the encoding's line, and whether subscribers get it.
struct PendingPacket {
    var sequence: Int64
    var isLeftOut: Bool
}

/// One RTP stream of a track, the only one or a layer of it: its numbers, its cache, and who gets it.
struct Encoding: ~Copyable {
    /// Packets taken in between two fan-outs.
    static var pendingLimit: Int { 64 }

    /// The place of its track.
    let track: Int
    /// Its place among the track's encodings, from the smallest picture.
    let layer: Int
    let transport: Int
    let rid: ShortText
    let codec: Codec
    /// The track has other layers: subscribers may come from them and go to them.
    let hasSiblings: Bool
    // Worked out once: comparing values of other modules goes through a witness table, per packet.
    let isVideo: Bool
    let asksForMissing: Bool
    let canRequestKeyFrames: Bool
    /// The track's: for each extension id on the wire its kind plus one, or 0.
    let extensionKinds: UnsafeMutablePointer<UInt8>

    var reception: Reception
    var cache: PacketCache
    var missing = MissingPackets()
    var keyFrames = KeyFrameRequester()
    /// Those who get it.
    var subscriptions = IndexList()
    /// Those who come from another layer with its next key frame.
    var newcomers = IndexList()

    // The run that waits for fan-out
    let pending: UnsafeMutablePointer<PendingPacket>
    var pendingCount = 0
    var pendingBytes = 0
    /// Where an interrupted fan-out goes on.
    var nextSubscription = 0
    var nextPending = 0

    var armedFor = MediaTime.distantFuture
    /// The lowest layer looks after the choice of layers for all.
    var nextLayerCheck = MediaTime.distantFuture
    var fullIntraSequence: UInt8 = 0

    // Figures
    var packets: UInt64 = 0
    var bytes: UInt64 = 0
    var keyFrameCount: UInt64 = 0
    var nacksSent: UInt64 = 0
    var keyFrameRequestsSent: UInt64 = 0
    var bytesAtCheck: UInt64 = 0

    /// The track's place is known only once it stands there.
    init(_ spec: EncodingSpec, layer: Int, of track: borrowing Track, at place: Int, hasSiblings: Bool) {
        self.track = place
        self.layer = layer
        transport = track.transport
        rid = spec.rid.flatMap { ShortText($0) } ?? ShortText()
        codec = track.codec
        self.hasSiblings = hasSiblings
        isVideo = track.isVideo
        asksForMissing = track.feedback.contains(.nack)
        canRequestKeyFrames = track.isVideo && !track.feedback.isDisjoint(with: [.pli, .fir])
        extensionKinds = track.extensionKinds
        reception = Reception(clockRate: track.codec.clockRate)
        // A second of speech, or of video at a megabit; the cache grows with the bitrate.
        cache =
            track.isVideo
            ? PacketCache(byteCapacity: 128 << 10, entryCapacity: 1024)
            : PacketCache(byteCapacity: 16 << 10, entryCapacity: 128)
        pending = .allocate(capacity: Self.pendingLimit)
    }

    deinit { pending.deallocate() }

    var hasListeners: Bool { subscriptions.count > 0 || newcomers.count > 0 }

    /// Takes a subscription out, also in the middle of an interrupted fan-out.
    mutating func leave(subscription: Int) {
        newcomers.remove(subscription)
        guard let place = subscriptions.place(of: subscription) else { return }
        subscriptions.remove(subscription)
        if place < nextSubscription {
            nextSubscription -= 1
        } else if place == nextSubscription {
            nextPending = 0
        }
    }

    /// The largest cache of one encoding.
    static var cacheLimit: Int { 4 << 20 }

    /// Once a second: the byte ring should hold a second of what came in.
    mutating func fitCache() {
        let lately = bytes &- bytesAtCheck
        bytesAtCheck = bytes
        while cache.byteCapacity < Self.cacheLimit, UInt64(cache.byteCapacity) < lately { cache.grow() }
    }
}
