import CPages
import RoomControl
import WebTransport

/// The page, the JavaScript client and the examples of WHIP and WHEP: files that are inside the program. Beside them what
/// the page asks: whether it may make its own tokens.
struct PageRoutes: Sendable {
    let address: PublicAddress
    let apps: AppDirectory
    let clock: RoomClock
    /// The app whose keys everybody knows, for which the page gets tokens; `nil`: whoever joins brings one.
    let openApp: String?

    /// One embedded file, ready to be sent.
    private struct File: Sendable {
        let type: String
        let tag: String
        let bytes: [UInt8]
    }

    /// How long a token that the page gets opens the door, in seconds: as long as those of `parlor token`.
    private static let tokenLifetime: Int64 = 3600

    func add(to router: inout Router) {
        let files = Self.files
        let index = files["index.html"]
        router.on("GET", "/") { request in answer(index, request.http) }
        for path in files.keys.sorted() where !path.contains("/") && path != "index.html" {
            let file = files[path]
            router.on("GET", "/\(path)") { request in answer(file, request.http) }
        }
        for folder in ["page", "parlor-client"] {
            router.on("GET", "/\(folder)/:file") { request in
                answer(files["\(folder)/\(request.parameter("file"))"], request.http)
            }
        }
        router.on("GET", "/page.json") { _ in
            struct Body: Encodable { var openApp: String? }
            return Self.fresh(Answer.json(Body(openApp: openApp)))
        }
        router.on("GET", "/dev/token") { token(for: $0.http) }
    }

    // MARK: Files

    /// By path, without a slash at its beginning.
    private static let files: [String: File] = {
        var count = 0
        guard let first = cpages_files(&count) else { return [:] }
        var files: [String: File] = [:]
        for file in UnsafeBufferPointer(start: first, count: count) {
            let path = String(cString: file.path)
            let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.length))
            files[path] = File(type: type(of: path), tag: tag(of: bytes), bytes: bytes)
        }
        return files
    }()

    private static func type(of path: String) -> String {
        switch path.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "text/plain; charset=utf-8"
        }
    }

    /// A name for the content, not a secret: FNV-1a of 64 bits.
    private static func tag(of bytes: [UInt8]) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return "\"\(String(hash, radix: 16))\""
    }

    private func answer(_ file: File?, _ request: HTTPRequest) -> HTTPResponse {
        guard let file else { return Answer.error(404, "there is nothing at this path") }
        var headers: HTTPFields = [
            "ETag": file.tag,
            // Asked for anew each time, and answered in a few bytes: so the files of two versions never meet.
            "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff",
        ]
        let known = request.headers.values("If-None-Match").joined(separator: ",").split(separator: ",")
        let isKnown = known.contains { entry in
            let entry = entry.drop { $0 == " " }
            // A weak comparison (RFC 9110, section 13.1.2).
            return (entry.hasPrefix("W/") ? entry.dropFirst(2) : entry).prefix { $0 != " " } == file.tag
        }
        // With a 304, too: a cache takes the headers from there (RFC 9111, section 4.3.4), and the policy is not the file's.
        if file.type.hasPrefix("text/html") {
            headers["Content-Security-Policy"] = policy(request)
            headers["Permissions-Policy"] = "camera=(self), microphone=(self), display-capture=(self)"
            headers["Referrer-Policy"] = "no-referrer"
        }
        if isKnown { return HTTPResponse(status: 304, headers: headers) }
        headers["Content-Type"] = file.type
        return HTTPResponse(status: 200, headers: headers, body: file.bytes)
    }

    /// Nothing but what this node serves, and its signalling, wherever the configuration says that it is.
    private func policy(_ request: HTTPRequest) -> String {
        let signalling = address.webSocketBase(for: request).map { " " + $0 } ?? ""
        return [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data: blob:",
            "media-src 'self' blob: mediastream:", "connect-src 'self'\(signalling)", "base-uri 'none'",
            "form-action 'none'", "frame-ancestors 'none'",
        ].joined(separator: "; ")
    }

    // MARK: Tokens without a back end

    /// Only for the app with the development keys, with which everybody can sign anyway.
    private func token(for request: HTTPRequest) -> HTTPResponse {
        guard let openApp, let app = apps.app(openApp), let key = apps.key(app.accessKey) else {
            return Answer.error(404, "this node makes no tokens: it has no app with the development keys")
        }
        let items = request.queryItems
        func value(_ name: String) -> String { items.first { $0.name == name }?.value ?? "" }
        guard Names.isRoomName(value("room")) else {
            return Answer.error(400, "room must be 1 to 64 letters, digits, - or _", code: 10053)
        }
        guard Names.isUserID(value("user")) else {
            return Answer.error(400, "user must be 1 to 50 letters, digits, - or _", code: 10053)
        }
        let permission = items.first { $0.name == "permission" }?.value ?? RoomToken.Permission.user.rawValue
        guard let permission = RoomToken.Permission(rawValue: permission) else {
            return Answer.error(400, "permission must be user or admin", code: 10053)
        }
        struct Body: Encodable { var token: String }
        let token = RoomToken(
            app: app.id, room: value("room"), user: value("user"),
            expiresAt: clock.unixTime() + Self.tokenLifetime,
            permission: permission)
        return Self.fresh(Answer.json(Body(token: token.signed(by: key))))
    }

    private static func fresh(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers["Cache-Control"] = "no-store"
        return response
    }
}
