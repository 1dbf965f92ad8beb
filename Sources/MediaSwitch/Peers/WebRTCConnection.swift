import MediaContract
import MediaTransport
import MediaWire

/// A way to a peer: one of our sockets, and the peer's address there.
struct WebRTCPath {
    var socket = SocketID.sharedIPv4
    var address = TransportAddress.unspecified

    func isSame(as other: WebRTCPath) -> Bool { socket.isSame(as: other.socket) && address.isSame(as: other.address) }
}

/// ICE and DTLS of one transport: the credentials that checks are measured by, the ways that passed one, and the handshake.
struct WebRTCConnection: ~Copyable {
    /// Ways that passed a check, at one time; the one that is not in use and was heard longest ago makes room.
    static var pathLimit: Int { 8 }
    /// After this long without a sign on the path in use, a check on another one moves the transport there, nominated or not: a NAT
    /// has given the peer another port.
    static var patience: MediaDuration { .seconds(6) }
    /// Datagrams of one handshake that may wait to be worked off.
    static var waitingLimit: Int { 8 }

    struct VerifiedPath {
        var path: WebRTCPath
        var lastChecked: MediaTime
    }

    /// What an authentic check has changed.
    enum Change {
        case nothing
        /// The transport goes on here.
        case moved(forgotten: WebRTCPath?)
        /// One more way is known.
        case added(forgotten: WebRTCPath?)

        var isMove: Bool { if case .moved = self { true } else { false } }
    }

    let transport: Int
    let id: TransportID
    let role: DTLSRole

    // ICE
    private(set) var fragment: UInt64
    private(set) var password: ICEPassword
    /// Those before the last restart: checks of a peer that has not heard of it yet.
    private(set) var previousFragment: UInt64?
    private(set) var previousPassword: ICEPassword?
    private(set) var paths: [VerifiedPath] = []
    /// The place of the path in use; -1: there is none.
    private(set) var selected = -1
    private var isNominated = false
    private var transactions = CheckHistory()

    // DTLS
    var association: DTLSAssociation
    var hasStarted = false
    var hasFailed = false
    var waiting = 0

    /// Arrivals, where transport-wide feedback was negotiated.
    var arrivals = ArrivalLog()
    var feedbackDue = MediaTime.distantFuture
    var bytesAtEstimate: UInt64 = 0
    var estimatedAt = MediaTime.zero
    var lostAtEstimate: Int64 = 0
    var packetsAtEstimate: UInt64 = 0

    /// `nil`: the fragment is no number of ours.
    init?(_ spec: WebRTCTransportSpec, transport: Int, association: consuming DTLSAssociation) {
        guard let number = Self.number(of: spec.credentials.usernameFragment) else { return nil }
        self.transport = transport
        id = spec.id
        role = spec.role
        fragment = number
        password = ICEPassword(spec.credentials.password)
        self.association = association
        paths.reserveCapacity(Self.pathLimit)
    }

    /// 16 hexadecimal digits.
    static func number(of fragment: String) -> UInt64? {
        fragment.utf8.count == 16 ? UInt64(fragment, radix: 16) : nil
    }

    /// Whether the check is one of the peer's.
    func verifies(_ datagram: UnsafeRawBufferPointer, _ request: STUNBindingRequest) -> Bool {
        if request.localFragment == fragment { return password.verifies(datagram, request) }
        return request.localFragment == previousFragment && previousPassword?.verifies(datagram, request) == true
    }

    func writeResponse(
        to request: STUNBindingRequest, in datagram: UnsafeRawBufferPointer, mapped: TransportAddress,
        into room: UnsafeMutableRawBufferPointer
    ) -> Int? {
        let key = request.localFragment == fragment ? password : previousPassword ?? password
        return key.writeResponse(to: request, in: datagram, mapped: mapped, into: room)
    }

    /// New credentials beside the last ones. Returns the fragment that is no longer one, if there is any.
    mutating func restart(_ credentials: ICECredentials) -> (added: UInt64, forgotten: UInt64?)? {
        guard let number = Self.number(of: credentials.usernameFragment), number != fragment else { return nil }
        let forgotten = previousFragment
        previousFragment = fragment
        previousPassword = password
        fragment = number
        password = ICEPassword(credentials.password)
        // The next check with them says where the peer is now.
        isNominated = false
        return (number, forgotten == number ? nil : forgotten)
    }

    /// Whether an authentic check was read on its way and sent again from elsewhere: by a way that no check has come, but one of this
    /// transaction by another. STUN itself knows no replays. What is not one is remembered.
    mutating func isReplay(_ transaction: STUNTransactionID, by path: WebRTCPath) -> Bool {
        let isKnown = paths.contains { $0.path.isSame(as: path) }
        return !transactions.insert(transaction) && !isKnown
    }

    /// An authentic check came this way.
    ///
    /// - Parameter pathHeard: when anything authentic came by the path in use.
    mutating func checked(
        _ path: WebRTCPath, nominates: Bool, isCurrent: Bool, pathHeard: MediaTime, now: MediaTime
    ) -> Change {
        var forgotten: WebRTCPath?
        var place = paths.firstIndex { $0.path.isSame(as: path) } ?? -1
        let isNew = place < 0
        if isNew {
            if paths.count == Self.pathLimit {
                var oldest = -1
                for candidate in paths.indices
                where candidate != selected
                    && (oldest < 0 || paths[candidate].lastChecked < paths[oldest].lastChecked)
                { oldest = candidate }
                forgotten = paths[oldest].path
                paths[oldest] = VerifiedPath(path: path, lastChecked: now)
                place = oldest
            } else {
                place = paths.count
                paths.append(VerifiedPath(path: path, lastChecked: now))
            }
        }
        paths[place].lastChecked = now
        let isLost = selected >= 0 && now - max(paths[selected].lastChecked, pathHeard) > Self.patience
        // The last nomination counts; before the first, and after a restart, the first check does.
        let mayMove = selected < 0 || nominates || isLost || (!isNominated && isCurrent && isNew)
        guard place != selected, mayMove else {
            if nominates { isNominated = true }
            return isNew ? .added(forgotten: forgotten) : .nothing
        }
        selected = place
        if nominates { isNominated = true }
        return .moved(forgotten: forgotten)
    }

    /// Media came this way, and nothing by the path in use. False: no check has verified this way.
    mutating func follow(_ path: WebRTCPath) -> Bool {
        guard let place = paths.firstIndex(where: { $0.path.isSame(as: path) }) else { return false }
        selected = place
        return true
    }

    /// The socket is closed. The path that goes on, if it was the one in use: the one checked last.
    mutating func lose(_ socket: SocketID) -> WebRTCPath? {
        let inUse = selected >= 0 ? paths[selected].path : nil
        paths.removeAll { $0.path.socket.isSame(as: socket) }
        guard let inUse else { return nil }
        if let place = paths.firstIndex(where: { $0.path.isSame(as: inUse) }) {
            selected = place
            return nil
        }
        isNominated = false
        selected = paths.indices.max { paths[$0].lastChecked < paths[$1].lastChecked } ?? -1
        return selected >= 0 ? paths[selected].path : nil
    }

    var current: WebRTCPath? { selected >= 0 ? paths[selected].path : nil }
}
