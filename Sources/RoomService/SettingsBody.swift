import MediaWire
import RoomControl

/// The settings of an app or of one of its rooms, by the vendor's names where it has them.
struct SettingsBody: Codable, Sendable {
    /// 0: no limit.
    var maxUsers: Int
    var noAutoKickUser: Bool
    var noAutoCreateRoom: Bool
    var noAutoCloseRoom: Bool
    // Times in seconds.
    var autoCloseTtl: Double
    var noEnterTtl: Double
    var userTimeout: Double
    var videoCodec: String

    init(_ settings: AppSettings) {
        maxUsers = settings.maxUsers
        noAutoKickUser = settings.noAutoKickUser
        noAutoCreateRoom = settings.noAutoCreateRoom
        noAutoCloseRoom = settings.noAutoCloseRoom
        autoCloseTtl = settings.autoCloseTtl.seconds
        noEnterTtl = settings.noEnterTtl.seconds
        userTimeout = settings.userTimeout.seconds
        videoCodec = settings.videoCodec.name
    }
}
