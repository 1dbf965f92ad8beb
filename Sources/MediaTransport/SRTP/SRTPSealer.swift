internal import CCrypto
package import MediaWire

/// One outbound master key, prepared for every backend of `SRTPBatch`, and the SRTCP index that goes with it.
/// 2 to 4 kB. Lives at least until the batch that holds its packets is sealed.
///
/// RTP is sealed in batches. Who calls chooses the packet indices, and never uses one twice under the same SSRC for
/// different bytes (RFC 3711, section 9.1); sealing the same bytes again under the same index gives the same packet.
package struct SRTPSealer: ~Copyable, @unchecked Sendable {
    // Owned by this struct alone. A stable address: batches point to it.
    let sealer: OpaquePointer?
    private var nextRTCPIndex: UInt32 = 0

    /// Seals nothing: what stands there until keys are agreed.
    package init() { sealer = nil }

    /// `nil`: out of memory.
    package init?(key: SRTPMasterKey) {
        guard let keys = SRTPSessionKeys(key), let sealer = keys.makeSealer() else { return nil }
        self.sealer = sealer
    }

    deinit { if let sealer { parlor_srtp_sealer_destroy(sealer) } }

    /// Seals an RTCP packet in place under the next index: counted from 0 for the key as a whole, which keeps it unique
    /// for each SSRC (RFC 3711, section 3.4).
    ///
    /// - Parameters:
    ///   - buffer: the packet, and room for `SRTPProfile.rtcpOverhead` bytes behind it.
    ///   - length: of the packet, in bytes, at least 8.
    /// - Returns: the sealed length; `nil` when the buffer is too small, the packet too short, or all 2^31 indices are used up.
    package mutating func sealRTCP(_ buffer: UnsafeMutableRawBufferPointer, length: Int) -> Int? {
        guard let sealer, let base = buffer.baseAddress, length >= 0, nextRTCPIndex <= 0x7FFF_FFFF else { return nil }
        let sealed = parlor_srtp_sealer_seal_rtcp(sealer, base, length, buffer.count, nextRTCPIndex)
        guard sealed >= 0 else { return nil }
        nextRTCPIndex &+= 1
        return Int(sealed)
    }
}
