/// A code of the service, as answers, `disconnect` and HTTP bodies carry it.
public struct ResultCode: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    public init(from decoder: any Decoder) throws { rawValue = try decoder.singleValueContainer().decode(Int.self) }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    public static let ok = ResultCode(rawValue: 0)
    /// The RoomToken does not follow the signing rules.
    public static let tokenInvalid = ResultCode(rawValue: 10001)
    public static let tokenExpired = ResultCode(rawValue: 10002)
    /// This life of the room is over.
    public static let roomInstanceClosed = ResultCode(rawValue: 10003)
    /// The reconnect token is unknown, or its session is over.
    public static let reconnectTokenInvalid = ResultCode(rawValue: 10004)
    /// The room was closed by its owner.
    public static let roomClosed = ResultCode(rawValue: 10005)
    public static let kickedOut = ResultCode(rawValue: 10006)
    public static let roomFull = ResultCode(rawValue: 10011)
    public static let roomNotExist = ResultCode(rawValue: 10012)
    public static let userNotExist = ResultCode(rawValue: 10021)
    /// The same user has joined elsewhere, or is there already.
    public static let userAlreadyExists = ResultCode(rawValue: 10022)
    /// No such published track.
    public static let publishNotExist = ResultCode(rawValue: 10031)
    /// The published tracks do not fit their description.
    public static let publishMismatch = ResultCode(rawValue: 10032)
    /// The track is published already.
    public static let publishAlreadyExists = ResultCode(rawValue: 10033)
    /// A publication without audio and video.
    public static let publishEmpty = ResultCode(rawValue: 10035)
    /// No such track to subscribe.
    public static let subscribeNotExist = ResultCode(rawValue: 10041)
    /// A user cannot subscribe to its own track.
    public static let subscribeOwn = ResultCode(rawValue: 10044)
    public static let noPermission = ResultCode(rawValue: 10051)
    /// The server cannot serve this now; try again.
    public static let serverUnavailable = ResultCode(rawValue: 10052)
    public static let invalidParameter = ResultCode(rawValue: 10053)
    /// Codec negotiation failed.
    public static let mediaNotSupported = ResultCode(rawValue: 10054)
    /// Too many operations, or too many of something.
    public static let tooManyOperations = ResultCode(rawValue: 10055)
    /// The publishing connection does not exist any more.
    public static let publishConnectionGone = ResultCode(rawValue: 10061)
    /// The subscribing connection does not exist any more.
    public static let subscribeConnectionGone = ResultCode(rawValue: 10062)
}

/// A refusal: the code and a sentence that says what, where and what would be right.
public struct Refused: Error, Hashable, Sendable {
    public var code: ResultCode
    public var text: String

    public init(_ code: ResultCode, _ text: String) {
        self.code = code
        self.text = text
    }
}
