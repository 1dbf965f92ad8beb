import MediaContract
import MediaTransport
import MediaWire

/// An SSRC that came in authentically, and the encoding it belongs to.
struct SSRCBinding {
    var ssrc: UInt32
    var encoding: Int32
    /// Its packets repair those of the encoding (RFC 4588).
    var isRepair = false
}

/// Where a stream under an SSRC ended.
struct RetiredStream {
    var highestOut: Int64
    var timestamp: UInt32
    var time: MediaTime
    /// The next number of the stream that repaired it.
    var nextRepair: Int64
}

/// One peer's secured path: keys, addresses, what is bound to it, what passed through it.
struct Transport: ~Copyable {
    /// How many SSRCs a plain leg may bring in.
    static var plainBindingLimit: Int { 16 }
    /// How many a WebRTC transport may at one time,
    static var webRTCBindingLimit: Int { 512 }
    /// and over its life: no place in its opener is ever given back. A camera that comes and goes takes two each time.
    static var webRTCSourceLimit: Int { 512 }
    /// Streams that may have ended on one transport.
    static var retiredLimit: Int { 4096 }

    let id: TransportID
    let peer: Int
    /// Of a WebRTC transport: that of the path that is in use.
    var socket: SocketID
    let rtcpSocket: SocketID
    let isMuxed: Bool
    /// Where its ICE and DTLS are; -1: a plain leg.
    let connection: Int
    /// Its keys are there.
    private(set) var isReady: Bool
    var opener: SRTPOpener
    var sealer: SRTPSealer
    private(set) var tagLength: Int32
    let localSSRC: UInt32
    let cname: [UInt8]
    let silenceLimit: MediaDuration?
    /// `nil`: a plain leg.
    let quietLimit: MediaDuration?
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
    let bindingLimit: Int
    private(set) var bindingCount = 0

    var tracks = IndexList()
    var subscriptions = IndexList()
    /// Streams that ended under our key, by SSRC: their numbers must never be used again (RFC 3711, section 9.1).
    var retired: [UInt32: RetiredStream] = [:]

    // Life
    var isClosing = false
    var hasBeenHeard = false
    var lastHeard: MediaTime
    /// The same of the path in use.
    var pathHeard: MediaTime
    var lastHeardReported: MediaTime?
    var isSilent = false
    /// It was reported as quiet, and not heard since.
    var isQuiet = false
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
        connection = -1
        isReady = true
        self.opener = opener
        self.sealer = sealer
        tagLength = Int32(spec.outbound.profile.tagLength)
        localSSRC = spec.localSSRC
        cname = Array(spec.cname.utf8.prefix(255))
        silenceLimit = spec.silenceLimit
        quietLimit = nil
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
        pathHeard = now
        bindingLimit = Self.plainBindingLimit
        bindings = Self.makeBindings(bindingLimit)
    }

    /// One that ICE and DTLS will bring up: `connection` is the place of them.
    init(_ spec: WebRTCTransportSpec, peer: Int, connection: Int, now: MediaTime) {
        id = spec.id
        self.peer = peer
        socket = .sharedIPv4
        rtcpSocket = .sharedIPv4
        isMuxed = true
        self.connection = connection
        isReady = false
        opener = SRTPOpener()
        sealer = SRTPSealer()
        tagLength = 0
        localSSRC = spec.localSSRC
        cname = Array(spec.cname.utf8.prefix(255))
        silenceLimit = spec.silenceLimit
        quietLimit = spec.quietLimit
        reducedSizeRTCP = true
        isLatching = false
        remote = .unspecified
        rtcpRemote = .unspecified
        hasRemote = false
        hasRTCPRemote = false
        lastHeard = now
        pathHeard = now
        bindingLimit = Self.webRTCBindingLimit
        bindings = Self.makeBindings(bindingLimit)
    }

    deinit { bindings.deallocate() }

    private static func makeBindings(_ count: Int) -> UnsafeMutablePointer<SSRCBinding> {
        let bindings = UnsafeMutablePointer<SSRCBinding>.allocate(capacity: count)
        bindings.initialize(repeating: SSRCBinding(ssrc: 0, encoding: -1), count: count)
        return bindings
    }

    var isWebRTC: Bool { connection >= 0 }

    /// DTLS has agreed on keys. False: they cannot be used.
    mutating func begin(inbound: SRTPMasterKey, outbound: SRTPMasterKey) -> Bool {
        guard !isReady, let newOpener = SRTPOpener(key: inbound, maximumSSRCs: Self.webRTCSourceLimit),
            let newSealer = SRTPSealer(key: outbound)
        else { return false }
        opener = newOpener
        sealer = newSealer
        tagLength = Int32(outbound.profile.tagLength)
        isReady = true
        return true
    }

    /// Whether media goes there now.
    @inline(__always) func uses(_ path: WebRTCPath) -> Bool {
        path.isSame(as: WebRTCPath(socket: socket, address: remote))
    }

    /// Where media goes to, and comes from.
    mutating func use(_ path: WebRTCPath, now: MediaTime) {
        pathHeard = now
        socket = path.socket
        remote = path.address
        rtcpRemote = path.address
        hasRemote = true
        hasRTCPRemote = true
    }

    // MARK: SSRCs

    @inline(__always) func binding(of ssrc: UInt32) -> SSRCBinding? {
        for place in 0..<bindingCount where bindings[place].ssrc == ssrc { return bindings[place] }
        return nil
    }

    var canBind: Bool { bindingCount < bindingLimit }

    /// The first binding of an SSRC stays.
    mutating func bind(_ ssrc: UInt32, to encoding: Int, isRepair: Bool = false) {
        guard canBind, binding(of: ssrc) == nil else { return }
        bindings[bindingCount] = SSRCBinding(ssrc: ssrc, encoding: Int32(encoding), isRepair: isRepair)
        bindingCount += 1
    }

    mutating func unbind(encoding: Int) {
        var kept = 0
        for place in 0..<bindingCount where bindings[place].encoding != Int32(encoding) {
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
                highestOut: subscription.rewriter.highestOut, timestamp: subscription.lastTimestamp, time: now,
                nextRepair: subscription.nextRepair)
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
        // A WebRTC transport is moved among verified paths only (`Switchboard.heardElsewhere`), and its keys say that it is connected.
        if isWebRTC {
            hasBeenHeard = true
            return false
        }
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
