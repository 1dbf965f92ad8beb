import Foundation
import RoomProtocol
import Testing
import WebTransport

extension EndToEnd {
    /// Tokens, keys, messages and user data pass through a node; what it writes has none of them.
    @Suite struct SecretsTests {
        private struct Access: Decodable { var accessToken: String }

        @Test func nothingSecretIsInTheLog() async throws {
            try await NodeProcess.run { node in
                let token = try await node.token(room: "quiet", user: "ann")
                let path = "/v3/apps/demo/rooms/quiet/auth?user=ann&token="
                let answer = try await node.request("GET", path + token)
                #expect(answer.status == 200)
                let access = try JSONDecoder().decode(Access.self, from: Data(answer.body.utf8)).accessToken
                // Also what is refused.
                let forged = token.replacing("devkey:", with: "devkey:x")
                #expect(try await node.request("GET", path + forged).status == 401)
                let header = ("Authorization", "Qiniu devkey:forged-signature-of-somebody=")
                #expect(try await node.request("GET", "/v3/apps/demo/rooms", headers: [header]).status == 401)
                let leg = try await node.publish("quiet", "cam")

                let client = try HTTPClient(threadName: "secrets")
                let socket = try await client.webSocket("ws://127.0.0.1:\(node.httpPort)/v3/signalling")
                var request = AuthRequest(token: access, rpcid: "1")
                request.playerData = "data-of-ann"
                socket.send(utf8: SignallingFrame.encode("auth", request))
                socket.send(
                    utf8: SignallingFrame.encode("send-message", SendMessage(messageID: "m", text: "between-us")))
                socket.send(text: "send-message={\"text\":\"half-of-a-frame")
                var reconnectToken = 0
                // Frames are taken in their order: with the refusal of the broken one, the others are done.
                loop: for await message in socket.messages {
                    guard case .text(let text) = message else { continue }
                    switch try ServerMessage(frame: text) {
                    case .answer("auth", _, let frame):
                        reconnectToken = try frame.decode(AuthAnswer.self).reconnectToken ?? 0
                    case .notification(.frameError): break loop
                    default: continue
                    }
                }
                #expect(reconnectToken != 0)
                socket.send(utf8: SignallingFrame.encode("disconnect", EmptyBody()))
                try await until("ann has left") { try await node.users(in: "quiet") == ["cam"] }
                try await until("the log says so") { node.said.contains("ann") }

                let secrets = [
                    token, String(token.split(separator: ":")[1]), String(token.split(separator: ":")[2]), access,
                    forged, "forged-signature", "devsecret", "data-of-ann", "between-us", "half-of-a-frame",
                    "\(reconnectToken)",
                ]
                for secret in secrets { #expect(!node.said.contains(secret), "\(secret.prefix(12))…") }
                // Keys of a plain leg stand in its command line.
                for key in leg.command.joined(separator: " ").matches(of: /inline:[A-Za-z0-9+\/]{20,}/) {
                    #expect(!node.said.contains(key.output))
                }
            }
        }
    }
}
