/// A connectivity check that came in (RFC 8445, section 7.3), as values and offsets into its datagram; no allocation.
///
/// Before the password's owner has verified it, it says what a stranger wrote.
package struct STUNBindingRequest: Equatable, Sendable {
    /// Where the value of USERNAME lies in the datagram.
    package var usernameRange: Range<Int>
    /// The part of USERNAME in front of the colon, if it is 16 lower-case hexadecimal digits, as those of our own
    /// fragments are (`ICECredentials`).
    package var localFragment: UInt64?
    package var transactionID: STUNTransactionID
    /// Where MESSAGE-INTEGRITY begins: it covers the bytes before.
    package var integrityOffset: Int
    /// USE-CANDIDATE: the controlling side nominates this path. Never with an attribute that is not understood.
    package var usesCandidate: Bool
    package var priority: UInt32?
    /// ICE-CONTROLLING is there.
    package var isControlling: Bool
    /// ICE-CONTROLLED is there.
    package var isControlled: Bool
    /// An attribute that must be understood, and is not: the answer is an error 420 (RFC 8489, section 6.3.1).
    package var unknownAttribute: UInt16?

    /// Reads a check. `nil`: malformed, no Binding request, without USERNAME or MESSAGE-INTEGRITY, or with a wrong
    /// FINGERPRINT. FINGERPRINT, PRIORITY and the role may be absent: FFmpeg's checks lack the latter two.
    package static func parse(_ datagram: RawSpan) -> STUNBindingRequest? {
        guard let message = STUNMessage.parse(datagram), message.kind == .request, !message.username.isEmpty,
            message.integrityOffset > 0
        else { return nil }
        return STUNBindingRequest(
            usernameRange: message.username, localFragment: fragment(in: message.username, of: datagram),
            transactionID: message.transactionID, integrityOffset: message.integrityOffset,
            usesCandidate: message.usesCandidate && message.unknownAttribute == 0, priority: message.priority,
            isControlling: message.isControlling, isControlled: message.isControlled,
            unknownAttribute: message.unknownAttribute == 0 ? nil : message.unknownAttribute)
    }

    private static func fragment(in username: Range<Int>, of datagram: RawSpan) -> UInt64? {
        let (digits, colon) = (16, UInt8(ascii: ":"))
        guard username.count > digits, datagram.octet(at: username.lowerBound &+ digits) == colon else { return nil }
        var value: UInt64 = 0
        for offset in username.lowerBound..<(username.lowerBound &+ digits) {
            let character = datagram.octet(at: offset)
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(character & 0x0F)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(character &- 87)
            default: return nil
            }
        }
        return value
    }
}

/// An answer to one of our own checks. Before it is verified, it says what a stranger wrote.
package struct STUNBindingResponse: Equatable, Sendable {
    package var transactionID: STUNTransactionID
    /// 300...699 in an error response; `nil`: it is a success.
    package var errorCode: Int?
    /// How the other side sees us: XOR-MAPPED-ADDRESS.
    package var mappedAddress: TransportAddress?
    /// Where MESSAGE-INTEGRITY begins; `nil`: there is none, as in errors of those who do not know us.
    package var integrityOffset: Int?

    /// `nil`: malformed, no response of the method Binding, with a wrong FINGERPRINT, a success that has an attribute
    /// which must be understood and is not, or an error without a code.
    package static func parse(_ datagram: RawSpan) -> STUNBindingResponse? {
        guard let message = STUNMessage.parse(datagram) else { return nil }
        let isError = message.kind == .error
        guard isError ? message.errorCode != 0 : message.kind == .success && message.unknownAttribute == 0 else {
            return nil
        }
        return STUNBindingResponse(
            transactionID: message.transactionID, errorCode: isError ? message.errorCode : nil,
            mappedAddress: message.mappedAddress,
            integrityOffset: message.integrityOffset == 0 ? nil : message.integrityOffset)
    }
}
