import MediaWire
package import RoomProtocol

// What the app's back end asks of a room that lives.

extension Room {
    /// The room as it is now.
    package func overview() async -> RoomDetails {
        await settle()
        return RoomDetails(
            key: key, instance: instance, isServerMade: state.origin == .server, startedAt: startedAt,
            settings: settings,
            users: state.details.map { RoomDetails.User($0, since: unixMilliseconds(of: $0.since)) })
    }

    /// How a change went.
    package enum ChangeOutcome<Result: Sendable>: Sendable {
        case done(Result)
        /// There is no such user, or track.
        case notFound
        case roomClosed
    }

    /// Mutes a track for everybody, or lifts that: forwarding stops or goes on. Gives the track as it is then.
    package func mute(track: String, _ isMuted: Bool) async -> ChangeOutcome<TrackDetails> {
        var effects: [RoomEffect] = []
        let isThere = state.muteByServer(track, isMuted, now: environment.clock.now(), effects: &effects)
        let changed = isThere ? state.details(ofTrack: track) : nil
        return await finish(changed, effects)
    }

    /// Changes what a user may do while it is in the room. Gives the user as it is then.
    package func setPermissions(
        of user: String, permission: RoomToken.Permission?, granted: Set<Privilege>?
    ) async throws(Refused) -> ChangeOutcome<RoomDetails.User> {
        let now = environment.clock.now()
        var effects: [RoomEffect] = []
        state.settle(now, effects: &effects)
        if permission != nil, let member = state.members[user], member.session == nil {
            obey(effects)
            await afterwards()
            throw Refused(
                .invalidParameter, "permission is of users who are in by signalling; \(user) has legs alone")
        }
        var changed = state.details(of: user)
        let isThere = state.setPermissions(
            of: user, permission: permission, granted: granted, now: now, effects: &effects)
        if isThere, let present = state.details(of: user) {
            changed = present
        } else {
            // With the last leg that it may have no more the user is gone.
            changed?.privileges = (granted ?? []).sorted { $0.rawValue < $1.rawValue }
            changed?.legs = []
            changed?.tracks = []
            changed?.subscriptions = []
        }
        return await finish(changed.map { RoomDetails.User($0, since: unixMilliseconds(of: $0.since)) }, effects)
    }

    /// How a message of the back end went.
    package enum MessageOutcome: Hashable, Sendable {
        /// The message's serial in the room.
        case sent(serial: Int)
        /// None of those it is for is in the room by signalling.
        case nobody
        /// The sender's name is that of a user who is in the room, who has not said this.
        case senderIsPresent
        case roomClosed
    }

    /// Sends a message to everybody who is in by signalling, or to those who are named.
    ///
    /// - Parameter sender: what receivers see as the sender; may be empty.
    package func sendMessage(_ message: SendMessage, sender: String) async throws(Refused) -> MessageOutcome {
        let now = environment.clock.now()
        var effects: [RoomEffect] = []
        state.settle(now, effects: &effects)
        let result: Result<MessageOutcome, Refused>
        if state.isClosed {
            result = .success(.roomClosed)
        } else if state.members[sender] != nil {
            result = .success(.senderIsPresent)
        } else {
            do throws(Refused) {
                let serial = try state.sendServerMessage(
                    message, sender: sender, now: now, unixMilliseconds: environment.clock.unixMilliseconds(),
                    effects: &effects)
                result = .success(serial.map { .sent(serial: $0) } ?? .nobody)
            } catch { result = .failure(error) }
        }
        obey(effects)
        await afterwards()
        return try result.get()
    }

    /// The table of bans has changed for this room.
    func refreshBans(in table: BanTable) async {
        await settle()
        state.setBans(table.bans(of: key, by: environment.clock))
    }

    private func finish<Value: Sendable>(_ value: Value?, _ effects: [RoomEffect]) async -> ChangeOutcome<Value> {
        let isClosed = state.isClosed
        obey(effects)
        await afterwards()
        if isClosed { return .roomClosed }
        return value.map { .done($0) } ?? .notFound
    }

    private func unixMilliseconds(of time: MediaTime) -> Int64 {
        startedAt + (time - startTime).nanoseconds / 1_000_000
    }
}

/// A room and everybody in it.
package struct RoomDetails: Sendable {
    package var key: RoomKey
    package var instance: RoomInstance
    /// By the server API rather than by the first join.
    package var isServerMade: Bool
    /// Unix time in milliseconds.
    package var startedAt: Int64
    /// The rules of this life of the room.
    package var settings: AppSettings
    /// In order of arrival.
    package var users: [User]

    /// A user, with its arrival by the clock on the wall.
    package struct User: Sendable {
        package var member: MemberDetails
        /// Unix time in milliseconds.
        package var since: Int64

        init(_ member: MemberDetails, since: Int64) {
            self.member = member
            self.since = since
        }
    }
}

extension BanTable {
    /// What a room is told: who is banned now, and until when in its monotonic time.
    func bans(of key: RoomKey, by clock: RoomClock) -> [String: MediaTime] {
        let active = bans(of: key, unixTime: clock.unixTime())
        return Dictionary(active.map { ($0.user, clock.time(ofUnix: $0.until)) }, uniquingKeysWith: { $1 })
    }
}

extension RoomClock {
    /// The monotonic time of a Unix time in seconds; far from now it is bounded to ten years.
    func time(ofUnix seconds: Int64) -> MediaTime {
        let most: Int64 = 10 * 365 * 86_400_000
        let (distance, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        let left = overflow ? most : distance.subtractingReportingOverflow(unixMilliseconds()).partialValue
        return now() + .milliseconds(min(max(0, left), most))
    }
}
