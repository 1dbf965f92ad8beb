package import MediaWire

/// A block of addresses: `10.0.0.0/8`, `fd00::/8`, or one address.
package struct AddressPrefix: Hashable, Sendable, CustomStringConvertible {
    /// The first address of the block; its port is 0.
    package let address: TransportAddress
    /// Leading bits that count: 0...32 for IPv4, 0...128 for IPv6.
    package let length: Int

    /// `nil` unless the text is an address literal, alone or with `/length`, and no bit beyond the length is set (such
    /// a block would not be what its author meant).
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let host = parts.first, let address = TransportAddress(host: host, port: 0) else { return nil }
        let width = address.isIPv4 ? 32 : 128
        var length = width
        if parts.count == 2 {
            guard parts[1].utf8.count <= 3, parts[1].utf8.allSatisfy({ (48...57).contains($0) }),
                let given = Int(parts[1]), given <= width
            else { return nil }
            length = given
        }
        let kept = Self.masked(address, to: length)
        guard kept == address else { return nil }
        self.address = address
        self.length = length
    }

    /// Whether the block holds the address, whatever its port. IPv4-mapped IPv6 addresses count as IPv4.
    package func contains(_ other: TransportAddress) -> Bool {
        let other = other.unmapped
        return other.isIPv4 == address.isIPv4 && Self.masked(other.with(port: 0), to: length) == address
    }

    private static func masked(_ address: TransportAddress, to length: Int) -> TransportAddress {
        func mask(_ bits: Int) -> UInt64 { bits <= 0 ? 0 : bits >= 64 ? .max : ~(.max >> UInt64(bits)) }
        if address.isIPv4 {
            let keep = length <= 0 ? 0 : ~UInt32(0) << UInt32(32 - min(length, 32))
            return TransportAddress(ipv4: UInt32(truncatingIfNeeded: address.low) & keep, port: address.port)
        }
        return TransportAddress(
            high: address.high & mask(length), low: address.low & mask(length - 64), port: address.port, isIPv4: false)
    }

    package var description: String { "\(address.host)/\(length)" }
}
