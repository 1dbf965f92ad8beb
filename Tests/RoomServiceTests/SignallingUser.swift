import RoomControl
import RoomProtocol
import RoomTestKit
import Synchronization
import Testing

/// A user who is in by signalling: the real session, and what was sent to it.
final class SignallingUser: Sendable {
    /// Kept apart from the user, for the session's outlet.
    private final class Sent: Sendable {
        private let state = Mutex<(frames: [String], closes: [String])>(([], []))
        var frames: [String] { state.withLock { $0.frames } }
        var closes: [String] { state.withLock { $0.closes } }
        func add(_ frame: [UInt8]) { state.withLock { $0.frames.append(String(decoding: frame, as: UTF8.self)) } }
        func add(close reason: String) { state.withLock { $0.closes.append(reason) } }
    }

    private let sent = Sent()
    private let session: SignallingSession

    private init(_ endpoint: SignallingEndpoint) {
        session = endpoint.open(
            SignallingOutlet(send: { [sent] in sent.add($0) }, close: { [sent] in sent.add(close: $1) }))
    }

    /// What came so far.
    var frames: [String] { sent.frames }
    /// The reasons with which the connection was closed.
    var closes: [String] { sent.closes }

    /// Those of a type, without it.
    func bodies(_ type: String) -> [String] {
        frames.filter { $0.hasPrefix(type + "=") }.map { String($0.dropFirst(type.count + 1)) }
    }

    func send(_ text: String) async { await session.receive(text) }

    /// Joins a room of the app demo; whether that went well stands in `auth-res`.
    static func join(
        _ node: ServiceFixture, _ user: String, room: String = "room", data: String = "",
        permission: RoomToken.Permission = .user
    ) async throws -> SignallingUser {
        let endpoint = SignallingEndpoint(
            apps: node.apps, directory: node.directory, environment: node.environment, admission: node.admission)
        let token = RoomToken(
            app: "demo", room: room, user: user, expiresAt: node.clock.clock.unixTime() + 600, permission: permission
        ).signed(by: ServiceFixture.key)
        let access = try await endpoint.access(
            app: "demo", room: room, user: user, roomToken: token, url: "ws://127.0.0.1/v3/signalling")
        let joined = SignallingUser(endpoint)
        await joined.session.start()
        var request = AuthRequest(token: access, rpcid: "1")
        request.playerData = data
        await joined.send(String(decoding: SignallingFrame.encode("auth", request), as: UTF8.self))
        return joined
    }
}
