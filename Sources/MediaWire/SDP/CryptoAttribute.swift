/// `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:KEY|LIFETIME` (RFC 4568, section 9.1; RFC 7714, section 14.2).
///
/// A line of a suite that Parlor does not speak, or with parameters that it cannot honour, is kept with the reason: an
/// offer may hold a better one. A line whose key has not the length of its suite is an error.
package struct CryptoAttribute: Hashable, Sendable {
    package enum Key: Hashable, Sendable {
        case usable(SRTPMasterKey)
        /// Why this line cannot be taken; a part of a sentence, without the key.
        case unusable(String)
    }

    /// Ties the answer's line to one of the offer's; 0...999999999.
    package var tag: Int
    /// The crypto suite as written.
    package var suite: String
    package var key: Key
    /// In packets; `nil`: not said. Parlor's keys live for one leg, far below the limit of RFC 3711, section 9.2.
    package var lifetime: UInt64?
    package var sessionParameters: [String]
    package var line: Int

    package init(tag: Int, key: SRTPMasterKey) {
        self.tag = tag
        suite = key.profile.name
        self.key = .usable(key)
        lifetime = nil
        sessionParameters = []
        line = 0
    }

    package var profile: SRTPProfile? { SRTPProfile(name: suite) }

    /// The master key, if the line can be used.
    package var masterKey: SRTPMasterKey? {
        guard case .usable(let key) = key else { return nil }
        return key
    }

    /// The attribute of a usable line; `nil` otherwise.
    package var attribute: SDPAttribute? {
        masterKey.map {
            let parts = ["\(tag) \(suite) inline:\($0.inlineText)" + (lifetime.map { "|\($0)" } ?? "")]
            return SDPAttribute("crypto", (parts + sessionParameters).joined(separator: " "))
        }
    }

    init?(_ attribute: SDPAttribute) throws(SDPError) {
        guard attribute.name == "crypto" else { return nil }
        line = attribute.line
        let words = attribute.text.words
        guard words.count >= 3, (1...9).contains(words[0].utf8.count), let tag = words[0].decimal(as: Int.self),
            words[1].isToken
        else {
            throw SDPError(line: line, reason: "a=crypto is a tag, a suite, and inline: with the key")
        }
        self.tag = tag
        suite = String(words[1])
        sessionParameters = words.dropFirst(3).map { String($0) }
        guard let profile = SRTPProfile(name: suite) else {
            key = .unusable("the suite \(words[1].quoted) is not one of \(CryptoAttribute.suites)")
            return
        }

        let keys = words[2].parts(at: SDPText.semicolon)
        guard keys[0].hasPrefix("inline:") else {
            throw SDPError(line: line, reason: "the key of a=crypto must stand behind inline:")
        }
        let fields = keys[0].dropFirst("inline:".utf8.count).parts(at: SDPText.bar)
        guard let bytes = Base64.decode(fields[0]) else {
            throw SDPError(line: line, reason: "the key of a=crypto is not base64")
        }
        let wanted = profile.keyLength + profile.saltLength
        guard bytes.count == wanted,
            let master = SRTPMasterKey(
                profile: profile, key: Array(bytes[..<profile.keyLength]), salt: Array(bytes[profile.keyLength...]))
        else {
            throw SDPError(
                line: line,
                reason: "the key and salt of \(suite) are \(wanted) bytes, not \(bytes.count)")
        }
        key = .usable(master)

        // Behind the key: a lifetime, then an MKI; the MKI is known by its colon.
        var rest = fields.dropFirst()
        if let field = rest.first, !field.utf8.contains(SDPText.colon) {
            lifetime = try CryptoAttribute.lifetime(field, line: line)
            rest = rest.dropFirst()
        }
        if !rest.isEmpty || keys.count > 1 {
            key = .unusable("it names a master key identifier (MKI), which is not supported")
        } else if let parameter = sessionParameters.first(where: { !CryptoAttribute.isHonoured($0) }) {
            key = .unusable("its session parameter \(parameter.quoted) is not supported")
        }
    }

    private static let suites = SRTPProfile.allCases.map(\.name).joined(separator: ", ")

    /// A decimal number or a power of two, at most the 2^48 packets of RFC 3711, section 9.2.
    private static func lifetime(_ text: Substring, line: Int) throws(SDPError) -> UInt64 {
        let most: UInt64 = 1 << 48
        if text.hasPrefix("2^"), let exponent = text.dropFirst(2).decimal(as: UInt8.self), exponent <= 48 {
            return 1 << UInt64(exponent)
        }
        guard let number = text.decimal(as: UInt64.self), (1...most).contains(number) else {
            throw SDPError(line: line, reason: "the lifetime of a key is 1 to 2^48 packets, not \(text.quoted)")
        }
        return number
    }

    /// RFC 4568, section 6.3: hints, defaults spelled out, and what is marked as optional by `-` can be accepted; the
    /// others would change the packets.
    private static func isHonoured(_ parameter: String) -> Bool {
        parameter.hasPrefix("-") || parameter.hasPrefix("WSH=") || parameter == "KDR=0"
    }
}

extension SRTPMasterKey {
    /// Key and salt behind `inline:` (RFC 4568, section 6.1).
    package var inlineText: String { Base64.encode(key + salt) }

    /// A fresh key. The generator must be the system's wherever the key protects anything.
    package static func random(profile: SRTPProfile, using generator: inout some RandomNumberGenerator)
        -> SRTPMasterKey?
    {
        func bytes(_ count: Int, _ generator: inout some RandomNumberGenerator) -> [UInt8] {
            var result: [UInt8] = []
            for _ in 0..<count { result.append(UInt8.random(in: 0...255, using: &generator)) }
            return result
        }
        let key = bytes(profile.keyLength, &generator)
        let salt = bytes(profile.saltLength, &generator)
        return SRTPMasterKey(profile: profile, key: key, salt: salt)
    }
}
