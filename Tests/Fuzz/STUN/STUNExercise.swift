#if canImport(MediaWire)
    import MediaWire
#endif

/// What must hold for any bytes that come as STUN. Run by the fuzzer, and by the unit tests on vectors and corpus.
///
/// A checksum keeps a fuzzer out, so the bytes are also tried with header, length and FINGERPRINT put right.
enum STUNExercise {
    static func run(_ bytes: [UInt8]) {
        examine(bytes)
        if let mended = mend(bytes) { examine(mended) }
    }

    private static func examine(_ bytes: [UInt8]) {
        let message = STUNMessage.parse(bytes.span.bytes)
        let request = STUNBindingRequest.parse(bytes.span.bytes)
        let response = STUNBindingResponse.parse(bytes.span.bytes)
        guard let message else {
            precondition(request == nil && response == nil)
            return
        }
        precondition(bytes.count >= 20 && bytes.count <= STUNMessage.longest && bytes.count % 4 == 0)
        precondition(message.username.lowerBound >= 0 && message.username.upperBound <= bytes.count)
        precondition(message.integrityOffset == 0 || (20...(bytes.count - 24)).contains(message.integrityOffset))
        precondition(!(message.isControlling && message.isControlled))
        precondition(message.errorCode == 0 || (300...699).contains(message.errorCode))
        if let request {
            precondition(response == nil && message.kind == .request && !request.usernameRange.isEmpty)
            precondition(request.integrityOffset == message.integrityOffset && request.integrityOffset >= 20)
            precondition(request.usernameRange.upperBound <= request.integrityOffset)
            if let fragment = request.localFragment {
                let digits = String(fragment, radix: 16)
                let name = bytes[request.usernameRange]
                let text = String(repeating: "0", count: 16 - digits.utf8.count) + digits + ":"
                precondition(name.starts(with: text.utf8))
            }
        }
        if let response {
            precondition((message.kind == .error) == (response.errorCode != nil))
            precondition(message.kind == .error || message.kind == .success)
        }
        rewrite(message, bytes)
    }

    /// What was read, written and read again is the same.
    private static func rewrite(_ message: STUNMessage, _ bytes: [UInt8]) {
        var output = [UInt8](repeating: 0xEE, count: 700)
        let length = output.withUnsafeMutableBytes { buffer -> Int? in
            var writer = STUNWriter(into: buffer, kind: message.kind, transactionID: message.transactionID)
            if !message.username.isEmpty { writer.append(STUNAttribute.username, text: bytes[message.username]) }
            if let priority = message.priority { writer.append(STUNAttribute.priority, uint32: priority) }
            if message.usesCandidate { writer.append(STUNAttribute.useCandidate) }
            if message.isControlling { writer.append(STUNAttribute.iceControlling, uint64: message.tieBreaker) }
            if message.isControlled { writer.append(STUNAttribute.iceControlled, uint64: message.tieBreaker) }
            if let address = message.mappedAddress { writer.append(mapped: address) }
            if message.errorCode != 0 { writer.append(errorCode: message.errorCode) }
            if message.unknownAttribute != 0 { writer.append(message.unknownAttribute) }
            if message.integrityOffset != 0 {
                guard let place = writer.reserveIntegrity() else { return nil }
                for index in 0..<20 { buffer.storeBytes(of: 1, toByteOffset: place + 4 + index, as: UInt8.self) }
            }
            writer.appendFingerprint()
            return writer.finish()
        }
        guard let length else { preconditionFailure("a message of the attributes known is not longer than 700 bytes") }
        let copy = Array(output[..<length])
        guard let again = STUNMessage.parse(copy.span.bytes) else { preconditionFailure("written, but not read") }
        precondition(again.kind == message.kind && again.transactionID == message.transactionID)
        precondition(copy[again.username] == bytes[message.username])
        precondition(again.priority == message.priority && again.usesCandidate == message.usesCandidate)
        precondition(again.isControlling == message.isControlling && again.isControlled == message.isControlled)
        precondition(again.tieBreaker == message.tieBreaker && again.errorCode == message.errorCode)
        precondition(again.mappedAddress == message.mappedAddress?.unmapped)
        precondition(again.unknownAttribute == message.unknownAttribute && again.hasFingerprint)
        precondition((again.integrityOffset == 0) == (message.integrityOffset == 0))
    }

    /// The same bytes as the rest of a message that has a right header, and FINGERPRINT at its end.
    private static func mend(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= 20, bytes.count <= 1400 else { return nil }
        var message = Array(bytes[..<(bytes.count & ~3)])
        let length = message.count - 20 + 8
        message[0] &= 0x01
        message[1] &= 0x11
        message.replaceSubrange(2..<8, with: [UInt8(length >> 8), UInt8(length & 0xFF), 0x21, 0x12, 0xA4, 0x42])
        let sum = STUNFingerprint.checksum(message.span.bytes) ^ 0x5354_554E
        message += [0x80, 0x28, 0, 4]
        message += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> UInt32($0)) }
        return message
    }
}
