package import MediaWire
package import RoomProtocol

/// What answers say about the node's end of a WebRTC connection.
package struct ConnectionSettings: Hashable, Sendable {
    /// SHA-256 of the node's certificate, as SDP writes it.
    package var fingerprint: String
    /// The node's addresses as clients reach them, the preferred ones first; ports are not used.
    package var announced: [TransportAddress]
    /// Port of the first worker; the next has the next.
    package var firstPort: UInt16
    /// Whether the workers listen on TCP beside UDP (ICE-TCP, RFC 6544).
    package var tcp: Bool

    package init(
        fingerprint: String = "", announced: [TransportAddress] = [], firstPort: UInt16 = 0, tcp: Bool = false
    ) {
        self.fingerprint = fingerprint
        self.announced = announced
        self.firstPort = firstPort
        self.tcp = tcp
    }

    /// What a client of this worker is told.
    package func candidates(policy: CandidatePolicy, worker: Int) -> [ICECandidate] {
        HostCandidates.candidates(policy: policy, announced: announced, port: port(ofWorker: worker), tcp: tcp)
    }

    func port(ofWorker worker: Int) -> UInt16 { UInt16(clamping: Int(firstPort) + worker) }
}
