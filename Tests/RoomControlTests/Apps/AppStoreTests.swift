import Foundation
import MediaWire
import RoomControl
import Testing

@Suite struct AppStoreTests {
    /// A folder that is gone with the value.
    final class Folder: Sendable {
        let path = FileManager.default.temporaryDirectory.appending(path: "parlor-store-\(UUID().uuidString)").path

        deinit { try? FileManager.default.removeItem(atPath: path) }

        var file: String { path + "/" + AppStore.fileName }
    }

    static func app(_ id: String, title: String = "") -> App {
        var app = App(id: id, accessKey: "key", origin: .api)
        app.settings.maxUsers = 7
        app.settings.noAutoKickUser = true
        app.settings.noAutoCloseRoom = true
        app.settings.autoCloseTtl = .seconds(11)
        app.settings.noEnterTtl = .seconds(31)
        app.settings.userTimeout = .seconds(604_800)
        app.settings.videoCodec = .h264
        app.details.title = title
        app.details.hub = "hub"
        app.details.mergePublishRtmp = .object(["enable": .bool(true), "fps": .integer(25), "url": .string("rtmp://x")])
        app.details.eventCbUrl = "http://127.0.0.1:1/"
        app.details.eventCbSecret = "shh"
        app.details.createdAt = 1_800_000_000
        app.details.updatedAt = 1_800_000_001
        return app
    }

    static func room(_ app: String, _ name: String) -> AppStore.SavedRoom {
        var settings = RoomSettings()
        settings.maxUsers = 20
        settings.noEnterTtl = .seconds(3600)
        settings.openRoom = true
        return AppStore.SavedRoom(key: RoomKey(app: app, room: name), settings: settings, createdAt: 1_800_000_002)
    }

    static func ban(_ user: String, app: String = "a", until: Int64) -> Ban {
        Ban(room: RoomKey(app: app, room: "r"), user: user, until: until, reason: "shouting")
    }

    @Test func whatIsSavedIsReadBackAfterTheNextStart() throws {
        let folder = Folder()
        // Quotes, NUL, other scripts: values never become SQL.
        let titles = ["", "plain", "it's; DROP TABLE apps;--", "日本 é 🎙", "a\u{0}b"]
        let apps = titles.enumerated().map { Self.app("app\($0)", title: $1) }
        do {
            let store = try AppStore.open(directory: folder.path)
            for app in apps { try store.save(app) }
            try store.saveRoom(Self.room("a", "one"))
            try store.saveBan(Self.ban("bob", until: 1_800_000_100))
        }
        do {
            let store = try AppStore.open(directory: folder.path)
            #expect(try store.apps() == apps)
            #expect(try store.rooms() == [Self.room("a", "one")])
            #expect(try store.bans(unixTime: 1_800_000_000) == [Self.ban("bob", until: 1_800_000_100)])
            // The second save takes the first one's place.
            var changed = apps[1]
            changed.details.title = "new"
            changed.settings.videoCodec = .av1
            changed.details.mergePublishRtmp = nil
            try store.save(changed)
            #expect(try store.apps()[1] == changed && store.apps().count == apps.count)
        }
        #expect(try AppStore.open(directory: folder.path).apps()[1].details.title == "new")
    }

    @Test func anAppTakesItsRoomsAndBansAlong() throws {
        let store = try AppStore.inMemory()
        for app in ["a", "b"] {
            try store.save(Self.app(app))
            for room in ["y", "x"] { try store.saveRoom(Self.room(app, room)) }
            try store.saveBan(Self.ban("u", app: app, until: 100))
        }
        try store.deleteApp("a")
        try store.deleteApp("nowhere")
        #expect(try store.apps().map(\.id) == ["b"])
        #expect(try store.rooms() == [Self.room("b", "x"), Self.room("b", "y")])
        #expect(try store.bans(unixTime: 0).map(\.room.app) == ["b"])
        try store.deleteRoom(RoomKey(app: "b", room: "x"))
        #expect(try store.rooms().map(\.key.room) == ["y"])
    }

    @Test func bansEnd() throws {
        let store = try AppStore.inMemory()
        try store.saveBan(Self.ban("a", until: 100))
        try store.saveBan(Self.ban("b", until: 200))
        try store.saveBan(Self.ban("c", until: 300))
        #expect(try store.bans(unixTime: 99).map(\.user) == ["a", "b", "c"])
        #expect(try store.bans(unixTime: 100).map(\.user) == ["b", "c"])
        // Even if the clock goes back: what is over was forgotten.
        #expect(try store.bans(unixTime: 0).map(\.user) == ["b", "c"])
        try store.saveBan(Self.ban("b", until: 400))
        try store.deleteBan("c", in: RoomKey(app: "a", room: "r"))
        try store.deleteBan("b", in: RoomKey(app: "a", room: "elsewhere"))
        #expect(try store.bans(unixTime: 0) == [Self.ban("b", until: 400)])
    }

