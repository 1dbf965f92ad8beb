import MediaWire

/// Keeps from OpenSSL what no sane peer sends: it would end the association for it, or keep memory for it.
///
/// Judges whole datagrams by what is readable in them: the headers of the records (RFC 6347, section 4.1), and of the handshake
/// fragments in those that are not yet encrypted (section 4.2.2).
struct DTLSRecordFilter {
    /// Certificates make the longest messages; this is room for four of RSA-4096.
    static let longestMessage = 16 * 1024
    static let longestDatagram = 16 * 1024
    static let mostRecords = 64
    /// OpenSSL keeps records of the next epoch, each with a buffer of 16 KiB. More than a Finished that overtook its
    /// flight, and was repeated, is no handshake.
    static let mostEarlyRecords = 24

    /// The length of the message that each sequence number stands for, as its first fragment said. 0: none came.
    private var lengths = InlineArray<16, UInt32>(repeating: 0)
    private var earlyRecords = 0

    private static let headerLength = 13
    private static let handshakeHeaderLength = 12

    /// Whether OpenSSL may see the datagram. A refused one changes nothing.
    mutating func admits(_ datagram: RawSpan, isHandshaking: Bool) -> Bool {
        let count = datagram.byteCount
        guard count >= Self.headerLength, count <= Self.longestDatagram else { return false }
        var next = self
        var offset = 0
        var records = 0
        while offset < count {
            records &+= 1
            guard records <= Self.mostRecords, offset &+ Self.headerLength <= count else { return false }
            let type = datagram.octet(at: offset)
            let version = datagram.bigEndian16(at: offset &+ 1)
            let epoch = datagram.bigEndian16(at: offset &+ 3)
            let length = Int(datagram.bigEndian16(at: offset &+ 11))
            let body = offset &+ Self.headerLength
            // change_cipher_spec, alert, handshake, application_data; DTLS 1.0 is what a ClientHello may come in.
            guard (20...23).contains(type), version == 0xFEFD || version == 0xFEFF, epoch <= 1,
                length > 0, body &+ length <= count
            else { return false }
            if isHandshaking {
                if epoch == 1 {
                    next.earlyRecords &+= 1
                    guard next.earlyRecords <= Self.mostEarlyRecords else { return false }
                } else {
                    guard next.admitsClear(type, datagram.extracting(body..<(body &+ length))) else { return false }
                }
            }
            offset = body &+ length
        }
        self = next
        return true
    }

    /// A record that is not encrypted, by its type. One whose body can be nothing of that type is from nobody who speaks DTLS
    /// (RFC 6347, section 4.1.2.7: dropped in silence), and would be the end of the association.
    private mutating func admitsClear(_ type: UInt8, _ record: RawSpan) -> Bool {
        switch type {
        // RFC 5246, section 7.1: one byte, and that is 1.
        case 20: record.byteCount == 1 && record.octet(at: 0) == 1
        // Section 7.2: a level, and what happened.
        case 21: record.byteCount == 2 && (1...2).contains(record.octet(at: 0))
        case 22: admitsFragments(record)
        default: false
        }
    }

    private mutating func admitsFragments(_ record: RawSpan) -> Bool {
        var offset = 0
        while offset < record.byteCount {
            guard offset &+ Self.handshakeHeaderLength <= record.byteCount else { return false }
            let length = record.bigEndian24(at: offset &+ 1)
            let sequence = Int(record.bigEndian16(at: offset &+ 4))
            let start = record.bigEndian24(at: offset &+ 6)
            let part = record.bigEndian24(at: offset &+ 9)
            let end = offset &+ Self.handshakeHeaderLength &+ Int(part)
            // A fragment without bytes is right only for a message without any, such as ServerHelloDone.
            guard length <= UInt32(Self.longestMessage), start &+ part <= length, part > 0 || length == 0,
                end <= record.byteCount, sequence < lengths.count
            else { return false }
            // One more, so that 0 stays "none".
            if lengths[sequence] == 0 { lengths[sequence] = length &+ 1 }
            guard lengths[sequence] == length &+ 1 else { return false }
            offset = end
        }
        return true
    }
}
