package import RoomProtocol

/// Why something of the client failed: a code of the service, and a sentence for people.
///
/// ```swift
/// do {
///     try await client.kick("bob")
/// } catch where error.code == .noPermission {
///     print("only with an admin's token")
/// }
/// ```
public struct RTCError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The service's codes: 10001 to 10063 come from the server, 21001 and up are made by the client.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The number as the service writes it, for example 10002; 0 is no error.
        public let rawValue: Int

        /// Any number: a newer server may send codes that have no name here.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The number, in decimal digits.
        public var description: String { String(rawValue) }

        /// 10001: the room token does not follow the signing rules.
        public static let tokenInvalid = Code(rawValue: 10001)
        /// 10002: the room token's time is over.
        public static let tokenExpired = Code(rawValue: 10002)
        /// 10005: the room was closed by its owner.
        public static let roomClosed = Code(rawValue: 10005)
        /// 10006: kicked out of the room.
        public static let kickedOut = Code(rawValue: 10006)
        /// 10011: the room is full.
        public static let roomFull = Code(rawValue: 10011)
        /// 10012: there is no such room, and it is not made by joining.
        public static let roomNotExist = Code(rawValue: 10012)
        /// 10021: there is no such user in the room.
        public static let userNotExist = Code(rawValue: 10021)
        /// 10022: the same user has joined elsewhere, or is in the room already.
        public static let userAlreadyExists = Code(rawValue: 10022)
        /// 10031: the track is not published.
        public static let publishNotExist = Code(rawValue: 10031)
        /// 10033: the track is published already.
        public static let publishAlreadyExists = Code(rawValue: 10033)
        /// 10041: there is no such track in the room.
        public static let subscribeNotExist = Code(rawValue: 10041)
        /// 10051: the token's permission, or the role, does not allow it.
        public static let noPermission = Code(rawValue: 10051)
        /// 10052: the server cannot serve this now.
        public static let serverUnavailable = Code(rawValue: 10052)
        /// 10053: a value that is not allowed.
        public static let invalidParameter = Code(rawValue: 10053)
        /// 10054: client and room have no codec in common.
        public static let mediaNotSupported = Code(rawValue: 10054)
        /// 10055: too many operations, or too many of something.
        public static let tooManyOperations = Code(rawValue: 10055)
        /// 10061: the publishing connection does not exist any more.
        public static let publishConnectionGone = Code(rawValue: 10061)
        /// 10062: the subscribing connection does not exist any more.
        public static let subscribeConnectionGone = Code(rawValue: 10062)
        /// 21001: the first step of a join failed: no server takes the token, or none can be reached.
        public static let authFailed = Code(rawValue: 21001)
        /// 21002: not in this state of the connection.
        public static let wrongState = Code(rawValue: 21002)
        /// 21003: not back in time after a loss, or the session or the room is gone meanwhile.
        public static let reconnectFailed = Code(rawValue: 21003)
        /// 21004: the network does not answer, or the connection was lost meanwhile.
        public static let networkTimeout = Code(rawValue: 21004)
        /// 21005: the server said something that cannot be.
        public static let fatal = Code(rawValue: 21005)
        /// 21008: no answer to an operation in time.
        public static let operationTimeout = Code(rawValue: 21008)
        /// 24006: not in this client mode.
        public static let wrongMode = Code(rawValue: 24006)
        /// 24007: not in this role.
        public static let wrongRole = Code(rawValue: 24007)
    }

    /// What failed, for the program to decide by.
    public var code: Code
    /// For logs and developers, in English; holds no secret.
    public var message: String

    /// For an app's own tests and previews: the client makes its values itself.
    ///
    /// - Parameters:
    ///   - code: what failed.
    ///   - message: a sentence in English, without secrets.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The sentence with the code behind it: "the room is full (10011)".
    public var description: String { "\(message) (\(code))" }

    package init(_ refused: Refused) {
        self.init(Code(rawValue: refused.code.rawValue), refused.text)
    }

    /// What a call of the app throws for it.
    package init(_ error: SignallingError) {
        switch error {
        case .refused(let refused): self.init(refused)
        case .timeout(let text): self.init(.operationTimeout, text)
        case .ended, .unreachable: self.init(.networkTimeout, "\(error)")
        case .tooManyRequests: self.init(.tooManyOperations, "\(error)")
        case .badToken(let text): self.init(.tokenInvalid, text)
        case .denied: self.init(.authFailed, "\(error)")
        case .unreadable(let text): self.init(.fatal, text)
        case .cancelled, .cancelledUnsent: self.init(.fatal, "the task was cancelled")
        }
    }
}
