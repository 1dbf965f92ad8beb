/// The SRTP protection profiles that Parlor speaks.
package enum SRTPProfile: UInt8, Hashable, Sendable, CaseIterable {
    /// RFC 3711 with an 80-bit tag.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    case aesCM128HmacSHA1_80 = 0
    /// RFC 7714, 16-byte tag.
    case aeadAES128GCM = 1
    /// RFC 7714, 16-byte tag, 256-bit key.
    case aeadAES256GCM = 2

    /// The crypto-suite name of `a=crypto` (RFC 4568, section 6.2; RFC 7714, section 14.2).
    package var name: String {
        switch self {
        case .aesCM128HmacSHA1_80: "AES_CM_128_HMAC_SHA1_80"
        case .aeadAES128GCM: "AEAD_AES_128_GCM"
        case .aeadAES256GCM: "AEAD_AES_256_GCM"
        }
    }

    package init?(name: some StringProtocol) {
        guard let profile = SRTPProfile.allCases.first(where: { $0.name == name }) else { return nil }
        self = profile
    }

    /// Master key length in bytes.
    @inlinable package var keyLength: Int { self == .aeadAES256GCM ? 32 : 16 }
    /// Master salt length in bytes.
    @inlinable package var saltLength: Int { self == .aesCM128HmacSHA1_80 ? 14 : 12 }
    /// Authentication tag of an RTP packet, in bytes.
    @inlinable package var tagLength: Int { self == .aesCM128HmacSHA1_80 ? 10 : 16 }
    /// What SRTCP adds to a packet: the tag and the 4-byte E flag and index (RFC 3711, section 3.4).
    @inlinable package var rtcpOverhead: Int { tagLength + 4 }
}

/// One direction's master key and salt, as `a=crypto` carries them (inline, base64).
package struct SRTPMasterKey: Hashable, Sendable {
    package var profile: SRTPProfile
    package var key: [UInt8]
    package var salt: [UInt8]

    /// `nil` when the lengths do not fit the profile.
    package init?(profile: SRTPProfile, key: [UInt8], salt: [UInt8]) {
        guard key.count == profile.keyLength, salt.count == profile.saltLength else { return nil }
        self.profile = profile
        self.key = key
        self.salt = salt
    }
}

extension SRTPMasterKey: CustomStringConvertible {
    /// Never the key itself: descriptions end in logs.
    package var description: String { "\(profile.name) key" }
}
