import MediaWire
package import RoomControl
package import RoomService

// What the configuration means to the rooms.

extension RoomLimits {
    package init(_ limits: NodeConfiguration.Limits, _ media: NodeConfiguration.Media) {
        self.init()
        transportSilence = MediaDuration(media.silence)
        frameBytes = limits.signallingFrame
        messageBytes = limits.message
        messagesPerSecond = limits.messagesPerSecond
        framesPerSecond = limits.requestsPerSecond
        changesPerSecond = limits.changesPerSecond
        subscriptionsPerSecond = limits.subscriptionsPerSecond
        tracksPerUser = limits.tracksPerUser
        usersPerRoom = limits.usersPerRoom
        rooms = limits.rooms
        users = limits.users
    }
}

extension ICEServer {
    /// The configuration's checks have made sure that TURN servers have one way in.
    package init(_ server: NodeConfiguration.ICEServer) {
        let access: Access
        if let secret = server.secret {
            access = .secret(secret)
        } else if let username = server.username, let credential = server.credential {
            access = .password(username: username, credential: credential)
        } else {
            access = .open
        }
        self.init(urls: server.urls, access: access)
    }
}
