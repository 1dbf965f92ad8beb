import Foundation
import MediaWire
import ParlorNode
import RTCClient
import RoomControl
import WebTransport

/// A real node on loopback, in this process.
final class NodeScene: Sendable {
    let node: Node
    let app: NodeConfiguration.App
    let key: AccessKey

    init(_ change: (inout NodeConfiguration) -> Void = { _ in }) throws {
        var last: (any Error)?
        var started: (Node, NodeConfiguration.App)?
        // A port may be taken meanwhile: others are tried.
        for _ in 0..<50 where started == nil {
            var configuration = NodeConfiguration.development
            configuration.http.listen.port = UInt16.random(in: 32000...32699)
            configuration.media.workers = 1
            configuration.media.port = UInt16.random(in: 32700...32759)
            configuration.media.plain.portRange = 32760...32767
            change(&configuration)
            let loaded = ConfigurationLoader.Loaded(configuration: configuration, origins: [:])
            do {
                let node = try Node(loaded, machine: [TransportAddress(ipv4: 0x7F00_0001, port: 0)])
                started = (node, configuration.apps.first ?? .development)
            } catch { last = error }
        }
        guard let started else { throw last ?? Unexpected("no node") }
        (node, app) = started
        key = AccessKey(id: app.accessKey, secret: app.secret)
    }

    var base: String { "http://127.0.0.1:\(node.httpPort)" }

    func token(_ user: String, room: String = "meeting", permission: RoomToken.Permission = .user) -> String {
        RoomToken(
            app: app.id, room: room, user: user, expiresAt: Int64(Date().timeIntervalSince1970) + 3600,
            permission: permission
        ).signed(by: key)
    }

    func client(autoSubscribe: Bool = true) throws -> RTCClient {
        let client = try RTCClient(configuration: RTCConfiguration(servers: [base]))
        client.autoSubscribe = autoSubscribe
        return client
    }

    /// Calls the server API with the app's key.
    @discardableResult
    func call(_ method: String, _ target: String) async throws -> HTTPResponse {
        let host = "127.0.0.1:\(node.httpPort)"
        let request = SignableRequest(method: method, target: target, host: host)
        return try await HTTPClient().request(
            method, "http://\(host)\(target)",
            headers: ["Authorization": RequestSignature.authorization(for: request, key: key)])
    }

    func stop() async { await node.stop() }
}

/// Waits for things that a client tells, in their order; others between them are passed over.
struct Listening {
    private var iterator: AsyncStream<RTCClientEvent>.Iterator

    init(_ client: RTCClient) { iterator = client.events.makeAsyncIterator() }

    mutating func wait<Value>(for pick: (RTCClientEvent) -> Value?) async throws -> Value {
        while let event = await iterator.next(isolation: nil) {
            if let value = pick(event) { return value }
        }
        throw Unexpected("the client is gone")
    }

    mutating func wait(for event: RTCClientEvent) async throws {
        try await wait { $0 == event ? () : nil }
    }

    mutating func wait(for state: ConnectionState) async throws {
        try await wait { event in
            if case .connectionStateChanged(state, _) = event { () } else { nil }
        }
    }

    mutating func end() async throws -> DisconnectedInfo {
        try await wait { event in
            if case .connectionStateChanged(.disconnected, let info?) = event { info } else { nil }
        }
    }
}
