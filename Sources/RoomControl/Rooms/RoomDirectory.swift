import MediaContract
import MediaWire

/// All rooms of a node: finds them by name, makes them on demand, and brings the workers' reports to them.
package actor RoomDirectory {
    private let environment: RoomEnvironment
    private var rooms: [RoomKey: Room] = [:]
    private var byInstance: [RoomInstance: Room] = [:]
    private var lastInstance: UInt32 = 0
    /// Who may not enter.
    package nonisolated let bans: BanTable
    package nonisolated var limits: RoomLimits { environment.limits }

    package init(environment: RoomEnvironment, bans: BanTable = BanTable()) {
        self.environment = environment
        self.bans = bans
    }

    /// The room of that name, if there is one.
    package func room(_ key: RoomKey) -> Room? { rooms[key] }

    package func room(_ instance: RoomInstance) -> Room? { byInstance[instance] }

    /// The room of that name, made on the least loaded worker if there is none; `nil`: the node has all the rooms that
    /// it may have.
    package func room(
        _ key: RoomKey, creatingWith settings: AppSettings, origin: RoomState.RoomOrigin = .firstJoin
    ) -> Room? {
        if let room = rooms[key] { return room }
        guard rooms.count < environment.limits.rooms, lastInstance < .max else { return nil }
        lastInstance += 1
        let room = Room(
            key: key, instance: RoomInstance(lastInstance), worker: environment.plane.leastLoadedWorker(),
            settings: settings, origin: origin, bans: bans.bans(of: key, by: environment.clock),
            environment: environment,
            onClosed: { [weak self] instance in await self?.forget(instance) })
        rooms[key] = room
        byInstance[room.instance] = room
        return room
    }

    /// How making a room for the server API went.
    package enum Creation: Sendable {
        case created(Room)
        /// It is there already.
        case exists(Room)
        case tooMany
    }

    /// Makes a room that waits for its first user; at the latest at its deadline it closes by itself.
    package func create(_ key: RoomKey, settings: AppSettings) async -> Creation {
        if let room = rooms[key] {
            await room.settle()
            // It may have closed at this very moment; then its name is free.
            if await !room.isClosed { return .exists(room) }
            forget(room.instance)
        }
        if let room = rooms[key] { return .exists(room) }
        guard let room = room(key, creatingWith: settings, origin: .server) else { return .tooMany }
        await room.start()
        return .created(room)
    }

    /// A closed room is in nobody's way: its name is free for another instance.
    package func forget(_ instance: RoomInstance) {
        guard let room = byInstance.removeValue(forKey: instance) else { return }
        if rooms[room.key]?.instance == instance { rooms[room.key] = nil }
    }

    /// One page of an app's rooms by name.
    package struct Page: Hashable, Sendable {
        package var rooms: [String]
        /// What to pass for the next page.
        package var offset: Int
        package var isLast: Bool
    }

    /// Rooms whose names begin with the prefix, sorted by name.
    package func list(app: String, prefix: String, offset: Int, limit: Int) -> Page {
        let names = rooms.keys.filter { $0.app == app && $0.room.hasPrefix(prefix) }.map(\.room).sorted()
        let page = Array(names.dropFirst(max(0, offset)).prefix(max(0, limit)))
        let next = min(max(0, offset), names.count) + page.count
        return Page(rooms: page, offset: next, isLast: next >= names.count)
    }

    package var roomCount: Int { rooms.count }

    /// Ends every room, or those of one app.
    package func closeAll(
        app: String? = nil, _ reason: CloseReason = .nodeStopping, _ sentence: String = "the server is stopping"
    ) async {
        // Whoever is on the way in meanwhile may make another one; the doors are shut by now, so that ends.
        for _ in 0..<100 {
            let open = rooms.values.filter { app == nil || $0.key.app == app }
            if open.isEmpty { return }
            for room in open {
                await room.close(reason, sentence)
                forget(room.instance)
            }
        }
    }

    // MARK: Bans

    /// Keeps a user out of the rooms of that name until a time, over the ends of their lives, and puts it out if it is in.
    ///
    /// - Returns: how the removal went.
    package nonisolated func ban(_ ban: Ban) async throws(BanTable.Refusal) -> Room.KickOutcome {
        // First the rule, then the removal: nobody slips in between. A room that is made meanwhile knows the rule.
        try bans.add(ban, perRoom: environment.limits.bansPerRoom, unixTime: environment.clock.unixTime())
        guard let room = await room(ban.room) else { return .roomClosed }
        await room.refreshBans(in: bans)
        return await room.kick(ban.user, ban.reason.isEmpty ? "banned from the room for a time" : ban.reason)
    }

    /// Lets a user in again. False: it was not banned.
    package nonisolated func unban(_ user: String, from key: RoomKey) async throws(StoreError) -> Bool {
        let wasBanned = try bans.remove(user, from: key, unixTime: environment.clock.unixTime())
        await room(key)?.refreshBans(in: bans)
        return wasBanned
    }

    package nonisolated func isBanned(_ user: String, from key: RoomKey) -> Bool {
        bans.ban(of: user, in: key, unixTime: environment.clock.unixTime()) != nil
    }

    /// Brings the media plane's reports to their rooms until there are no more. Call it once.
    package nonisolated func run() async {
        for await batch in environment.plane.events {
            var order: [RoomInstance] = []
            var events: [RoomInstance: [MediaEvent]] = [:]
            for event in batch.events {
                guard let instance = event.room else { continue }
                if events[instance] == nil { order.append(instance) }
                events[instance, default: []].append(event)
            }
            for instance in order {
                await room(instance)?.handle(events[instance] ?? [])
            }
        }
    }
}

extension MediaEvent {
    /// The room that the report is about; `nil`: it answers a question of the engine's own.
    fileprivate var room: RoomInstance? {
        switch self {
        case .removed, .snapshot: nil
        case .transportConnected(let id, _), .transportHeard(let id), .transportQuiet(let id),
            .transportSilent(let id), .transportUnreachable(let id), .transportFailed(let id, _):
            RoomInstance(of: id.rawValue)
        case .trackStarted(let id): RoomInstance(of: id.rawValue)
        case .subscriptionRefused(let id), .layerChanged(let id, _): RoomInstance(of: id.rawValue)
        }
    }
}
