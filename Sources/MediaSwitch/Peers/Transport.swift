import MediaContract
import MediaTransport
import MediaWire

/// An SSRC that came in authentically, and the track it belongs to.
struct SSRCBinding {
    var ssrc: UInt32
    var track: Int32
}

/// Where a stream under an SSRC ended.
struct RetiredStream {
    var highestOut: Int64
    var timestamp: UInt32
    var time: MediaTime
}

/// One peer's secured path: keys, addresses, what is bound to it, what passed through it.
struct Transport: ~Copyable {
    /// How many SSRCs one transport may bring in.
    static var bindingLimit: Int { 16 }

    let id: TransportID
    let peer: Int
    let socket: SocketID
    let rtcpSocket: SocketID
    let isMuxed: Bool
    var opener: SRTPOpener
    var sealer: SRTPSealer
    let tagLength: Int32
    let localSSRC: UInt32
    let cname: [UInt8]
    let silenceLimit: MediaDuration?
    let reducedSizeRTCP: Bool

    /// A sending leg stays where it was first heard; a receiving one is followed.
    let isLatching: Bool
    var isLatched = false
    var remote: TransportAddress
    var rtcpRemote: TransportAddress
    var hasRemote: Bool
    var hasRTCPRemote: Bool

    /// Raw storage: read for each packet, and a subscript of an inline array copies the array.
    private let bindings: UnsafeMutablePointer<SSRCBinding>
    private(set) var bindingCount = 0

    var tracks = IndexList()
    var subscriptions = IndexList()
    /// Streams that ended under our key, by SSRC: their numbers must never be used again (RFC 3711, section 9.1).
    var retired: [UInt32: RetiredStream] = [:]

    // Life
    var isClosing = false
    var hasBeenHeard = false
    var lastHeard: MediaTime
    var lastHeardReported: MediaTime?
    var isSilent = false
    /// The network refuses our packets since then; the last refusal.
    var refusedSince = MediaTime(nanoseconds: .min / 2)
    var lastRefused = MediaTime(nanoseconds: .min / 2)
    var isGone = false
    /// A refusal counts once for what was sent before it.
    var packetsOutAtRefusal: UInt64 = 0
    var nextReport = MediaTime.distantFuture
    var armedFor = MediaTime.distantFuture

    // Figures
    var packetsIn: UInt64 = 0
    var bytesIn: UInt64 = 0
    var packetsOut: UInt64 = 0
    var bytesOut: UInt64 = 0

    init?(_ spec: TransportSpec, peer: Int, now: MediaTime) {
        guard let opener = SRTPOpener(key: spec.inbound), let sealer = SRTPSealer(key: spec.outbound) else {
            return nil
        }
        id = spec.id
        self.peer = peer
        socket = spec.socket
        rtcpSocket = spec.rtcpSocket
        isMuxed = spec.socket == spec.rtcpSocket
        self.opener = opener
        self.sealer = sealer
        tagLength = Int32(spec.outbound.profile.tagLength)
        localSSRC = spec.localSSRC
        cname = Array(spec.cname.utf8.prefix(255))
        silenceLimit = spec.silenceLimit
        reducedSizeRTCP = spec.reducedSizeRTCP
        switch spec.remote {
        case .latched:
            isLatching = true
            remote = .unspecified
            rtcpRemote = .unspecified
            hasRemote = false
            hasRTCPRemote = false
        case .known(let rtp, let rtcp):
            isLatching = false
            remote = rtp
            rtcpRemote = rtcp
            hasRemote = true
            hasRTCPRemote = true
        }
        lastHeard = now
        bindings = .allocate(capacity: Self.bindingLimit)
        bindings.initialize(repeating: SSRCBinding(ssrc: 0, track: -1), count: Self.bindingLimit)
    }

    deinit { bindings.deallocate() }

    // MARK: SSRCs

    @inline(__always) func track(of ssrc: UInt32) -> Int? {
        for place in 0..<bindingCount where bindings[place].ssrc == ssrc { return Int(bindings[place].track) }
        return nil
    }

    var canBind: Bool { bindingCount < Self.bindingLimit }

    /// The first binding of an SSRC stays.
    mutating func bind(_ ssrc: UInt32, to track: Int) {
        guard canBind, self.track(of: ssrc) == nil else { return }
        bindings[bindingCount] = SSRCBinding(ssrc: ssrc, track: Int32(track))
        bindingCount += 1
    }

    mutating func unbind(track: Int) {
        var kept = 0
        for place in 0..<bindingCount where bindings[place].track != Int32(track) {
            bindings[kept] = bindings[place]
            kept += 1
        }
        bindingCount = kept
    }

    /// Remembers where a stream ended; one that never sent anything passes on what it was to continue.
    mutating func retire(_ subscription: Subscription, now: MediaTime) {
        if let earlier = subscription.resumed {
            retired[subscription.ssrc] = earlier
        } else if subscription.rewriter.hasStarted {
            retired[subscription.ssrc] = RetiredStream(
                highestOut: subscription.rewriter.highestOut, timestamp: subscription.lastTimestamp, time: now)
        }
    }

    // MARK: Addresses

    /// Whether a datagram from this address may be looked at before it is authenticated. A latched transport hears one address on
    /// each socket.
    @inline(__always) func mayHear(_ source: TransportAddress, isRTCPSocket: Bool) -> Bool {
        guard isLatching, isLatched else { return true }
        if isRTCPSocket {
            return hasRTCPRemote ? source == rtcpRemote : source.isSameHost(as: remote)
        }
        return hasRemote ? source == remote : source.isSameHost(as: rtcpRemote)
    }

    /// Follows an authentic packet; a receiving leg to another port of its host only, for a source address can be forged by who
    /// has the key, and no stream may be pointed at a third party. True: this was the first one heard.
    mutating func heard(from source: TransportAddress, isRTCPSocket: Bool, now: MediaTime) -> Bool {
        lastHeard = now
        isSilent = false
        isGone = false
        if isRTCPSocket {
            if isLatching ? !hasRTCPRemote : source.isSameHost(as: rtcpRemote) {
                rtcpRemote = source
                hasRTCPRemote = true
            }
        } else if isLatching ? !hasRemote : source.isSameHost(as: remote) {
            remote = source
            hasRemote = true
            if isMuxed {
                rtcpRemote = source
                hasRTCPRemote = true
            }
        }
        isLatched = true
        guard !hasBeenHeard else { return false }
        hasBeenHeard = true
        return true
    }

    /// Our source description for one of our SSRCs (RFC 3550, section 6.5).
    func name(_ ssrc: UInt32, _ writer: inout RTCPWriter) -> Bool {
        cname.withUnsafeBytes { writer.sourceDescription(ssrc: ssrc, cname: $0) }
    }

    /// Where our RTCP goes: to where the peer's comes from, before that to the port after its RTP (RFC 3550, section 11).
    var rtcpDestination: TransportAddress? {
        if isMuxed { return hasRemote ? remote : nil }
        if hasRTCPRemote { return rtcpRemote }
        return hasRemote && remote.port < .max ? remote.with(port: remote.port + 1) : nil
    }
}
