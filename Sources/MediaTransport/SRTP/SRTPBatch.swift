internal import CCrypto

/// RTP packets that wait to be sealed together, each under its subscriber's key: with libipsec-mb several at a time. One for each
/// thread; it allocates when it is made and never after, but by `.library`.
package struct SRTPBatch: ~Copyable, @unchecked Sendable {
    /// Which implementation seals. All give the same bytes.
    package enum Backend: Hashable, Sendable {
        /// libipsec-mb where the processor has it, else OpenSSL's EVP.
        case automatic
        /// libipsec-mb; EVP where that is missing: see `backendName`.
        case multiBuffer
        /// OpenSSL's EVP.
        case evp
        /// libsrtp2, which counts rollovers by itself: for comparison, with indices in about sequence order.
        case library
    }

    // Owned by this struct alone, so it may move to another thread with it.
    private let batch: OpaquePointer
    package let capacity: Int
    /// Packets waiting.
    package private(set) var count = 0

    /// - Parameter capacity: packets between two calls of `seal`, 1...1,048,576.
    package init(capacity: Int, backend: Backend = .automatic) {
        precondition((1...1 << 20).contains(capacity), "a batch holds 1 to 2^20 packets")
        let number =
            switch backend {
            case .automatic: PARLOR_SRTP_AUTOMATIC
            case .multiBuffer: PARLOR_SRTP_MULTI_BUFFER
            case .evp: PARLOR_SRTP_EVP
            case .library: PARLOR_SRTP_LIBRARY
            }
        guard
            let batch = parlor_srtp_batch_create(capacity, number)
                ?? parlor_srtp_batch_create(capacity, PARLOR_SRTP_EVP)
        else { preconditionFailure("no memory for a batch of \(capacity) packets") }
        self.batch = batch
        self.capacity = capacity
    }

    deinit { parlor_srtp_batch_destroy(batch) }

    /// Whether libipsec-mb is here and runs on this processor.
    package static var multiBufferAvailable: Bool { parlor_srtp_multi_buffer_available() }

    /// What seals, for logs.
    package var backendName: String {
        String(cString: parlor_srtp_backend_name(parlor_srtp_batch_backend(batch)))
    }

    package var isFull: Bool { count == capacity }

    /// Adds a packet; it must not move, nor `sealer` go, before `seal`. The batch is not full.
    ///
    /// - Parameters:
    ///   - packet: the plain packet, with room for the tag (`SRTPProfile.tagLength`) behind `length` bytes.
    ///   - headerLength: fixed header, CSRCs and extension, in bytes: what is not encrypted.
    ///   - ssrc: as in the header.
    ///   - index: rollover counter and sequence number, 48 bits: ROC * 65536 + SEQ (RFC 3711, section 3.3.1).
    package mutating func append(
        _ sealer: borrowing SRTPSealer, packet: UnsafeMutableRawPointer, length: Int, headerLength: Int, ssrc: UInt32,
        index: UInt64
    ) {
        precondition(count < capacity, "append to a full batch")
        // Lengths that make no sense fail in `seal`.
        let added = parlor_srtp_batch_append(
            batch, sealer.sealer, packet, max(0, length), max(0, headerLength), ssrc, index)
        precondition(added, "append to a full batch")
        count &+= 1
    }

    /// Seals all waiting packets in place and empties the batch.
    ///
    /// - Returns: how many could not be sealed: 0, unless lengths made no sense or the library failed. Ask `hasFailed` then.
    @discardableResult
    package mutating func seal() -> Int {
        count = 0
        return parlor_srtp_batch_seal(batch)
    }

    /// Whether the packet that was appended as number `position` (from 0) to the batch sealed last is not sealed: it must not be
    /// sent. Valid until the next `append`.
    package func hasFailed(_ position: Int) -> Bool {
        position < 0 || parlor_srtp_batch_failed(batch, position)
    }
}
