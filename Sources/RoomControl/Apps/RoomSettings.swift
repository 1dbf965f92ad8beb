package import MediaWire

/// What the server API said about one room when it made it; what is `nil` is as the app has it.
package struct RoomSettings: Hashable, Sendable {
    package var maxUsers: Int?
    /// How long the empty room stays.
    package var autoCloseTtl: MediaDuration?
    /// How long the room waits for its first user.
    package var noEnterTtl: MediaDuration?
    package var videoCodec: Codec?
    /// The vendor's, of unknown meaning: stored, without effect.
    package var openRoom: Bool?

    package init() {}

    /// The app's rules with this room's own over them.
    package func over(_ app: AppSettings) -> AppSettings {
        var settings = app
        settings.maxUsers = maxUsers ?? app.maxUsers
        settings.autoCloseTtl = autoCloseTtl ?? app.autoCloseTtl
        settings.noEnterTtl = noEnterTtl ?? app.noEnterTtl
        settings.videoCodec = videoCodec ?? app.videoCodec
        return settings
    }
}
