import MediaContract
import MediaWire

/// All rooms of a node: finds them by name, makes them on demand, and brings the workers' reports to them.
package actor RoomDirectory {
    private let environment: RoomEnvironment
    private var rooms: [RoomKey: Room] = [:]
    private var byInstance: [RoomInstance: Room] = [:]
    private var lastInstance: UInt32 = 0

    package init(environment: RoomEnvironment) { self.environment = environment }

    /// The room of that name, if there is one.
    package func room(_ key: RoomKey) -> Room? { rooms[key] }

    package func room(_ instance: RoomInstance) -> Room? { byInstance[instance] }

    /// The room of that name, made on the least loaded worker if there is none.
    package func room(_ key: RoomKey, creatingWith settings: AppSettings) -> Room {
        if let room = rooms[key] { return room }
        lastInstance += 1
        let room = Room(
            key: key, instance: RoomInstance(lastInstance), worker: environment.plane.leastLoadedWorker(),
            settings: settings, environment: environment,
            onClosed: { [weak self] instance in await self?.forget(instance) })
        rooms[key] = room
        byInstance[room.instance] = room
        return room
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

    /// Ends every room: the node stops.
    package func closeAll() async {
        for room in rooms.values { await room.close() }
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
        case .transportConnected(let id, _), .transportHeard(let id), .transportSilent(let id),
            .transportUnreachable(let id):
            RoomInstance(of: id.rawValue)
        case .trackStarted(let id): RoomInstance(of: id.rawValue)
        case .subscriptionRefused(let id): RoomInstance(of: id.rawValue)
        }
    }
}
