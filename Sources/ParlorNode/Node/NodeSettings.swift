import RoomControl

// What the configuration means to the rooms.

extension RoomLimits {
    init(_ limits: NodeConfiguration.Limits) {
        self.init()
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
