package import MediaContract
package import MediaWire

/// The controlling half of ICE for our own clients (RFC 8445): checks the paths to a node that is ICE-lite, nominates the best that
/// works, keeps consent fresh (RFC 7675), and restarts.
///
/// It has no clock and no socket: after each call, `takeCheck` gives what is to be sent, and `nextDeadline` says when
/// `advance` must be called. A datagram over TCP is the same as over UDP; framing is the caller's (RFC 4571).
///
/// The path of the highest priority is nominated by its very first check, which saves a round trip; any other one only once
/// it has proved to work, and all better ones were given a moment. If a better path works later, it is nominated then:
/// the node follows the last nomination. Consent checks carry the nomination, so that a client whose NAT gave it
/// another port is followed, too.
package struct ICEChecker: Sendable {
    package enum State: Hashable, Sendable {
        /// No path is nominated yet, or not anew since a restart.
        case checking
        /// `selectedPath` was nominated.
        case connected
        /// No path works.
        case failed
        /// The node answered no check for 30 s: nothing may be sent until a restart (RFC 7675, section 5.1).
        case consentLost
    }

    /// Between the first checks of two paths: Ta of RFC 8445, section 14.2.
    package static let pace = MediaDuration.milliseconds(50)
    /// Until a check is sent again; it doubles. Less than the 500 ms of RFC 8445, section 14.3: the node's answers are smaller than
    /// the checks, and a caller waits.
    package static let firstTimeout = MediaDuration.milliseconds(200)
    /// A path fails when its check was sent that often without an answer: Rc of RFC 8489, section 6.2.1; after 25 s.
    package static let mostSendings = 7
    /// How long a path that works waits for a better one before it is nominated.
    package static let patience = MediaDuration.milliseconds(150)
    /// Without any path after this long: failed.
    package static let checkingLimit = MediaDuration.seconds(30)
    /// RFC 7675, section 5.1: every 5 s, times 0.8 to 1.2,
    package static let consentInterval = 4_000_000_000...6_000_000_000 as ClosedRange<Int64>
    /// sooner while a check is not answered, since one lost datagram is no loss of consent,
    package static let consentRetryInterval = 800_000_000...1_200_000_000 as ClosedRange<Int64>
    /// and gone after 30 s.
    package static let consentLimit = MediaDuration.seconds(30)
    /// Of more paths, those that come later are left out.
    package static let mostPaths = 32

    package private(set) var state = State.checking
    /// Where media goes. While a restart is on its way, still the old one.
    package private(set) var selectedPath: ICEPath?
    /// Our own address, as the node sees it on the selected path.
    package private(set) var mappedAddress: TransportAddress?
    /// Of the last check that was answered at its first sending.
    package private(set) var roundTrip: MediaDuration?

    private var checks: [ICEPathCheck] = []
    private var username: [UInt8]
    private var password: ICEPassword
    private let tieBreaker: UInt64
    private var checkingDeadline: MediaTime
    private var nextFirstCheck: MediaTime
    private var firstValid = MediaTime.distantFuture
    /// Until a path other than the best is nominated: from then on, the node is not to be led back by a check whose answer
    /// may never arrive.
    private var nominatesAtOnce = true
    private var consentDeadline = MediaTime.distantFuture
    private var nextConsent = MediaTime.distantFuture
    /// Consent checks that may still be answered, the oldest first.
    private var consents: [(transaction: STUNTransactionID, sentAt: MediaTime)] = []
    private var waiting: [(path: ICEPath, transaction: STUNTransactionID, nominates: Bool)] = []

    /// PRIORITY of every check: what a peer-reflexive candidate of ours would have (RFC 8445, sections 5.1.2.1 and 7.1.1).
    private static let priority: UInt32 = 110 << 24 | 0xFFFF << 8 | 255

    /// - Parameters:
    ///   - localFragment: the client's own user fragment.
    ///   - remote: the node's credentials.
    ///   - random: the system's generator outside tests.
    package init(
        localFragment: String, remote: ICECredentials, now: MediaTime, using random: inout some RandomNumberGenerator
    ) {
        username = Array("\(remote.usernameFragment):\(localFragment)".utf8)
        password = ICEPassword(remote.password)
        tieBreaker = random.next()
        checkingDeadline = now + ICEChecker.checkingLimit
        nextFirstCheck = now
    }

    /// Adds a path: a candidate of the node and a socket that reaches it, or a TCP connection that is established. `false`: it is
    /// known already, or there are too many.
    ///
    /// - Parameter priority: the candidate's.
    @discardableResult
    package mutating func add(_ path: ICEPath, priority: UInt32) -> Bool {
        guard checks.count < ICEChecker.mostPaths, !checks.contains(where: { $0.path == path }) else { return false }
        checks.append(ICEPathCheck(path: path, priority: priority))
        return true
    }

    /// Forgets the paths over a socket or connection that is gone. If one was selected, the others are checked anew.
    package mutating func remove(socket: Int, now: MediaTime) {
        checks.removeAll { $0.path.socket == socket }
        waiting.removeAll { $0.path.socket == socket }
        guard selectedPath?.socket == socket else { return }
        selectedPath = nil
        if state == .connected { checkAgain(now: now) }
    }

    /// Begins anew with the credentials of an ICE restart (RFC 8445, section 9). Media stays on the selected path until one is
    /// nominated under the new ones; after `consentLost` there is none.
    package mutating func restart(localFragment: String, remote: ICECredentials, now: MediaTime) {
        username = Array("\(remote.usernameFragment):\(localFragment)".utf8)
        password = ICEPassword(remote.password)
        if state == .consentLost || state == .failed { selectedPath = nil }
        checkAgain(now: now)
    }

    private mutating func checkAgain(now: MediaTime) {
        state = .checking
        for index in checks.indices { checks[index].reset() }
        waiting.removeAll()
        consents.removeAll()
        nextConsent = .distantFuture
        firstValid = .distantFuture
        nominatesAtOnce = true
        nextFirstCheck = now
        checkingDeadline = now + ICEChecker.checkingLimit
    }

    /// Does what is due.
    package mutating func advance(to now: MediaTime, using random: inout some RandomNumberGenerator) {
        guard state == .checking || state == .connected else { return }
        if state == .connected {
            if now >= consentDeadline { return lose(.consentLost) }
            if now >= nextConsent, let selectedPath {
                let transaction = STUNTransactionID(using: &random)
                if consents.count == 8 { consents.removeFirst() }
                consents.append((transaction, now))
                waiting.append((selectedPath, transaction, true))
                nextConsent =
                    now
                    + MediaDuration(
                        nanoseconds: .random(in: ICEChecker.consentRetryInterval, using: &random))
            }
        } else if now >= checkingDeadline {
            return lose(.failed)
        }
        for index in checks.indices where checks[index].status == .inProgress && now >= checks[index].nextSending {
            guard checks[index].sendings < ICEChecker.mostSendings else {
                checks[index].status = .failed
                continue
            }
            checks[index].sent(now: now)
            send(index)
        }
        if now >= nextFirstCheck, let index = nextToCheck {
            let isBest = checks.allSatisfy { $0.priority <= checks[index].priority }
            let nominates = state == .checking && nominatesAtOnce && isBest
            checks[index].begin(STUNTransactionID(using: &random), nominates: nominates, now: now)
            send(index)
            nextFirstCheck = now + ICEChecker.pace
        }
        if let index = nextToNominate, now >= firstValid + ICEChecker.patience || !hasBetter(than: index) {
            nominatesAtOnce = false
            for other in checks.indices where checks[other].status == .inProgress && checks[other].nominates {
                checks[other].reset()
            }
            checks[index].begin(STUNTransactionID(using: &random), nominates: true, now: now)
            send(index)
        }
        if state == .checking, !checks.isEmpty, checks.allSatisfy({ $0.status == .failed }) { lose(.failed) }
    }

    /// When `advance` has something to do next; `nil`: never, without a new path or a restart.
    package var nextDeadline: MediaTime? {
        guard state == .checking || state == .connected else { return nil }
        var next = state == .connected ? min(consentDeadline, nextConsent) : checkingDeadline
        for check in checks where check.status == .inProgress { next = min(next, check.nextSending) }
        if nextToCheck != nil { next = min(next, nextFirstCheck) }
        if let index = nextToNominate {
            next = hasBetter(than: index) ? min(next, firstValid + ICEChecker.patience) : .zero
        }
        return next
    }

    /// Takes a check that is to be sent.
    ///
    /// - Parameter buffer: of at least 600 bytes.
    /// - Returns: the path to send it by, and its length; `nil`: nothing is to be sent.
    package mutating func takeCheck(into buffer: UnsafeMutableRawBufferPointer) -> (path: ICEPath, length: Int)? {
        while !waiting.isEmpty {
            let next = waiting.removeFirst()
            let length = password.writeRequest(
                transactionID: next.transaction, username: username, priority: ICEChecker.priority,
                tieBreaker: tieBreaker, nominates: next.nominates, into: buffer)
            if let length { return (next.path, length) }
        }
        return nil
    }

    /// Takes a STUN datagram that came over a path. What is no verified answer to a check over that very path changes
    /// nothing (RFC 8445, section 7.2.5.2.1).
    ///
    /// - Returns: whether it was one.
    @discardableResult
    package mutating func receive(
        _ datagram: UnsafeRawBufferPointer, over path: ICEPath, now: MediaTime,
        using random: inout some RandomNumberGenerator
    ) -> Bool {
        guard state == .checking || state == .connected,
            let response = STUNBindingResponse.parse(datagram.bytes)
        else { return false }
        if let place = consents.firstIndex(where: { $0.transaction == response.transactionID }), path == selectedPath {
            guard password.verifies(datagram, response), response.errorCode == nil else { return false }
            roundTrip = now - consents[place].sentAt
            consents.removeSubrange(...place)
            renewConsent(response, now: now, using: &random)
            return true
        }
        let index = checks.firstIndex {
            $0.path == path && $0.status == .inProgress && $0.transaction == response.transactionID
        }
        guard let index, password.verifies(datagram, response) else { return false }
        guard response.errorCode == nil else {
            checks[index].status = .failed
            return true
        }
        checks[index].status = .valid
        if checks[index].sendings == 1 { roundTrip = now - checks[index].sentAt }
        firstValid = min(firstValid, now)
        guard checks[index].nominates else { return true }
        if state == .checking || checks[index].priority >= selectedPriority {
            state = .connected
            selectedPath = path
            consents.removeAll()
            renewConsent(response, now: now, using: &random)
        } else {
            // A better path was nominated in the meantime. The node may have heard of this one last, so it hears again.
            nextConsent = now
        }
        return true
    }

    private mutating func renewConsent(
        _ response: STUNBindingResponse, now: MediaTime, using random: inout some RandomNumberGenerator
    ) {
        mappedAddress = response.mappedAddress ?? mappedAddress
        consentDeadline = now + ICEChecker.consentLimit
        nextConsent = now + MediaDuration(nanoseconds: .random(in: ICEChecker.consentInterval, using: &random))
    }

    private mutating func lose(_ final: State) {
        state = final
        selectedPath = nil
        waiting.removeAll()
        consents.removeAll()
    }

    private mutating func send(_ index: Int) {
        waiting.append((checks[index].path, checks[index].transaction, checks[index].nominates))
    }

    /// Of the path that is connected; while checking, none counts.
    private var selectedPriority: UInt32 {
        guard state == .connected else { return 0 }
        return checks.first { $0.path == selectedPath }?.priority ?? 0
    }

    /// The best path that no check was sent over; once one is connected, only a better one.
    private var nextToCheck: Int? {
        best { $0.status == .waiting && (state == .checking || $0.priority > selectedPriority) }
    }

    /// The best path that works and is better than the selected one.
    private var nextToNominate: Int? {
        best { $0.status == .valid && (state == .checking || $0.priority > selectedPriority) }
    }

    /// Whether a better path may still turn out to work.
    private func hasBetter(than index: Int) -> Bool {
        checks.contains {
            $0.priority > checks[index].priority && ($0.status == .waiting || $0.status == .inProgress)
        }
    }

    private func best(_ condition: (ICEPathCheck) -> Bool) -> Int? {
        checks.indices.filter { condition(checks[$0]) }.max { checks[$0].priority < checks[$1].priority }
    }
}
