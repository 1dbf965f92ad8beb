internal import CCrypto
package import MediaWire

/// The session keys of one direction (RFC 3711, section 4.3), erased when it goes.
package struct SRTPSessionKeys: ~Copyable {
    private let keys: UnsafeMutablePointer<parlor_srtp_keys>

    /// Derives them from the master key. `nil`: OpenSSL failed.
    package init?(_ master: SRTPMasterKey) {
        keys = .allocate(capacity: 1)
        keys.initialize(to: parlor_srtp_keys())
        let derived = master.key.withUnsafeBufferPointer { key in
            master.salt.withUnsafeBufferPointer { salt in
                guard key.count == master.profile.keyLength, salt.count == master.profile.saltLength,
                    let key = key.baseAddress, let salt = salt.baseAddress
                else { return false }
                return parlor_srtp_derive(Int32(master.profile.rawValue), key, salt, keys)
            }
        }
        guard derived else { return nil }
    }

    deinit {
        parlor_erase(keys, MemoryLayout<parlor_srtp_keys>.size)
        keys.deallocate()
    }

    func makeSealer() -> OpaquePointer? { parlor_srtp_sealer_create(keys) }

    func makeOpener(backend: SRTPOpener.Backend, maximumSSRCs: Int) -> OpaquePointer? {
        let number =
            switch backend {
            case .automatic: PARLOR_SRTP_AUTOMATIC
            case .library: PARLOR_SRTP_LIBRARY
            case .evp: PARLOR_SRTP_EVP
            case .multiBuffer: PARLOR_SRTP_MULTI_BUFFER
            }
        return parlor_srtp_opener_create(keys, number, maximumSSRCs)
    }
}
