package import MediaWire

/// What answers say about the node's end of a WebRTC connection.
package struct ConnectionSettings: Hashable, Sendable {
    /// SHA-256 of the node's certificate, as SDP writes it.
    package var fingerprint: String
    /// The node's addresses as clients reach them, the preferred ones first; ports are not used.
    package var announced: [TransportAddress]
    /// UDP port of the first worker; the next has the next.
    package var firstPort: UInt16

    package init(fingerprint: String = "", announced: [TransportAddress] = [], firstPort: UInt16 = 0) {
        self.fingerprint = fingerprint
        self.announced = announced
        self.firstPort = firstPort
    }

    func port(ofWorker worker: Int) -> UInt16 { UInt16(clamping: Int(firstPort) + worker) }
}
