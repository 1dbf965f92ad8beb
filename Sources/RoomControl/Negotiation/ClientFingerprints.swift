import MediaContract
import MediaWire

/// The `a=fingerprint` lines of an m-section (RFC 8122, section 5), as the media plane checks them.
enum ClientFingerprints {
    /// More digests of one certificate than there are hash functions are refused.
    private static let maximum = 8

    /// Those of hash functions that Parlor knows, one of each, sorted by function; empty: the section has none at all.
    ///
    /// - Throws: when a digest has not the length of its hash, or when there are lines and none can be checked.
    static func read(_ media: MediaDescription) throws(NegotiationError) -> [DTLSFingerprint] {
        let lines = media.fingerprints
        if lines.isEmpty { return [] }
        func malformed(_ reason: String) -> NegotiationError {
            NegotiationError(.malformed, line: media.line, reason: reason)
        }
        guard lines.count <= maximum else { throw malformed("the section has \(lines.count) fingerprints") }
        var result: [DTLSFingerprint] = []
        for line in lines {
            guard let hash = DTLSFingerprint.Hash(rawValue: line.hash) else { continue }
            guard let fingerprint = DTLSFingerprint(hash: hash, bytes: line.bytes) else {
                throw malformed(
                    "a fingerprint of \(hash.rawValue) has \(hash.length) bytes, not \(line.bytes.count)")
            }
            if let other = result.first(where: { $0.hash == hash }) {
                guard other == fingerprint else {
                    throw malformed("the section has two fingerprints of \(hash.rawValue), for one certificate")
                }
            } else {
                result.append(fingerprint)
            }
        }
        guard !result.isEmpty else {
            let known = DTLSFingerprint.Hash.allCases.map(\.rawValue).joined(separator: ", ")
            throw malformed("the section has no a=fingerprint of \(known)")
        }
        return result.sorted { $0.hash.length < $1.hash.length }
    }
}

extension DTLSFingerprint {
    /// As `a=fingerprint` carries it.
    package var text: String {
        let pairs = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
        return "\(hash.rawValue) \(pairs.joined(separator: ":"))"
    }
}
