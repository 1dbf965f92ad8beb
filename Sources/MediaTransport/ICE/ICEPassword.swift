internal import CCrypto
package import MediaWire

/// The short-term credential that authenticates connectivity checks (RFC 8445, section 7.2.2; RFC 8489, section 9.1),
/// prepared so that neither verifying nor signing allocates.
///
/// A check that a client sends to the node is signed with the node's password, and so is its answer.
package struct ICEPassword: Sendable {
    private var key = parlor_hmac_key()

    /// - Parameter password: ASCII, as ICE passwords are (RFC 8839, section 5.4).
    package init(_ password: String) {
        var password = password
        // Fails only above 2 GiB.
        _ = password.withUTF8 { parlor_hmac_key_init(&key, $0.baseAddress, $0.count) }
    }

    /// Whether the check was signed with this password. Constant time.
    package func verifies(_ datagram: UnsafeRawBufferPointer, _ request: STUNBindingRequest) -> Bool {
        verifies(datagram, integrityOffset: request.integrityOffset)
    }

    /// Whether the answer was; `false` for one without MESSAGE-INTEGRITY. Constant time.
    package func verifies(_ datagram: UnsafeRawBufferPointer, _ response: STUNBindingResponse) -> Bool {
        response.integrityOffset.map { verifies(datagram, integrityOffset: $0) } ?? false
    }

    /// The answer to a check that was verified: a success with the address that it came from, or, for one with an
    /// attribute that must be understood and is not, an error 420.
    ///
    /// - Returns: its length, at most 76 bytes; `nil`: the buffer is too small.
    package func writeResponse(
        to request: STUNBindingRequest, in datagram: UnsafeRawBufferPointer, mapped: TransportAddress,
        into buffer: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard let unknown = request.unknownAttribute else {
            var writer = STUNWriter(into: buffer, kind: .success, transactionID: request.transactionID)
            writer.append(mapped: mapped)
            return sign(&writer, buffer)
        }
        var writer = STUNWriter(into: buffer, kind: .error, transactionID: request.transactionID)
        writer.append(errorCode: 420)
        writer.append(unknown: unknown)
        return sign(&writer, buffer)
    }

    /// A check of the controlling side (RFC 8445, section 7.2.2); this password is the other side's.
    ///
    /// - Parameter username: "theirs:ours".
    /// - Returns: its length; `nil`: the buffer is too small.
    package func writeRequest(
        transactionID: STUNTransactionID, username: some Collection<UInt8>, priority: UInt32, tieBreaker: UInt64,
        nominates: Bool, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int? {
        var writer = STUNWriter(into: buffer, kind: .request, transactionID: transactionID)
        writer.append(STUNAttribute.username, text: username)
        writer.append(STUNAttribute.priority, uint32: priority)
        writer.append(STUNAttribute.iceControlling, uint64: tieBreaker)
        if nominates { writer.append(STUNAttribute.useCandidate) }
        return sign(&writer, buffer)
    }

    /// MESSAGE-INTEGRITY and FINGERPRINT, and the end.
    private func sign(_ writer: inout STUNWriter, _ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard let offset = writer.reserveIntegrity(), let base = buffer.baseAddress else { return nil }
        let place = base.advanced(by: offset &+ 4).assumingMemoryBound(to: UInt8.self)
        withUnsafePointer(to: key) { parlor_hmac_sign($0, base, offset, nil, 0, place) }
        writer.appendFingerprint()
        return writer.finish()
    }

    private func verifies(_ datagram: UnsafeRawBufferPointer, integrityOffset: Int) -> Bool {
        guard let base = datagram.baseAddress, integrityOffset >= STUNMessage.headerLength,
            integrityOffset &+ 24 <= datagram.count
        else { return false }
        // RFC 8489, section 14.5: the length field counts up to the end of MESSAGE-INTEGRITY, whatever follows.
        var head = UInt32(datagram.bytes.bigEndian16(at: 0)) << 16
        head |= UInt32(truncatingIfNeeded: integrityOffset &+ 24 &- STUNMessage.headerLength)
        head = head.bigEndian
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digest in
            guard let place = digest.baseAddress else { return false }
            withUnsafePointer(to: key) { parlor_hmac_sign($0, &head, 4, base + 4, integrityOffset &- 4, place) }
            return parlor_equal_constant_time(place, base + integrityOffset + 4, 20)
        }
    }
}

extension ICEPassword: CustomStringConvertible, CustomReflectable {
    package var description: String { "ICE password" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
