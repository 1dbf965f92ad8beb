/// An IP address and port: where a datagram came from or goes to.
///
/// IPv4 is held apart from IPv4-mapped IPv6 by `isIPv4`; equality compares the full address, never a hash.
package struct TransportAddress: Hashable, Sendable {
    /// The first and last eight bytes of the IPv6 address, in host order; an IPv4 address is the low 32 bits of `low`.
    package var high: UInt64
    package var low: UInt64
    package var port: UInt16
    package var isIPv4: Bool

    @inlinable package init(high: UInt64, low: UInt64, port: UInt16, isIPv4: Bool) {
        self.high = high
        self.low = low
        self.port = port
        self.isIPv4 = isIPv4
    }

    @inlinable package init(ipv4: UInt32, port: UInt16) {
        self.init(high: 0, low: UInt64(ipv4), port: port, isIPv4: true)
    }

    package static let unspecified = TransportAddress(ipv4: 0, port: 0)

    /// The same host with another port.
    @inlinable package func with(port: UInt16) -> TransportAddress {
        TransportAddress(high: high, low: low, port: port, isIPv4: isIPv4)
    }

    @inlinable package func isSameHost(as other: TransportAddress) -> Bool {
        high == other.high && low == other.low && isIPv4 == other.isIPv4
    }

    package var isLoopback: Bool {
        isIPv4
            ? (low >> 24) == 127
            : (high == 0 && (low == 1 || (low >> 32 == 0xFFFF && (low & 0xFFFF_FFFF) >> 24 == 127)))
    }

    package var isUnspecified: Bool { high == 0 && low == 0 }

    package var isMulticast: Bool {
        isIPv4 ? (low >> 28) == 0xE : (high >> 56) == 0xFF
    }

    /// An IPv4-mapped IPv6 address (::ffff:a.b.c.d) as the IPv4 address it stands for.
    package var unmapped: TransportAddress {
        guard !isIPv4, high == 0, low >> 32 == 0xFFFF else { return self }
        return TransportAddress(ipv4: UInt32(truncatingIfNeeded: low), port: port)
    }
}

extension TransportAddress {
    /// Parses a literal IPv4 or IPv6 address (no name, no zone, no brackets, RFC 4291 section 2.2).
    package init?(host text: some StringProtocol, port: UInt16) {
        if text.contains(":") {
            guard let groups = TransportAddress.ipv6Groups(String(text)) else { return nil }
            var high: UInt64 = 0
            var low: UInt64 = 0
            for i in 0..<4 { high = high << 16 | UInt64(groups[i]) }
            for i in 4..<8 { low = low << 16 | UInt64(groups[i]) }
            self.init(high: high, low: low, port: port, isIPv4: false)
        } else {
            guard let ipv4 = TransportAddress.ipv4(String(text)) else { return nil }
            self.init(ipv4: ipv4, port: port)
        }
    }

    private static func ipv4(_ text: String) -> UInt32? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }),
                let byte = UInt8(part), part.utf8.count == 1 || part.utf8.first != 48
            else { return nil }
            value = value << 8 | UInt32(byte)
        }
        return value
    }

    private static func ipv6Groups(_ text: String) -> [UInt16]? {
        var head = text
        var tail: String?
        if let gap = text.firstRange(of: "::") {
            head = String(text[..<gap.lowerBound])
            tail = String(text[gap.upperBound...])
            if tail?.contains("::") == true { return nil }
        }
        func groups(_ part: String) -> [UInt16]? {
            if part.isEmpty { return [] }
            var result: [UInt16] = []
            let pieces = part.split(separator: ":", omittingEmptySubsequences: false)
            for (index, piece) in pieces.enumerated() {
                if piece.contains(".") {
                    guard index == pieces.count - 1, let v4 = ipv4(String(piece)) else { return nil }
                    result.append(UInt16(truncatingIfNeeded: v4 >> 16))
                    result.append(UInt16(truncatingIfNeeded: v4))
                } else {
                    guard (1...4).contains(piece.utf8.count), let group = UInt16(piece, radix: 16), piece.first != "+"
                    else { return nil }
                    result.append(group)
                }
            }
            return result
        }
        guard let front = groups(head) else { return nil }
        guard let tail else { return front.count == 8 ? front : nil }
        guard let back = groups(tail), front.count + back.count < 8 else { return nil }
        return front + [UInt16](repeating: 0, count: 8 - front.count - back.count) + back
    }

    /// The address without the port, as SDP and logs write it.
    package var host: String {
        if isIPv4 {
            return "\(low >> 24 & 0xFF).\(low >> 16 & 0xFF).\(low >> 8 & 0xFF).\(low & 0xFF)"
        }
        let groups: [UInt16] = [high, low].flatMap { half -> [UInt16] in
            [48, 32, 16, 0].map { (shift: UInt64) -> UInt16 in UInt16(truncatingIfNeeded: half >> shift) }
        }
        // RFC 5952: the longest run of two or more zero groups becomes "::".
        var best = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start > best.count, end - start >= 2 { best = start..<end }
            start = max(end, start + 1)
        }
        func text(_ range: Range<Int>) -> String {
            groups[range].map { String($0, radix: 16) }.joined(separator: ":")
        }
        return best.isEmpty ? text(0..<8) : "\(text(0..<best.lowerBound))::\(text(best.upperBound..<8))"
    }
}

extension TransportAddress: CustomStringConvertible {
    package var description: String { isIPv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }
}
