internal import CCrypto
package import MediaContract
package import MediaWire

/// What became of a packet that came in.
package enum SRTPOpened: Equatable {
    /// The packet is authentic and decrypted; it has this many bytes now, without tag and index.
    case opened(length: Int)
    /// `tooShort`, `tooManySSRCs`, `replayed`, `tooOld` or `authenticationFailed`. The bytes may have changed and must
    /// not be used; nothing else has.
    case failed(DropReason)
}

/// One inbound master key: opens SRTP and SRTCP in place (RFC 3711, RFC 7714) and remembers, for each SSRC, the rollover
/// counter and which packets came: the last 1024 of RTP, 128 of RTCP.
///
/// The order is: lengths, room in the SSRC table, replay check, authentication; only then does any state change.
/// No allocation per packet, but by `.library`.
package struct SRTPOpener: ~Copyable, @unchecked Sendable {
    /// Which implementation opens.
    package enum Backend: Hashable, Sendable {
        /// The fastest that runs here: libipsec-mb for GCM where the processor has it, else OpenSSL's EVP.
        case automatic
        /// libsrtp2, which every other one is tested against.
        case library
        /// OpenSSL's EVP.
        case evp
        /// libipsec-mb; GCM profiles only, and not on every processor.
        case multiBuffer
    }

    // Owned by this struct alone, so it may move to another thread with it.
    private let opener: OpaquePointer?

    /// Opens nothing: what stands there until keys are agreed.
    package init() { opener = nil }

    /// - Parameter maximumSSRCs: how many senders may use the key, RTP and RTCP together, 1...4096. Packets of a further one are
    ///   dropped before any cryptography; a place is taken by authentic packets only, and for good, since forgetting
    ///   a sender would let its old packets in again. About 180 bytes each.
    /// - Returns: `nil` when the backend is not available for this profile.
    package init?(key: SRTPMasterKey, backend: Backend = .automatic, maximumSSRCs: Int = 16) {
        guard (1...4096).contains(maximumSSRCs), let keys = SRTPSessionKeys(key),
            let opener = keys.makeOpener(backend: backend, maximumSSRCs: maximumSSRCs)
        else { return nil }
        self.opener = opener
    }

    deinit { if let opener { parlor_srtp_opener_destroy(opener) } }

    /// What opens, for logs.
    package var backendName: String {
        guard let opener else { return "none" }
        return String(cString: parlor_srtp_backend_name(parlor_srtp_opener_backend(opener)))
    }

    /// Opens an RTP packet in place.
    ///
    /// - Parameters:
    ///   - packet: the whole datagram.
    ///   - ssrc: from the packet's header, as is `sequenceNumber`.
    ///   - headerLength: fixed header, CSRCs and extension, in bytes: what is not encrypted.
    package mutating func openRTP(
        _ packet: UnsafeMutableRawBufferPointer, ssrc: UInt32, sequenceNumber: UInt16, headerLength: Int
    ) -> SRTPOpened {
        guard let base = packet.baseAddress, headerLength >= 0 else { return .failed(.tooShort) }
        guard let opener else { return .failed(.noKeysYet) }
        return outcome(
            parlor_srtp_opener_open_rtp(opener, base, packet.count, headerLength, ssrc, sequenceNumber))
    }

    /// Opens an RTCP packet in place; `packet` is the whole datagram with index and tag.
    package mutating func openRTCP(_ packet: UnsafeMutableRawBufferPointer) -> SRTPOpened {
        guard let base = packet.baseAddress else { return .failed(.tooShort) }
        guard let opener else { return .failed(.noKeysYet) }
        return outcome(parlor_srtp_opener_open_rtcp(opener, base, packet.count))
    }

    private func outcome(_ result: Int32) -> SRTPOpened {
        if result >= 0 { return .opened(length: Int(result)) }
        switch result {
        case PARLOR_SRTP_TOO_SHORT: return .failed(.tooShort)
        case PARLOR_SRTP_TOO_MANY_SSRCS: return .failed(.tooManySSRCs)
        case PARLOR_SRTP_REPLAYED: return .failed(.replayed)
        case PARLOR_SRTP_TOO_OLD: return .failed(.tooOld)
        default: return .failed(.authenticationFailed)
        }
    }
}
