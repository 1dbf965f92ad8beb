/// A session description (RFC 8866): what an offer or an answer says.
///
/// Attributes are kept in their order, also those that nobody here knows; the typed views (`MediaDescription.rtpMaps` and
/// so on) read them. What a view can read was checked while parsing, so a view of a parsed description misses nothing.
package struct SessionDescription: Equatable, Sendable {
    /// The value of `o=`, if there is one.
    package var origin: String?
    /// The value of `s=`.
    package var name: String?
    package var connection: SDPConnection?
    /// The values of the `t=` lines.
    package var timing: [String]
    /// Session-level lines of other types (`i`, `u`, `e`, `p`, `b`, `r`, `z`, `k`), in their order.
    package var otherLines: [SDPLine]
    package var attributes: [SDPAttribute]
    package var media: [MediaDescription]

    package init(
        origin: String? = nil, name: String? = nil, connection: SDPConnection? = nil, timing: [String] = [],
        otherLines: [SDPLine] = [], attributes: [SDPAttribute] = [], media: [MediaDescription] = []
    ) {
        self.origin = origin
        self.name = name
        self.connection = connection
        self.timing = timing
        self.otherLines = otherLines
        self.attributes = attributes
        self.media = media
    }

    /// `a=group` lines (RFC 5888, section 5).
    package var groups: [SDPGroup] { attributes.compactMap { try? SDPGroup($0) } }

    /// The groups of m-lines that share one transport (RFC 9143).
    package var bundles: [SDPGroup] { groups.filter { $0.semantics == "BUNDLE" } }

    /// One-byte and two-byte header extensions may alternate (RFC 8285, section 6), said for the whole session.
    package var allowsMixedExtensions: Bool { attributes.contains { $0.name == "extmap-allow-mixed" } }
}

/// A line that is neither an attribute nor one of those with a place of their own.
package struct SDPLine: Equatable, Sendable {
    /// The letter before `=`, ASCII.
    package var type: UInt8
    package var value: String

    package init(type: UInt8, value: String) {
        self.type = type
        self.value = value
    }
}

/// `a=name` or `a=name:value`.
package struct SDPAttribute: Sendable, Equatable {
    package var name: String
    /// `nil`: a property attribute, without colon.
    package var value: String?
    /// Where it was read; 0 if it was made here. No part of equality.
    package var line: Int

    package init(_ name: String, _ value: String? = nil, line: Int = 0) {
        self.name = name
        self.value = value
        self.line = line
    }

    package static func == (a: SDPAttribute, b: SDPAttribute) -> Bool { a.name == b.name && a.value == b.value }

    var text: Substring { Substring(value ?? "") }
}

/// `c=`: where media is expected (RFC 8866, section 5.7).
package struct SDPConnection: Equatable, Sendable {
    package var isIPv6: Bool
    /// A literal address or a name, without TTL and count.
    package var host: String
    package var line: Int

    package init(isIPv6: Bool, host: String, line: Int = 0) {
        self.isIPv6 = isIPv6
        self.host = host
        self.line = line
    }

    package init(_ address: TransportAddress) { self.init(isIPv6: !address.isIPv4, host: address.host) }

    package static func == (a: SDPConnection, b: SDPConnection) -> Bool { a.isIPv6 == b.isIPv6 && a.host == b.host }

    /// The literal address with that port; `nil` for a name, or when the address is not of the family that is said.
    package func address(port: UInt16) -> TransportAddress? {
        guard let address = TransportAddress(host: host, port: port), address.isIPv4 != isIPv6 else { return nil }
        return address
    }

    /// As it stands behind `c=`.
    package var text: String { "IN IP\(isIPv6 ? 6 : 4) \(host)" }

    /// `IN IP4 192.0.2.1`, also with `/ttl/count` behind it. What stands behind `c=` and at the end of `a=rtcp`.
    init(words: [Substring], line: Int) throws(SDPError) {
        guard words.count == 3, words[0] == "IN" else {
            throw SDPError(line: line, reason: "an address is written as IN IP4 or IN IP6 and the address")
        }
        switch words[1] {
        case "IP4": isIPv6 = false
        case "IP6": isIPv6 = true
        default: throw SDPError(line: line, reason: "the address type \(words[1].quoted) is neither IP4 nor IP6")
        }
        let host = words[2].cut(at: SDPText.slash).head
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw SDPError(line: line, reason: "\(words[2].quoted) is no address")
        }
        self.host = String(host)
        self.line = line
    }
}

/// `a=group:SEMANTICS mid…` (RFC 5888, section 5).
package struct SDPGroup: Equatable, Sendable {
    package var semantics: String
    package var mids: [String]

    package init(semantics: String, mids: [String]) {
        self.semantics = semantics
        self.mids = mids
    }

    package var attribute: SDPAttribute {
        SDPAttribute("group", ([semantics] + mids).joined(separator: " "))
    }

    init?(_ attribute: SDPAttribute) throws(SDPError) {
        guard attribute.name == "group" else { return nil }
        let words = attribute.text.words
        guard let first = words.first, words.allSatisfy(\.isToken) else {
            throw SDPError(line: attribute.line, reason: "a=group needs a kind and mids")
        }
        semantics = String(first)
        mids = words.dropFirst().map { String($0) }
    }
}
