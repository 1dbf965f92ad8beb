import Foundation
import MediaTransport
import MediaWire
import Testing

/// The RTCP that a tapped player got, opened with the node's keys by libsrtp2.
enum SealedReports {
    /// For each m-line, for each of its RTCP datagrams in order: the types of the packets in it.
    ///
    /// - Parameters:
    ///   - description: the SDP that a player would open; RTP of its n-th line came on the tap's port 2n, RTCP on the next.
    static func lines(of description: String, from tap: UDPTap) throws -> [[[UInt8]]] {
        let keys = try keys(in: description)
        try #require(!keys.isEmpty)
        return try keys.enumerated().map { line, key in
            guard var opener = SRTPOpener(key: key, backend: .library) else {
                throw TimedOut(description: "libsrtp2 does not take the key")
            }
            return tap.datagrams.filter { $0.port == 2 * line + 1 }.map { packetTypes($0.bytes, &opener) }
        }
    }

    private static func keys(in description: String) throws -> [SRTPMasterKey] {
        try description.split(whereSeparator: \.isNewline).compactMap { line in
            guard let at = line.range(of: "AES_CM_128_HMAC_SHA1_80 inline:") else { return nil }
            let bytes = [UInt8](try #require(Data(base64Encoded: String(line[at.upperBound...]))))
            return SRTPMasterKey(
                profile: .aesCM128HmacSHA1_80, key: Array(bytes.prefix(16)), salt: Array(bytes.dropFirst(16)))
        }
    }

    private static func packetTypes(_ datagram: [UInt8], _ opener: inout SRTPOpener) -> [UInt8] {
        var bytes = datagram
        let opened = bytes.withUnsafeMutableBytes { opener.openRTCP($0) }
        guard case .opened(let length) = opened else {
            Issue.record("RTCP that is not authentic: \(opened)")
            return []
        }
        var types: [UInt8] = []
        var at = 0
        while at + 4 <= length {
            types.append(bytes[at + 1])
            at += (Int(bytes[at + 2]) << 8 | Int(bytes[at + 3])) * 4 + 4
        }
        #expect(at == length, "the packets fill the datagram")
        return types
    }
}

extension UDPTap {
    /// Datagrams on the ports of RTP, as against RTCP.
    var media: Int { datagrams.count { $0.port % 2 == 0 } }
}
