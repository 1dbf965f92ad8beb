import MediaWire
import RoomControl
import Testing

@Suite struct AppDirectoryTests {
    static let alice = AccessKey(id: "alice", secret: "a")
    static let bob = AccessKey(id: "bob", secret: "b")
    static let now: Int64 = 1_800_000_000

    let store: AppStore
    let directory: AppDirectory

    init() throws {
        store = try AppStore.inMemory()
        directory = try Self.directory(store)
    }

    /// As a node makes it at each start.
    static func directory(_ store: AppStore, appsPerKey: Int = 1000) throws -> AppDirectory {
        var defaults = AppSettings()
        defaults.legLease = .seconds(77)
        return try AppDirectory(
            apps: [App(id: "fixed", accessKey: "alice")], keys: [alice, bob], store: store, defaults: defaults,
            appsPerKey: appsPerKey)
    }

    func create(
        _ key: AccessKey = alice, seed: UInt64 = 1, change: (inout AppChanges) -> Void = { _ in }
    ) throws -> App {
        var wishes = AppChanges()
        change(&wishes)
        var random = RandomSource.seeded(seed)
        return try directory.create(wishes, ownedBy: key, unixTime: Self.now, random: &random)
    }

    @Test func appsComeChangeAndGo() throws {
        let made = try create {
            $0.maxUsers = 3
            $0.title = "first"
        }
        #expect(made.id.utf8.count == 9 && made.id.allSatisfy { $0.isLowercase || $0.isNumber })
        #expect(made.origin == .api && made.accessKey == "alice")
        #expect(made.settings.maxUsers == 3 && made.settings.autoCloseTtl == .seconds(10))
        #expect(made.settings.noEnterTtl == .seconds(30) && made.settings.userTimeout == .seconds(30))
        #expect(made.settings.videoCodec == .vp8 && made.settings.legLease == .seconds(77))
        #expect(made.details.createdAt == Self.now && made.details.updatedAt == Self.now)
        #expect(directory.app(made.id) == made)
        #expect(directory.app(made.id, ownedBy: Self.alice) == made)
        #expect(directory.app(made.id, ownedBy: Self.bob) == nil)
        #expect(directory.apps(ownedBy: Self.alice).map(\.id).sorted() == ["fixed", made.id].sorted())
        #expect(directory.apps(ownedBy: Self.bob).isEmpty)

        var wishes = AppChanges()
        wishes.noAutoKickUser = true
        wishes.videoCodec = .h264
        let changed = try directory.update(made.id, wishes, ownedBy: Self.alice, unixTime: Self.now + 5)
        #expect(changed.settings.noAutoKickUser && changed.settings.videoCodec == .h264)
        #expect(changed.settings.maxUsers == 3 && changed.details.title == "first", "what is absent stays")
        #expect(changed.details.createdAt == Self.now && changed.details.updatedAt == Self.now + 5)
        #expect(directory.app(made.id) == changed)
        // The next start has the same.
        #expect(try Self.directory(store).app(made.id) == changed)

        try directory.delete(made.id, ownedBy: Self.alice)
        #expect(directory.app(made.id) == nil)
        #expect(throws: AppError.notFound) { try directory.delete(made.id, ownedBy: Self.alice) }
        #expect(try Self.directory(store).app(made.id) == nil)
    }

