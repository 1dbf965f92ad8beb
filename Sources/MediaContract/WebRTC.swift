package import MediaWire

/// What passes a connectivity check (RFC 8445, section 5.3). Its description shows no password.
package struct ICECredentials: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// 16 hexadecimal digits: 64 random bits (RFC 8445 asks for 24), enough to be unique among all peers of a node. The media plane
    /// finds a transport by this number, so another form is no name of any.
    package var usernameFragment: String
    /// 32 hexadecimal digits: 128 random bits, as RFC 8445 asks. A secret of the client and the node.
    package var password: String

    package init(usernameFragment: String, password: String) {
        self.usernameFragment = usernameFragment
        self.password = password
    }

    /// New ones.
    ///
    /// - Parameter random: must be the system's generator outside tests.
    package init(using random: inout some RandomNumberGenerator) {
        usernameFragment = ICECredentials.hexadecimal(random.next())
        password = ICECredentials.hexadecimal(random.next()) + ICECredentials.hexadecimal(random.next())
    }

    package var description: String { "ICE credentials of \(usernameFragment)" }
    package var customMirror: Mirror { Mirror(self, children: ["usernameFragment": usernameFragment]) }

    private static func hexadecimal(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

/// Which end of a DTLS association the node is (RFC 5763, section 5).
package enum DTLSRole: Hashable, Sendable {
    /// The node sends the ClientHello.
    case client
    /// The peer does.
    case server
}

/// The digest of a certificate, as `a=fingerprint` carries it (RFC 8122, section 5).
package struct DTLSFingerprint: Hashable, Sendable {
    package enum Hash: String, Hashable, Sendable, CaseIterable {
        case sha256 = "sha-256"
        case sha384 = "sha-384"
        case sha512 = "sha-512"

        /// Bytes of the digest.
        package var length: Int {
            switch self {
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }
    }

    package var hash: Hash
    package var bytes: [UInt8]

    /// `nil`: not the hash's length.
    package init?(hash: Hash, bytes: [UInt8]) {
        guard bytes.count == hash.length else { return nil }
        self.hash = hash
        self.bytes = bytes
    }
}

/// A transport of a browser or another WebRTC client: found by ICE, keyed by DTLS, on the worker's shared ports.
package struct WebRTCTransportSpec: Sendable {
    package var id: TransportID
    package var peer: PeerID
    /// The node's own: a check must carry this fragment, signed with this password.
    package var credentials: ICECredentials
    package var role: DTLSRole
    /// The peer's certificate must have one of these; empty: none was signalled, and the check's password is what binds it.
    package var fingerprints: [DTLSFingerprint]
    /// The SSRC under which our receiver reports and feedback leave on this transport.
    package var localSSRC: UInt32
    /// The CNAME in our SDES (RFC 3550, section 6.5.1).
    package var cname: String
    /// After this long without an authentic check or packet: `MediaEvent.transportSilent`, once (RFC 7675).
    package var silenceLimit: MediaDuration
    /// After this long without one, while it is connected: `MediaEvent.transportQuiet`, once. Browsers check every 2.5 s or so, and
    /// give a path up after about 8 s.
    package var quietLimit: MediaDuration

    package init(
        id: TransportID, peer: PeerID, credentials: ICECredentials, role: DTLSRole, fingerprints: [DTLSFingerprint],
        localSSRC: UInt32, cname: String, silenceLimit: MediaDuration = .seconds(30),
        quietLimit: MediaDuration = .seconds(10)
    ) {
        self.id = id
        self.peer = peer
        self.credentials = credentials
        self.role = role
        self.fingerprints = fingerprints
        self.localSSRC = localSSRC
        self.cname = cname
        self.silenceLimit = silenceLimit
        self.quietLimit = quietLimit
    }
}

/// Why a transport will not carry anything any more.
package enum TransportFailure: String, Hashable, Sendable {
    /// The peer's certificate is not the one that was signalled.
    case fingerprintMismatch = "fingerprint_mismatch"
    /// The DTLS handshake was refused by one of the two, or cannot go on.
    case handshakeFailed = "handshake_failed"
    /// It took longer, or more bytes, than is allowed.
    case handshakeLimit = "handshake_limit"
    /// The peer ended the DTLS association (close_notify).
    case closedByPeer = "closed_by_peer"
}

/// The layer of a simulcast track that a subscriber asks for. A track with fewer layers gives the nearest below, else the lowest.
package enum LayerPreference: UInt8, Hashable, Sendable, CaseIterable, Comparable {
    case low, medium, high

    package static func < (a: LayerPreference, b: LayerPreference) -> Bool { a.rawValue < b.rawValue }

    /// The layer's place among `count`, from the smallest picture.
    package func index(among count: Int) -> Int {
        switch self {
        case .low: 0
        case .medium: max(count - 1, 0) / 2
        case .high: max(count - 1, 0)
        }
    }

    /// What the layer at this place among `count` is called: of two, `low` and `high`.
    package init(index: Int, among count: Int) {
        self = index >= count - 1 ? .high : index == 0 ? .low : .medium
    }
}
