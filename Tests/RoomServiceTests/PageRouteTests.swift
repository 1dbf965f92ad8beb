import Foundation
import RoomControl
import RoomService
import RoomTestKit
import Testing
import WebTransport

/// The page's files, as they are in the source tree, and the tokens that it gets where everybody knows the keys.
@Suite struct PageRouteTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/web/files").standardized

    /// Every file of the folder by its path there.
    private static func files() throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            let file = folder.appending(path: path)
            guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
            files[path] = Array(try Data(contentsOf: file))
        }
        return files
    }

    private func get(
        _ target: String, on fixture: ServiceFixture = ServiceFixture(), headers: HTTPFields = [:]
    ) async -> HTTPResponse {
        await fixture.services.handle(HTTPRequest(method: "GET", target: target, headers: headers))
    }

    @Test func everyFileOfTheFolderIsServedAsItIs() async throws {
        let types = [
            "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
            "css": "text/css; charset=utf-8", "svg": "image/svg+xml", "ts": "text/plain; charset=utf-8",
        ]
        let files = try Self.files()
        #expect(files.count > 30)
        for (path, bytes) in files {
            let answer = await get(path == "index.html" ? "/" : "/\(path)")
            #expect(answer.status == 200, "\(path)")
            #expect(answer.body == bytes, "\(path) differs from the source tree: pages.c does not have it, or another")
            #expect(answer.headers["Content-Type"] == types[String(path.split(separator: ".").last ?? "")], "\(path)")
            #expect(answer.headers["X-Content-Type-Options"] == "nosniff", "\(path)")
            #expect(answer.headers["Cache-Control"] == "no-cache", "\(path)")
        }
        for path in ["/page/nothing.js", "/parlor-client/../index.html", "/page/", "/page/..%2Findex.html", "/page"] {
            #expect(await get(path).status == 404, "\(path)")
        }
    }

    /// RFC 9110, section 9.3.2: as GET. The body is left out where it is sent (`HTTPServerTests`), so its length is right.
    @Test func headIsAnsweredAsGet() async throws {
        let fixture = ServiceFixture()
        for path in [
            "/", "/parlor-client.js", "/page/nothing.js", "/page.json", "/healthz", "/metrics", "/whip", "/nothing",
        ] {
            let get = await get(path, on: fixture)
            let head = await fixture.services.handle(HTTPRequest(method: "HEAD", target: path))
            #expect(head.status == get.status, "\(path)")
            for name in ["Content-Type", "ETag", "Cache-Control", "Content-Security-Policy", "Allow"] {
                #expect(head.headers[name] == get.headers[name], "\(path): \(name)")
            }
            #expect(path == "/metrics" || head.body.count == get.body.count, "\(path)")
        }
        let tag = try #require(await get("/").headers["ETag"])
        let request = HTTPRequest(method: "HEAD", target: "/", headers: ["If-None-Match": tag])
        #expect(await fixture.services.handle(request).status == 304)
        // What the server API signs is the method that was used.
        #expect(await fixture.server("HEAD", "/v3/apps/demo/rooms").status == 200)
        #expect(await fixture.send("HEAD", "/v3/apps/demo/rooms").status == 401)
    }

    @Test func aKnownTagSavesTheBody() async throws {
        let tag = try #require(await get("/").headers["ETag"])
        let other = try #require(await get("/parlor-client.js").headers["ETag"])
        #expect(tag != other)
        for known in [tag, "W/\(tag)", "\"x\", \(tag)", "\"x\",\(tag) , \"y\""] {
            let answer = await get("/", headers: ["If-None-Match": known])
            #expect(answer.status == 304, "\(known)")
            #expect(answer.body.isEmpty)
            #expect(answer.headers["ETag"] == tag)
            // A cached page lives under the policy of today, not of the day that it was fetched.
            #expect(answer.headers["Content-Security-Policy"] != nil)
        }
        for unknown in [other, "x", "", String(tag.dropFirst())] {
            #expect(await get("/", headers: ["If-None-Match": unknown]).status == 200, "\(unknown)")
        }
    }

    @Test func thePageMayLoadAndReachThisNodeOnly() async throws {
        let local = try #require(
            await get("/", headers: ["Host": "127.0.0.1:7880"]).headers["Content-Security-Policy"])
        #expect(local.contains("connect-src 'self' ws://127.0.0.1:7880;"))
        #expect(local.contains("default-src 'none'"))
        #expect(!local.contains("unsafe"))
        let elsewhere = ServiceFixture(publicURL: "https://media.example.com")
        let configured = await get("/", on: elsewhere, headers: ["Host": "10.0.0.1"]).headers["Content-Security-Policy"]
        #expect(configured?.contains("connect-src 'self' wss://media.example.com;") == true)
        // What is no host stands in no header.
        let strange = await get("/", headers: ["Host": "a b; script-src *"]).headers["Content-Security-Policy"]
        #expect(strange?.contains("connect-src 'self';") == true)
        for html in ["/whip.html", "/whep.html"] {
            #expect(await get(html).headers["Content-Security-Policy"] != nil)
        }
    }

    /// A page without inline scripts and styles, which the policy would stop, and without anything from elsewhere.
    @Test func theFilesFitThePolicy() throws {
        for (path, bytes) in try Self.files() {
            let text = String(decoding: bytes, as: UTF8.self)
            if path.hasSuffix(".html") {
                #expect(text.firstMatch(of: /<script(?![^>]*src=)/) == nil, "\(path) has an inline script")
                let inline = text.firstMatch(of: /<style|style=|\son[a-z]+=/)
                #expect(inline == nil, "\(path) has inline styles or listeners")
            }
            let foreign = text.firstMatch(of: /(src|href|from|url\()\s*=?\s*["']?(https?:)?\/\//)
            #expect(foreign == nil, "\(path) loads from elsewhere")
            #expect(!text.contains("innerHTML"), "\(path): texts of other people must never be read as HTML")
        }
    }

    @Test func tokensForTheAppWithTheDevelopmentKeys() async throws {
        struct Body: Decodable { var token: String }
        let fixture = ServiceFixture()
        let answer = await get("/dev/token?room=demo-1&user=anna", on: fixture)
        #expect(answer.status == 200)
        #expect(answer.headers["Cache-Control"] == "no-store")
        let body = try JSONDecoder().decode(Body.self, from: Data(answer.body))
        let now = fixture.clock.clock.unixTime()
        let token = try RoomToken.verify(body.token, apps: fixture.apps, unixTime: now)
        #expect(token == RoomToken(app: "demo", room: "demo-1", user: "anna", expiresAt: now + 3600))
        let host = await get("/dev/token?room=demo-1&user=anna&permission=admin", on: fixture)
        let hosts = try JSONDecoder().decode(Body.self, from: Data(host.body)).token
        #expect(try RoomToken.verify(hosts, apps: fixture.apps, unixTime: now).permission == .admin)
        let refused = [
            "", "?room=demo", "?user=anna", "?room=a%20b&user=anna", "?room=demo&user=%22",
            "?room=r&user=u&permission=x",
        ]
        for wrong in refused {
            #expect(await get("/dev/token" + wrong, on: fixture).status == 400, "\(wrong)")
        }
        #expect(await get("/page.json", on: fixture).text == #"{"openApp":"demo"}"#)
    }

    @Test func noTokensElsewhere() async {
        let fixture = ServiceFixture(openApp: nil)
        #expect(await get("/dev/token?room=demo-1&user=anna", on: fixture).status == 404)
        #expect(await get("/page.json", on: fixture).text == "{}")
    }
}
