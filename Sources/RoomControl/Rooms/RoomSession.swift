import MediaContract
import MediaWire
package import RoomProtocol

/// One signalling connection, counted up by the node and never used twice.
package struct LinkID: Hashable, Sendable {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// How a room lets go of a connection.
package enum LinkEnd: Hashable, Sendable {
    /// The user is out, and is told why.
    case out(DisconnectNotice)
    /// By its own wish.
    case left
    /// Another connection resumed the session.
    case resumedElsewhere
    /// Nothing came for the user timeout.
    case silent
}

/// A user that comes in by signalling, as its token and `auth` say.
package struct SessionEntry: Sendable {
    package var user: String
    package var permission: RoomToken.Permission
    package var privileges: Set<Privilege>
    package var userData: String
    /// What the client can send and receive, if it said so; without, it has no media.
    package var profile: ClientMediaProfile?
    /// It takes tracks of other codecs than the room's.
    package var isMulticodec: Bool

    package init(
        user: String, permission: RoomToken.Permission = .user, privileges: Set<Privilege> = [.publish, .subscribe],
        userData: String = "", profile: ClientMediaProfile? = nil, isMulticodec: Bool = false
    ) {
        self.user = user
        self.permission = permission
        self.privileges = privileges
        self.userData = userData
        self.profile = profile
        self.isMulticodec = isMulticodec
    }
}

/// What a user who is in learns: the room as it is now.
package struct SessionGrant: Sendable {
    package var reconnectToken: Int
    package var players: [PlayerInfo]
    package var tracks: [TrackInfo]
    /// Those of the players whose connection is lost just now.
    package var reconnecting: [String] = []
    package var ownPublications: [String] = []
    package var ownSubscriptions: [String] = []
    /// Of `ownPublications` those that the server has muted.
    package var mutedByServer: [String] = []
    package var capabilities: RTPCapabilities?
    /// Missed while away.
    package var messages: [RoomMessage] = []
    /// What became of its connections, as far as it may not have heard of it.
    package var connections: [Notification] = []
}

extension RoomState {
    /// The signalling part of a member.
    struct Session: Sendable {
        /// `nil` while its socket is lost.
        var link: LinkID?
        let reconnectToken: Int
        var lastHeard: MediaTime
        /// When its socket was seen to go. The end of a socket is a sign too: its silence counts from there.
        var lostAt: MediaTime?
        /// The others were told.
        var isReconnecting = false
        var permission: RoomToken.Permission
        /// What the user wants to do, and of that what it is granted.
        var wanted: Set<Privilege>
        var privileges: Set<Privilege>
        /// Messages from here on are the session's.
        let joinSerial: Int
        var profile: ClientMediaProfile?
        let isMulticodec: Bool
        var messageRate: RateMeter
        var changeRate: RateMeter
        /// Of the tracks that its requests name.
        var namingRate: RateMeter
        var publishing: PublishConnection?
        var subscribing: SubscribeConnection?
        /// The last word about each of its connections, until it has heard it for certain.
        var words: [ConnectionKind: ConnectionWord] = [:]
    }

    enum ConnectionKind: Hashable, Sendable, CaseIterable {
        case publishing, subscribing
    }

    /// A notification about a connection. Clients wait for it without a limit, so it must come also when a socket broke.
    struct ConnectionWord: Sendable {
        let notification: Notification
        /// When it was last sent; `nil`: there was no socket.
        var sentAt: MediaTime?
    }

    /// What a media transport of a session is to it.
    struct SessionTransport: Sendable {
        let user: String
        let kind: ConnectionKind
    }

    /// Where a subscription of the media plane belongs.
    struct SessionListener: Sendable {
        let user: String
        /// Public id.
        let track: String
    }

    struct PublishConnection: Sendable {
        let id: String
        let transport: TransportID
        /// Which candidates its client wants, also after a restart.
        let policy: CandidatePolicy
        var credentials: ICECredentials
        var isConnected = false
        /// When ICE last began anew, or its client was asked for that.
        var restartedAt: MediaTime?
    }

    struct SubscribeConnection: Sendable {
        let id: String
        let transport: TransportID
        let policy: CandidatePolicy
        var credentials: ICECredentials
        /// Under which our reports leave.
        let localSSRC: UInt32
        var isConnected = false
        /// When ICE last began anew, or its client was asked for that.
        var restartedAt: MediaTime?
        /// By the track's public id.
        var subscriptions: [String: SessionSubscription] = [:]
    }

    struct SessionSubscription: Sendable {
        let ssrc: UInt32
        /// 0: none.
        let rtxSSRC: UInt32
        var profile: SubscribeProfile
        /// The media plane's; `nil`: nothing is forwarded, for the server mutes the track.
        var subscription: SubscriptionID?
    }
}