    @Test func whatIsNotOnesOwn() throws {
        let made = try create()
        let none = AppChanges()
        #expect(throws: AppError.notFound) {
            try directory.update(made.id, none, ownedBy: Self.bob, unixTime: Self.now)
        }
        #expect(throws: AppError.notFound) { try directory.delete(made.id, ownedBy: Self.bob) }
        #expect(throws: AppError.ownedByConfiguration("fixed")) {
            try directory.update("fixed", none, ownedBy: Self.alice, unixTime: Self.now)
        }
        #expect(throws: AppError.ownedByConfiguration("fixed")) { try directory.delete("fixed", ownedBy: Self.alice) }
        // Somebody else's app of the configuration does not exist either.
        #expect(throws: AppError.notFound) { try directory.delete("fixed", ownedBy: Self.bob) }
        #expect(directory.app("fixed") != nil && directory.app(made.id) == made)
    }

    @Test func aKeyHasSoManyAppsAtMost() throws {
        let directory = try Self.directory(store, appsPerKey: 3)
        var random = RandomSource.seeded(3)
        func make(_ key: AccessKey) throws(AppError) -> App {
            try directory.create(AppChanges(), ownedBy: key, unixTime: Self.now, random: &random)
        }
        let first = try make(Self.alice)
        for _ in 0..<2 { _ = try make(Self.alice) }
        #expect(throws: AppError.tooMany(limit: 3)) { try make(Self.alice) }
        _ = try make(Self.bob)
        try directory.delete(first.id, ownedBy: Self.alice)
        _ = try make(Self.alice)
    }

    @Test func idsAreFree() throws {
        let first = try create(seed: 9)
        let second = try create(seed: 9)
        #expect(first.id != second.id, "the same random numbers give another id when the first is taken")
        #expect(directory.apps(ownedBy: Self.alice).count == 3)
    }

    @Test func theConfigurationGoesFirst() throws {
        var stored = App(id: "fixed", accessKey: "bob", origin: .api)
        stored.details.createdAt = 1
        try store.save(stored)
        let directory = try Self.directory(store)
        #expect(directory.app("fixed")?.accessKey == "alice" && directory.app("fixed")?.origin == .configuration)
    }

    @Test func withoutAStore() throws {
        let directory = AppDirectory(apps: [], keys: [Self.alice])
        var random = RandomSource.seeded(1)
        let app = try directory.create(AppChanges(), ownedBy: Self.alice, unixTime: 1, random: &random)
        #expect(directory.app(app.id) == app)
        #expect(directory.key("alice") == Self.alice && directory.key("bob") == nil)
    }

    /// Lookups and changes from many tasks: no change is lost, and the store has what memory has.
    @Test func changesFromAllSides() async throws {
        let made = try create()
        let (directory, store) = (directory, store)
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var random = RandomSource.seeded(UInt64(100 + worker))
                    for round in 0..<25 {
                        var wishes = AppChanges()
                        if worker % 2 == 0 {
                            wishes.maxUsers = worker * 100 + round
                        } else {
                            wishes.title = "\(worker)"
                        }
                        _ = try? directory.update(made.id, wishes, ownedBy: Self.alice, unixTime: Self.now)
                        let own = try? directory.create(wishes, ownedBy: Self.bob, unixTime: 1, random: &random)
                        if let own, round % 2 == 0 { try? directory.delete(own.id, ownedBy: Self.bob) }
                    }
                }
            }
        }
        let apps = try store.apps()
        #expect(apps.filter { $0.accessKey == "bob" }.map(\.id) == directory.apps(ownedBy: Self.bob).map(\.id))
        #expect(directory.apps(ownedBy: Self.bob).count == 8 * 12)
        let last = try #require(directory.app(made.id))
        #expect(last.settings.maxUsers % 100 == 24 && !last.details.title.isEmpty)
        #expect(apps.first { $0.id == made.id }?.settings.maxUsers == last.settings.maxUsers)
    }

    @Test func secretsStayOutOfDescriptions() {
        var app = App(id: "a", accessKey: "k")
        app.details.eventCbSecret = "shh"
        var changes = AppChanges()
        changes.eventCbSecret = "shh"
        for text in ["\(app)", "\(app.details)", "\(changes)"] { #expect(!text.contains("shh")) }
    }
}

@Suite struct JSONValueTests {
    @Test func values() throws {
        let text = #"{"a":[1,2.5,"x",null,true],"b":{}}"#
        let value = try #require(JSONValue(text: text.utf8))
        #expect(
            value
                == .object([
                    "a": .array([.integer(1), .number(2.5), .string("x"), .null, .bool(true)]), "b": .object([:]),
                ]))
        #expect(value.text == text)
        #expect(JSONValue(text: "true".utf8) == .bool(true), "not 1")
        #expect(JSONValue(text: "1".utf8) == .integer(1), "not true")
        #expect(JSONValue(text: "9223372036854775807".utf8) == .integer(.max))
    }

    @Test(arguments: ["", "{", "{]", "nul", "{\"a\":}", "'a'", "[1,]x", "\u{1}", "{\"a\":1}{"])
    func nonsense(_ text: String) { #expect(JSONValue(text: text.utf8) == nil) }

    @Test func depth() {
        func nested(_ count: Int) -> String {
            String(repeating: "[", count: count) + String(repeating: "]", count: count)
        }
        #expect(JSONValue(text: nested(32).utf8) != nil)
        #expect(JSONValue(text: nested(33).utf8) == nil)
        #expect(JSONValue(text: nested(200_000).utf8) == nil)
        #expect(JSONValue(text: String(repeating: "{\"a\":", count: 100_000).utf8) == nil)
        // Brackets in strings are no depth.
        #expect(JSONValue(text: "\"\(String(repeating: "[", count: 99))\\\"[\"".utf8) != nil)
    }

    @Test func hugeNumbers() {
        for text in ["1e400", "-1e400", "123456789012345678901234567890", "1e308"] {
            switch JSONValue(text: text.utf8) {
            case nil, .number?: break
            case let other?: Issue.record("\(text): \(other)")
            }
        }
    }
}
