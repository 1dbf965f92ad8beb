package import RoomProtocol

extension NegotiationError {
    /// The code that says the same in signalling.
    package var code: ResultCode {
        switch kind {
        case .malformed, .notAcceptable: .invalidParameter
        case .codecMissing: .mediaNotSupported
        case .tracksMismatch: .publishMismatch
        case .nothingPublished: .publishEmpty
        case .tooMany: .tooManyOperations
        }
    }

    /// As an answer carries it.
    package var refused: Refused { Refused(code, description) }
}