    /// Times that could not be counted in milliseconds are no times.
    @Test(arguments: [Int64.max, Int64.max / 1000, Int64.max / 2000 + 1]) func aBanBeyondTimeIsDamage(until: Int64)
        throws
    {
        let store = try AppStore.inMemory()
        try store.saveBan(Self.ban("a", until: Int64.max / 2000))
        #expect(try store.bans(unixTime: 0).count == 1)
        try store.saveBan(Self.ban("b", until: until))
        do throws(StoreError) {
            _ = try store.bans(unixTime: 0)
            Issue.record("read \(until)")
        } catch { #expect(error.kind == .damaged) }
    }

    // MARK: Starts that must not be

    func refusal(_ folder: Folder) -> StoreError? {
        do throws(StoreError) {
            _ = try AppStore.open(directory: folder.path)
            return nil
        } catch { return error }
    }

    @Test func oneNodeHasTheFolder() throws {
        let folder = Folder()
        var store: AppStore? = try AppStore.open(directory: folder.path)
        let refused = refusal(folder)
        #expect(refused?.kind == .inUse && refused?.message.contains("another node") == true)
        // Another process sees the same; and lets go of it when it ends.
        func otherProcess() throws -> Int32 {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = ["flock", "--nonblock", folder.path + "/parlor.lock", "true"]
            try process.run()
            process.waitUntilExit()
            return process.terminationStatus
        }
        #expect(try otherProcess() == 1)
        try store?.save(Self.app("a"))
        store = nil
        #expect(try otherProcess() == 0)
        #expect(try AppStore.open(directory: folder.path).apps().map(\.id) == ["a"])
    }

    @Test func onlyItsOwnerReadsTheFile() throws {
        let folder = Folder()
        let store = try AppStore.open(directory: folder.path)
        try store.save(Self.app("a"))
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(name)")
        }
        withExtendedLifetime(store) {}
    }

    @Test func damagedFilesStopTheStart() throws {
        let folder = Folder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data("This is a shopping list, and no database at all.".utf8).write(to: URL(filePath: folder.file))
        #expect(refusal(folder)?.kind == .damaged)
        #expect(refusal(folder)?.message.contains(folder.file) == true)
        try FileManager.default.removeItem(atPath: folder.file)
        #expect(refusal(folder) == nil)

        // Each page of a good file in turn overwritten: found at the start, or harmless.
        do {
            let store = try AppStore.open(directory: folder.path)
            for index in 0..<60 { try store.save(Self.app("app\(index)", title: String(repeating: "t", count: 200))) }
        }
        let good = try Data(contentsOf: URL(filePath: folder.file))
        let pages = good.count / 4096
        try #require(pages > 5, "the example must have several pages")
        var found = 0
        for page in 0..<pages {
            var bad = good
            for offset in 0..<64 { bad[page * 4096 + offset] = 0xA5 }
            try bad.write(to: URL(filePath: folder.file))
            switch refusal(folder)?.kind {
            case .damaged?: found += 1
            case nil: break
            case let kind?: Issue.record("page \(page): \(kind)")
            }
        }
        #expect(found >= pages / 2, "\(found) of \(pages)")
        // An empty file is what a crash in the very first moment leaves.
        try Data().write(to: URL(filePath: folder.file))
        #expect(try AppStore.open(directory: folder.path).apps().isEmpty)
    }

    /// The two numbers of the file's head that say whose it is (bytes 68 to 71) and which version (60 to 63).
    @Test func otherVersionsAndOtherPrograms() throws {
        let folder = Folder()
        _ = try AppStore.open(directory: folder.path)
        let good = try Data(contentsOf: URL(filePath: folder.file))
        func rewrite(_ offset: Int, _ bytes: [UInt8]) throws {
            var changed = good
            for (index, byte) in bytes.enumerated() { changed[offset + index] = byte }
            try changed.write(to: URL(filePath: folder.file))
        }
        try rewrite(60, [0, 0, 0, 9])
        #expect(refusal(folder)?.kind == .newer)
        #expect(refusal(folder)?.message.contains("schema 9") == true)
        try rewrite(60, [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(refusal(folder) != nil)
        try rewrite(68, [0, 0, 0, 7])
        #expect(refusal(folder)?.kind == .damaged)
        #expect(refusal(folder)?.message.contains("not one of Parlor's") == true)
        try good.write(to: URL(filePath: folder.file))
        #expect(refusal(folder) == nil)
    }

    @Test func foldersThatCannotBe() throws {
        let folder = Folder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: folder.path + "/plain"))
        for path in [folder.path + "/plain", folder.path + "/plain/below", "/proc/nowhere"] {
            do throws(StoreError) {
                _ = try AppStore.open(directory: path)
                Issue.record("opened \(path)")
            } catch {
                #expect(error.kind == .unavailable && error.message.contains(path))
            }
        }
    }

    /// What a tool or a careless hand put into the file: a sentence at the start, never a trap.
    @Test func rowsThatMakeNoSense() throws {
        for (columns, values) in [
            ("max_users", "-1"), ("max_users", "9223372036854775807"), ("auto_close_ttl_ms", "-5"),
            ("user_timeout_ms", "9223372036854775807"), ("video_codec", "'MPEG'"), ("video_codec", "'opus'"),
            ("merge_publish_rtmp", "'{'"),
        ] {
            let folder = Folder()
            do { try AppStore.open(directory: folder.path).save(Self.app("a")) }
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = [
                "python3", "-c",
                "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit(); c.close()",
                folder.file, "UPDATE apps SET \(columns) = \(values)",
            ]
            try process.run()
            process.waitUntilExit()
            try #require(process.terminationStatus == 0)
            do throws(StoreError) {
                _ = try AppStore.open(directory: folder.path).apps()
                Issue.record("read \(columns) = \(values)")
            } catch {
                #expect(error.kind == .damaged, "\(error)")
            }
        }
    }
}
