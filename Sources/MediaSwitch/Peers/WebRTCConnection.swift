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
    /// So long the peer's consent to a way lasts, counted from its last check there (RFC 7675, section 5.1).
    static var consent: MediaDuration { .seconds(30) }
    /// After a nomination media elsewhere is taken for packets that were under way.
    static var nominationPause: MediaDuration { .seconds(3) }
    /// A check that was overtaken by its copy comes within this time, or not at all.
    static var overtakingLimit: MediaDuration { .seconds(1) }
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

    /// What an authentic check is worth.
    enum Verdict {
        case fresh
        /// Known, by a way that is known: a retransmission. It is answered, and changes nothing.
        case repeated
        /// Known, because a copy of it came first, from elsewhere, and has moved the transport there: this is the peer's own.
        case overtaken
        /// Known, by a way of its own; or too late to be told from one.
        case replayed
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
    /// The checks made with either credentials.
    private var history = CheckHistory()
    private var previousHistory = CheckHistory()
    /// The check that last moved the transport to a way that was new.
    private var lastMove: (transaction: STUNTransactionID, from: WebRTCPath, to: WebRTCPath, time: MediaTime)?
    private var nominatedAt = MediaTime(nanoseconds: .min / 2)

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
        swap(&history, &previousHistory)
        history = CheckHistory()
        // The next check with them says where the peer is now.
        isNominated = false
        return (number, forgotten == number ? nil : forgotten)
    }

    /// Tells an authentic check from one that was read on its way and sent again: a transaction counts once, for as long as its
    /// credentials do. What is not known is remembered.
    ///
    /// A node that has an end of ICE-lite cannot ask back, so where memory is used up (`CheckHistory.capacity`, until a restart) only
    /// silence shows that the peer has moved.
    mutating func judge(
        _ request: STUNBindingRequest, by path: WebRTCPath, pathHeard: MediaTime, now: MediaTime
    ) -> Verdict {
        let isCurrent = request.localFragment == fragment
        let transaction = request.transactionID
        let isKnownPath = paths.contains { $0.path.isSame(as: path) }
        guard isCurrent ? history.contains(transaction) : previousHistory.contains(transaction) else {
            let isFull = isCurrent ? history.isFull : previousHistory.isFull
            if isFull, let current, !current.isSame(as: path), !isLost(pathHeard, now) {
                return isKnownPath ? .repeated : .replayed
            }
            if isCurrent { history.insert(transaction) } else { previousHistory.insert(transaction) }
            return .fresh
        }
        guard isKnownPath else { return .replayed }
        guard let lastMove, lastMove.transaction == transaction, lastMove.from.isSame(as: path),
            current?.isSame(as: lastMove.to) == true, now - lastMove.time <= Self.overtakingLimit
        else { return .repeated }
        return .overtaken
    }

    /// After this long the way in use is taken to be gone.
    private func isLost(_ pathHeard: MediaTime, _ now: MediaTime) -> Bool {
        selected >= 0 && now - max(paths[selected].lastChecked, pathHeard) > Self.patience
    }

    /// A fresh check came this way.
    ///
    /// - Parameter pathHeard: when anything authentic came by the path in use.
    mutating func checked(
        _ path: WebRTCPath, _ request: STUNBindingRequest, pathHeard: MediaTime, now: MediaTime
    ) -> Change {
        let nominates = request.usesCandidate
        let isCurrent = request.localFragment == fragment
        let isLost = isLost(pathHeard, now)
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
        // The last nomination counts; before the first, and after a restart, the first check does.
        let mayMove = selected < 0 || nominates || isLost || (!isNominated && isCurrent && isNew)
        if nominates {
            isNominated = true
            nominatedAt = now
        }
        // The peer itself is there.
        if let lastMove, lastMove.to.isSame(as: path) { self.lastMove = nil }
        guard place != selected, mayMove else { return isNew ? .added(forgotten: forgotten) : .nothing }
        if isNew, let current { lastMove = (request.transactionID, current, path, now) }
        selected = place
        return .moved(forgotten: forgotten)
    }

    /// Media came this way, and nothing by the path in use. False: no check has verified this way lately, or one has just
    /// nominated the other.
    mutating func follow(_ path: WebRTCPath, now: MediaTime) -> Bool {
        guard let place = paths.firstIndex(where: { $0.path.isSame(as: path) }),
            now - paths[place].lastChecked <= Self.consent, now - nominatedAt >= Self.nominationPause
        else { return false }
        selected = place
        return true
    }

    /// The check that had moved the transport came by the way it was moved from: back there, and forgets where the copy came from.
    mutating func moveBack(now: MediaTime) -> Change {
        guard let lastMove else { return .nothing }
        self.lastMove = nil
        paths.removeAll { $0.path.isSame(as: lastMove.to) }
        selected = paths.firstIndex { $0.path.isSame(as: lastMove.from) } ?? -1
        guard selected >= 0 else { return .nothing }
        paths[selected].lastChecked = now
        return .moved(forgotten: lastMove.to)
    }

    /// The socket is closed. The path that goes on, if it was the one in use: the one checked last, while that counts.
    mutating func lose(_ socket: SocketID, now: MediaTime) -> WebRTCPath? {
        let inUse = selected >= 0 ? paths[selected].path : nil
        paths.removeAll { $0.path.socket.isSame(as: socket) }
        guard let inUse else { return nil }
        if let place = paths.firstIndex(where: { $0.path.isSame(as: inUse) }) {
            selected = place
            return nil
        }
        isNominated = false
        selected =
            paths.indices.filter { now - paths[$0].lastChecked <= Self.consent }
            .max { paths[$0].lastChecked < paths[$1].lastChecked } ?? -1
        return selected >= 0 ? paths[selected].path : nil
    }

    /// Whether a check came by this way.
    func knows(_ path: WebRTCPath) -> Bool { paths.contains { $0.path.isSame(as: path) } }

    /// Whether a check came from this address to a shared socket.
    func knows(_ address: TransportAddress) -> Bool {
        paths.contains { $0.path.socket.isShared && $0.path.address.isSame(as: address) }
    }

    var current: WebRTCPath? { selected >= 0 ? paths[selected].path : nil }
}
