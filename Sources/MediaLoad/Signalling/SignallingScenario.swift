/// What users do at random.
package enum SignallingAction: String, CaseIterable, Sendable {
    /// To everybody, or to some.
    case message
    /// pubpc, pub-tracks, or a second pubpc.
    case publish
    case unpublish
    case mute
    /// subpc or sub-tracks.
    case subscribe
    case unsubscribe
    case qos
    /// Loses its socket, in silence or not, and comes back by a resume; a few too late.
    case drop
    /// Loses its socket and joins anew, so that the node still has its old session.
    case crash
    /// Leaves, and joins again.
    case leave
}

/// How often users do which.
package struct SignallingMix: Sendable, Equatable {
    /// In the order of the actions.
    private var weights: [Int]

    package static let standard = SignallingMix(weights: [40, 8, 5, 15, 12, 4, 4, 5, 1, 2])

    package subscript(_ action: SignallingAction) -> Int {
        zip(SignallingAction.allCases, weights).first { $0.0 == action }?.1 ?? 0
    }

    package var text: String {
        zip(SignallingAction.allCases, weights).map { "\($0.rawValue)=\($1)" }.joined(separator: ", ")
    }

    /// Changes what a list like `drop=30,leave=0` names.
    mutating func read(_ list: String) throws(LoadUsageError) {
        for entry in list.split(separator: ",") {
            let parts = entry.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2, let action = SignallingAction(rawValue: String(parts[0])),
                let place = SignallingAction.allCases.firstIndex(of: action),
                let weight = Int(parts[1]), (0...10_000).contains(weight)
            else {
                let names = SignallingAction.allCases.map(\.rawValue).joined(separator: ", ")
                throw LoadUsageError("--mix \(entry): ACTION=WEIGHT, with \(names), and a weight up to 10000")
            }
            weights[place] = weight
        }
        guard weights.contains(where: { $0 > 0 }) else { throw LoadUsageError("--mix: every weight is 0") }
    }

    func pick(using random: inout some RandomNumberGenerator) -> SignallingAction {
        var place = Int.random(in: 0..<max(weights.reduce(0, +), 1), using: &random)
        for (action, weight) in zip(SignallingAction.allCases, weights) {
            if place < weight { return action }
            place -= weight
        }
        return .message
    }
}

/// A run of signalling: who joins which rooms, what they do, for how long.
package struct SignallingScenario: Sendable, Equatable {
    package var url = "http://127.0.0.1:7880"
    package var app = "demo"
    package var key = "devkey"
    package var secret = "devsecret"
    package var users = 100
    package var rooms = 10
    package var roomPrefix = "load"
    /// Connections that only answer pings.
    package var idle = 0
    /// Seconds.
    package var churn = 10
    /// Joins a second.
    package var joinRate = 200
    /// Of each user, a second.
    package var actions = 0.5
    package var mix = SignallingMix.standard
    /// The longest that a dropped user stays away, in seconds.
    package var offline = 8
    /// Seconds from one quiet point of a room to the next.
    package var check = 15
    package var seed: UInt64 = 0
    /// Seconds until what must come counts as missing. What is under way on this machine takes milliseconds; a node that is short of
    /// processor some seconds.
    package var patience = 30
    package var processID: Int32?

    /// Idle users in one room.
    static let idleUsersPerRoom = 10

    package init() {}

    package var idleRooms: Int {
        (idle + SignallingScenario.idleUsersPerRoom - 1) / SignallingScenario.idleUsersPerRoom
    }

    /// How many of the users are in that room: as many as in the others, or one more.
    package func users(inRoom room: Int) -> Int { SignallingScenario.share(of: users, among: rooms, room) }
    package func idle(inRoom room: Int) -> Int { SignallingScenario.share(of: idle, among: idleRooms, room) }

    private static func share(of all: Int, among rooms: Int, _ room: Int) -> Int {
        rooms == 0 ? 0 : all / rooms + (room < all % rooms ? 1 : 0)
    }

    package func roomName(_ room: Int) -> String { "\(roomPrefix)-\(room + 1)" }
    package func idleRoomName(_ room: Int) -> String { "\(roomPrefix)-idle-\(room + 1)" }

    /// Reads what `LoadOptions.parse` gave.
    package init(options: [String: String], newSeed: UInt64) throws(LoadUsageError) {
        let read = OptionReader(options: options)
        try read.refuseOptions(of: .media, "does not go with --signalling")
        url = try read.url() ?? url
        app = try read.name("app") ?? app
        key = try read.name("key") ?? key
        secret = options["secret"] ?? secret
        roomPrefix = try read.name("room-prefix") ?? roomPrefix
        idle = try read.number("idle", 0...100_000) ?? idle
        users = try read.number("users", 0...100_000) ?? (idle > 0 ? 0 : users)
        guard users + idle > 0 else { throw LoadUsageError("--users 0: nobody would join; see also --idle") }
        rooms = try read.number("rooms", 1...10_000) ?? max(1, (users + 9) / 10)
        if users > 0, rooms > users { throw LoadUsageError("--rooms \(rooms): more than users (\(users))") }
        churn = try read.seconds("churn", 1...1_000_000) ?? churn
        joinRate = try read.number("join-rate", 1...100_000) ?? joinRate
        actions = try read.decimal("actions", 0...100) ?? actions
        if let list = options["mix"] { try mix.read(list) }
        // The node keeps a session for 30 s; what comes near that is another matter.
        offline = try read.seconds("offline", 1...20) ?? offline
        check = try read.seconds("check", 1...1_000_000) ?? check
        if let text = options["seed"] {
            guard let number = UInt64(text) else {
                throw LoadUsageError("--seed \(text): a whole number from 0 to \(UInt64.max)")
            }
            seed = number
        } else {
            seed = newSeed
        }
        if let number = try read.number("pid", 1...Int(Int32.max)) { processID = Int32(number) }
    }
}
