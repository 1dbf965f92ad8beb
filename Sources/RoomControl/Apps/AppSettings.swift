package import MediaWire

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

    /// What a setting may be, in seconds: a second to a week. The configuration has the same bounds.
    package static let times: ClosedRange<Int64> = 1...604_800
    /// What `userTimeout` may be, in seconds: users that answer each ping, every 3 s, must never count as silent.
    package static let userTimeouts: ClosedRange<Int64> = 10...3600
    /// What `maxUsers` may be; 0: no limit.
    package static let userCounts: ClosedRange<Int64> = 0...1_000_000
    /// What `videoCodec` may be.
    package static let videoCodecs = Codec.allCases.filter { $0.kind == .video }
}
