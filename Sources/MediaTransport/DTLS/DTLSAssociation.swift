internal import CCrypto
package import MediaContract
package import MediaWire

/// One DTLS association over a datagram path (RFC 6347), which agrees on SRTP keys (RFC 5764) and carries nothing else.
///
/// Datagrams go in one by one, and what is to be sent waits to be taken after each call. Time is what the caller says it
/// is. A step is bounded: at most 64 records of one datagram. What comes from elsewhere than an address that ICE has
/// verified must not be given to it: until the handshake is over, nothing in DTLS is authenticated.
package struct DTLSAssociation: ~Copyable, @unchecked Sendable {
    package enum State: Hashable, Sendable {
        case handshaking
        /// The peer's certificate is the right one, and there are keys.
        case connected
        /// For good; an alert for the peer may wait to be taken.
        case failed(TransportFailure)
        /// By us.
        case closed
    }

    /// A handshake must be over after this long,
    package static let handshakeLimit = MediaDuration.seconds(30)
    /// and within this many bytes that come in.
    package static let handshakeByteLimit = 64 * 1024
    /// No datagram that goes out is longer.
    package static let longestDatagram = Int(PARLOR_DTLS_LONGEST_DATAGRAM)

    // Owned by this struct alone, so it may move to another thread with it.
    private let association: OpaquePointer
    private let role: DTLSRole
    private let handshakeDeadline: MediaTime
    private var filter = DTLSRecordFilter()
    private var bytesIn = 0
    private var isLimitExceeded = false
    private var isStarted = false
    private var keysTaken = false
    /// The flight that waits for an answer, as the shim numbers them; 0: none does.
    private var flight: UInt32 = 0
    private var retransmission = MediaTime.distantFuture
    private var interval = MediaDuration.zero

    /// - Parameters:
    ///   - fingerprints: the peer's certificate must have one of them (16 at most); empty: any certificate will do, but
    ///     there must be one.
    ///   - now: the limit of the handshake's time counts from here.
    /// - Returns: `nil`: out of memory, or too many fingerprints.
    package init?(context: DTLSContext, role: DTLSRole, fingerprints: [DTLSFingerprint], now: MediaTime) {
        let wanted = fingerprints.map { fingerprint in
            var copy = parlor_dtls_fingerprint()
            switch fingerprint.hash {
            case .sha256: copy.hash = PARLOR_DTLS_SHA256
            case .sha384: copy.hash = PARLOR_DTLS_SHA384
            case .sha512: copy.hash = PARLOR_DTLS_SHA512
            }
            // `bytes` may have been changed since the length was checked: missing ones stay zero and fit no certificate.
            withUnsafeMutableBytes(of: &copy.bytes) { $0.copyBytes(from: fingerprint.bytes.prefix($0.count)) }
            return copy
        }
        guard let association = parlor_dtls_create(context.context, role == .client, wanted, wanted.count) else {
            return nil
        }
        self.association = association
        self.role = role
        handshakeDeadline = now + DTLSAssociation.handshakeLimit
    }

    deinit { parlor_dtls_destroy(association) }

    package var state: State {
        switch parlor_dtls_state(association) {
        case PARLOR_DTLS_HANDSHAKING: isLimitExceeded ? .failed(.handshakeLimit) : .handshaking
        case PARLOR_DTLS_CONNECTED: .connected
        case PARLOR_DTLS_WRONG_FINGERPRINT: .failed(.fingerprintMismatch)
        case PARLOR_DTLS_CLOSED_BY_PEER: .failed(.closedByPeer)
        case PARLOR_DTLS_CLOSED: isLimitExceeded ? .failed(.handshakeLimit) : .closed
        default: .failed(.handshakeFailed)
        }
    }

    /// The client's first flight, once. For a server, nothing.
    package mutating func start(now: MediaTime) {
        guard role == .client, !isStarted else { return }
        isStarted = true
        parlor_dtls_step(association, nil, 0)
        schedule(now: now)
    }

    /// Takes one datagram. Bytes that are no DTLS, or that no sane peer sends, change nothing.
    package mutating func receive(_ datagram: UnsafeRawBufferPointer, now: MediaTime) {
        let isHandshaking = state == .handshaking
        guard isHandshaking || state == .connected, let base = datagram.baseAddress else { return }
        if isHandshaking {
            // A client that has asked nothing gets no answer.
            guard role == .server || isStarted else { return }
            bytesIn = bytesIn &+ datagram.count
            guard now < handshakeDeadline, bytesIn <= DTLSAssociation.handshakeByteLimit else { return exceedLimit() }
        }
        guard filter.admits(datagram.bytes, isHandshaking: isHandshaking) else { return }
        parlor_dtls_step(association, base.assumingMemoryBound(to: UInt8.self), datagram.count)
        schedule(now: now)
    }

    /// Sends the last flight again if it is due, and ends a handshake that takes too long.
    package mutating func advance(to now: MediaTime) {
        guard state == .handshaking else { return }
        if now >= handshakeDeadline { return exceedLimit() }
        guard now >= retransmission else { return }
        parlor_dtls_timeout(association)
        flight = parlor_dtls_flights(association)
        guard flight != 0 else {
            retransmission = .distantFuture
            return
        }
        // RFC 6347, section 4.2.4.1.
        let longest = MediaDuration.microseconds(Int64(PARLOR_DTLS_LONGEST_TIMEOUT_US))
        interval = min(MediaDuration(nanoseconds: interval.nanoseconds &* 2), longest)
        retransmission = now + interval
    }

    /// When `advance` has something to do next.
    package var nextDeadline: MediaTime? {
        state == .handshaking ? min(handshakeDeadline, retransmission) : nil
    }

    /// Takes the datagram that has waited longest; of more than 16, the later ones were lost.
    ///
    /// - Parameter buffer: of at least `longestDatagram` bytes.
    /// - Returns: its length; `nil`: none waits, or the buffer is too small for it.
    package mutating func takeDatagram(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard let base = buffer.baseAddress else { return nil }
        let length = parlor_dtls_take(association, base.assumingMemoryBound(to: UInt8.self), buffer.count)
        return length == 0 ? nil : length
    }

    /// The master keys of both directions (RFC 5764, section 4.2), once. `nil`: not connected, or taken already. Nobody gets
    /// there whose certificate is not the right one.
    package mutating func takeKeys() -> (inbound: SRTPMasterKey, outbound: SRTPMasterKey)? {
        guard !keysTaken, state == .connected else { return nil }
        var keys = parlor_dtls_keys()
        defer { parlor_erase(&keys, MemoryLayout<parlor_dtls_keys>.size) }
        guard parlor_dtls_export(association, &keys), let profile = SRTPProfile(rawValue: UInt8(clamping: keys.profile))
        else { return nil }
        func bytes<Tuple>(_ tuple: Tuple, _ count: Int) -> [UInt8] {
            withUnsafeBytes(of: tuple) { Array($0.prefix(count)) }
        }
        guard
            let client = SRTPMasterKey(
                profile: profile, key: bytes(keys.client_key, profile.keyLength),
                salt: bytes(keys.client_salt, profile.saltLength)),
            let server = SRTPMasterKey(
                profile: profile, key: bytes(keys.server_key, profile.keyLength),
                salt: bytes(keys.server_salt, profile.saltLength))
        else { return nil }
        keysTaken = true
        return role == .client ? (inbound: server, outbound: client) : (inbound: client, outbound: server)
    }

    /// Ends the association. If it was connected, a close_notify waits to be taken.
    package mutating func close() { parlor_dtls_close(association) }

    private mutating func exceedLimit() {
        isLimitExceeded = true
        parlor_dtls_close(association)
    }

    /// A new flight starts the timer anew; anything else leaves it.
    private mutating func schedule(now: MediaTime) {
        let current = parlor_dtls_flights(association)
        guard current != flight else { return }
        flight = current
        interval = .microseconds(Int64(PARLOR_DTLS_FIRST_TIMEOUT_US))
        retransmission = current == 0 ? .distantFuture : now + interval
    }
}
