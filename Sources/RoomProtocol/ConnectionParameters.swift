/// The server's ICE credentials (RFC 8445, section 5.3).
public struct ICEParameters: Codable, Hashable, Sendable {
    public var usernameFragment: String
    public var password: String
    public var iceLite: Bool

    public init(usernameFragment: String, password: String, iceLite: Bool = true) {
        self.usernameFragment = usernameFragment
        self.password = password
        self.iceLite = iceLite
    }
}

/// Where the server listens (RFC 8839, section 5.1).
public struct ICECandidate: Codable, Hashable, Sendable {
    public var foundation: String
    public var priority: UInt32
    /// A literal address.
    public var ip: String
    /// "udp" or "tcp".
    public var `protocol`: String
    public var port: Int
    public var type: String
    /// "passive" for TCP (RFC 6544).
    public var tcpType: String?

    public init(foundation: String, priority: UInt32, ip: String, protocol: String, port: Int, tcpType: String? = nil) {
        self.foundation = foundation
        self.priority = priority
        self.ip = ip
        self.protocol = `protocol`
        self.port = port
        type = "host"
        self.tcpType = tcpType
    }
}

/// The server's certificate and its part in the DTLS handshake (RFC 8842).
public struct DTLSParameters: Codable, Hashable, Sendable {
    public enum Role: String, Codable, Hashable, Sendable {
        case client, server
    }

    public struct Fingerprint: Codable, Hashable, Sendable {
        /// "sha-256"
        public var algorithm: String
        /// Upper-case hexadecimal bytes with colons between them.
        public var value: String

        public init(algorithm: String = "sha-256", value: String) {
            self.algorithm = algorithm
            self.value = value
        }
    }

    public var role: Role
    public var fingerprints: [Fingerprint]

    public init(role: Role, fingerprints: [Fingerprint]) {
        self.role = role
        self.fingerprints = fingerprints
    }
}

/// Which candidates a client wants to be offered.
public enum CandidatePolicy: String, Codable, Hashable, Sendable {
    case preferUDP = "preferUdp"
    case forceUDP = "forceUdp"
    case forceTCP = "forceTcp"
}

/// `rtpparams` of a subscribed track: under what it is sent.
public struct SubscribedRTP: Codable, Hashable, Sendable {
    public struct Encoding: Codable, Hashable, Sendable {
        public struct RTX: Codable, Hashable, Sendable {
            /// 0: no retransmission stream.
            public var ssrc: UInt32
            public init(ssrc: UInt32) { self.ssrc = ssrc }
        }
        public var ssrc: UInt32
        public var rtx: RTX

        public init(ssrc: UInt32, rtx: UInt32) {
            self.ssrc = ssrc
            self.rtx = RTX(ssrc: rtx)
        }
    }

    public struct RTCP: Codable, Hashable, Sendable {
        public var cname: String
        public var reducedSize: Bool
        public var mux: Bool

        public init(cname: String, reducedSize: Bool = true, mux: Bool = true) {
            self.cname = cname
            self.reducedSize = reducedSize
            self.mux = mux
        }
    }

    public var encodings: [Encoding]
    public var rtcp: RTCP
    public var msid: String
    /// Our extension: only to clients that announced `multicodec` in auth.
    public var codec: RTPCapabilities.Codec?

    public init(encodings: [Encoding], rtcp: RTCP, msid: String, codec: RTPCapabilities.Codec? = nil) {
        self.encodings = encodings
        self.rtcp = rtcp
        self.msid = msid
        self.codec = codec
    }
}
