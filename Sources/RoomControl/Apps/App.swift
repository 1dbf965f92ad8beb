package import MediaWire

/// A namespace of rooms: the same room name under two apps is two rooms.
package struct App: Hashable, Sendable {
    package var id: String
    /// The access key that owns the app.
    package var accessKey: String
    package var settings: AppSettings

    package init(id: String, accessKey: String, settings: AppSettings = AppSettings()) {
        self.id = id
        self.accessKey = accessKey
        self.settings = settings
    }
}

/// What holds for every room of an app. The names are the server API's; times default to the documented ones.
package struct AppSettings: Hashable, Sendable {
    /// Most users of a room at once; 0: no limit.
    package var maxUsers = 0
    /// True: a second join of a user is refused (10022). False: it replaces the first.
    package var noAutoKickUser = false
    /// True: joining a room that does not exist fails (10012).
    package var noAutoCreateRoom = false
    /// True: an empty room stays.
    package var noAutoCloseRoom = false
    /// How long an empty room stays: 10 s as documented.
    package var autoCloseTtl = MediaDuration.seconds(10)
    /// How long a room that the server API made waits for its first user: 30 s as documented.
    package var noEnterTtl = MediaDuration.seconds(30)
    /// A user of whom nothing was heard for so long leaves: 30 s as documented.
    package var userTimeout = MediaDuration.seconds(30)
    /// What video the clients of the wire protocol get, which allows one codec: VP8, VP9, H264 or AV1.
    package var videoCodec = Codec.vp8
    /// A sending leg from which nothing authentic came for so long is gone.
    package var legTimeout = MediaDuration.seconds(30)
    /// A receiving leg of which nothing was heard for so long is gone.
    package var legLease = MediaDuration.seconds(3600)

    package init() {}
}
