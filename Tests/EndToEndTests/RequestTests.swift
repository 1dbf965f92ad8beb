import Foundation
import Testing

extension EndToEnd {
    /// The HTTP shapes of RFC 9725, by requests whose every byte is the test's own.
    @Suite struct RequestTests {
        @Test func legsComeAndGo() async throws {
            try await NodeProcess.run { node in
                let bearer = [("Authorization", "Bearer " + (try await node.token(room: "r", user: "cam")))]
                let sdp = bearer + [("Content-Type", "application/sdp")]

                let created = try await node.request("POST", "/whip", headers: sdp, body: Offer(sends: true).text)
                #expect(created.status == 201)
                #expect(created.headers["content-type"] == "application/sdp")
                let location = try #require(created.headers["location"])
                #expect(location.hasPrefix("/whip/"))
                let lines = created.body.components(separatedBy: "\r\n")
                #expect(lines.first == "v=0" && lines.last == "")
                #expect(lines.contains { $0.hasPrefix("m=audio ") && $0.hasSuffix(" RTP/SAVP 111") })
                #expect(lines.contains("a=recvonly") && lines.contains("a=rtcp-mux"))
                #expect(
                    lines.contains { $0.hasPrefix("a=crypto:7 AES_CM_128_HMAC_SHA1_80 inline:") }, "the offer's tag")
                #expect(!created.body.contains(Offer.key), "the node has a key of its own")

                let state = try await node.request("GET", location)
                #expect(state.status == 200 && state.headers["content-type"] == "application/json")
                #expect(state.json["kind"] as? String == "whip" && state.json["user"] as? String == "cam")
                #expect((state.json["tracks"] as? [[String: Any]])?.count == 1)

                let stranger = [("Authorization", "Bearer " + (try await node.token(room: "r", user: "other")))]
                #expect(try await node.request("DELETE", location).status == 401)
                #expect(try await node.request("DELETE", location, headers: stranger).status == 403)
                // A plain leg has no ICE, and an offer is no fragment.
                let fragment = bearer + [("Content-Type", "application/trickle-ice-sdpfrag"), ("If-Match", "*")]
                let restart = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n"
                #expect(try await node.request("PATCH", location, headers: fragment, body: restart).status == 405)
                #expect(try await node.request("PATCH", location, headers: sdp, body: restart).status == 415)
                #expect(try await node.request("DELETE", location, headers: bearer).status == 200)
                #expect(try await node.request("DELETE", location, headers: bearer).status == 404)
                #expect(try await node.request("GET", location).status == 404)
                #expect(try await node.users(in: "r").isEmpty)
            }
        }

        @Test func refusals() async throws {
            try await NodeProcess.run { node in
                let token = try await node.token(room: "r", user: "cam")
                let sdp = ("Content-Type", "application/sdp")
                let good = [("Authorization", "Bearer \(token)"), sdp]
                let offer = Offer(sends: true).text

                // Who is it? In every shape that is none: 401 with the code.
                let expired = try await node.parlor("token", "--room", "r", "--user", "u", "--ttl", "1").output
                var parts = token.split(separator: ":").map(String.init)
                parts[1] = String(parts[1].reversed())
                let forged = parts.joined(separator: ":")
                let tokens: [(String?, Int)] = [
                    (nil, 10001), ("Bearer", 10001), ("Basic \(token)", 10001), ("Bearer nonsense", 10001),
                    ("Bearer \(forged)", 10001),
                ]
                for (header, code) in tokens {
                    let headers = [sdp] + (header.map { [("Authorization", $0)] } ?? [])
                    let answer = try await node.request("POST", "/whip", headers: headers, body: offer)
                    #expect(answer.status == 401 && answer.errorCode == code, "\(header ?? "no token"): \(answer)")
                    #expect(answer.json["error"] is String)
                }
                let old = [("Authorization", "Bearer " + expired.trimmingCharacters(in: .newlines)), sdp]
                try await until("the token expires") {
                    let answer = try await node.request("POST", "/whep", headers: old, body: "nonsense")
                    return answer.status == 401 && answer.errorCode == 10002
                }

                // What is it?
                let types = [("Content-Type", "application/json"), ("Content-Type", "text/sdp")]
                for type in types {
                    let answer = try await node.request("POST", "/whip", headers: [good[0], type], body: offer)
                    #expect(answer.status == 415 && answer.headers["accept-post"] == "application/sdp")
                }
                let weakKey = offer.replacingOccurrences(of: Offer.key, with: "c2hvcnQ=")
                let noKey = offer.split(separator: "\r\n").filter { !$0.hasPrefix("a=crypto") }.joined(
                    separator: "\r\n")
                let bodies: [(String, Int)] = [
                    ("", 400), ("nonsense", 400), (weakKey, 400), (noKey + "\r\n", 406),
                    (offer.replacingOccurrences(of: "opus/48000/2", with: "PCMU/8000"), 406),
                    (offer.replacingOccurrences(of: "sendonly", with: "recvonly"), 406),
                    // Too much is refused before anybody looks at it.
                    (String(repeating: offer, count: (256 << 10) / offer.utf8.count + 1), 413),
                ]
                for (body, status) in bodies {
                    let answer = try await node.request("POST", "/whip", headers: good, body: body)
                    #expect(answer.status == status, "\(body.prefix(2000)): \(answer)")
                    #expect(answer.headers["content-type"] == "application/problem+json")
                    #expect(answer.json["status"] as? Int == status && answer.json["detail"] is String)
                    #expect(answer.json["error"] is String)
                }

                // Where to? Media goes to nobody but the one who asks.
                let third = Offer(sends: false, address: "192.0.2.1").text
                let answer = try await node.request("POST", "/whep", headers: good, body: third)
                #expect(answer.status == 406, "\(answer)")
                let pretended = try await node.request(
                    "POST", "/whep", headers: good + [("X-Forwarded-For", "192.0.2.1")], body: third)
                #expect(pretended.status == 406, "nobody trusts this proxy")

                // How?
                for method in ["GET", "PUT", "DELETE", "PATCH", "BREW"] {
                    let answer = try await node.request(method, "/whip", headers: good)
                    #expect(answer.status == 405 && answer.headers["allow"] == "POST, OPTIONS", "\(method): \(answer)")
                }
                #expect(try await node.request("POST", "/whop", headers: good, body: offer).status == 404)
                #expect(try await node.request("GET", "/whip/nothing").status == 404)

                #expect(try await node.parlor("rooms").output == "ROOM\n", "nothing half-made stays behind")
            }
        }

        /// A new leg replaces the user's old one of the same kind, unless the app says otherwise.
        @Test func secondLegOfAUser() async throws {
            let scratch = try Scratch()
            let file = try scratch.write(
                """
                media:
                  listen: 127.0.0.1
                  plain:
                    enabled: true
                apps:
                  - id: demo
                    accessKey: devkey
                    secret: devsecret
                  - id: strict
                    accessKey: strictkey
                    secret: strictsecret
                    settings:
                      noAutoKickUser: true
                """, to: "node.yaml")
            try await NodeProcess.run(["--config", file]) { node in
                for (identity, status) in [
                    (["--app", "demo", "--key", "devkey", "--secret", "devsecret"], 201),
                    (["--app", "strict", "--key", "strictkey", "--secret", "strictsecret"], 409),
                ] {
                    let token = try await RunningProcess.run(
                        [Programs.parlor, "token", "--room", "r", "--user", "u"] + identity, in: node.scratch
                    ).output.trimmingCharacters(in: .newlines)
                    let headers = [("Authorization", "Bearer \(token)"), ("Content-Type", "application/sdp")]
                    let body = Offer(sends: true).text
                    let first = try await node.request("POST", "/whip", headers: headers, body: body)
                    let other = try await node.request(
                        "POST", "/whep", headers: headers, body: Offer(sends: false).text)
                    #expect(first.status == 201 && other.status == 201, "one leg of each kind")
                    let second = try await node.request("POST", "/whip", headers: headers, body: body)
                    #expect(second.status == status, "\(second)")
                    let old = try await node.request("GET", first.headers["location"] ?? "")
                    #expect(old.status == (status == 201 ? 404 : 200))
                    #expect(try await node.request("GET", other.headers["location"] ?? "").status == 200)
                }
            }
        }

        /// A node that was not told to allow plain legs does not.
        @Test func plainLegsAreOffByDefault() async throws {
            let scratch = try Scratch()
            let file = try scratch.write(
                """
                media:
                  listen: 127.0.0.1
                apps:
                  - id: demo
                    accessKey: devkey
                    secret: devsecret
                """, to: "node.yaml")
            try await NodeProcess.run(["--config", file]) { node in
                let answer = try await node.request(
                    "POST", "/whip",
                    headers: [
                        ("Authorization", "Bearer " + (try await node.token(room: "r", user: "cam"))),
                        ("Content-Type", "application/sdp"),
                    ], body: Offer(sends: true).text)
                #expect(answer.status == 403)
                #expect(try await node.parlor("rooms").output == "ROOM\n")
            }
        }
    }
}

/// An offer of one line, written out by hand.
private struct Offer {
    static let key = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNk"

    var sends: Bool
    var address = "127.0.0.1"

    var text: String {
        """
        v=0
        o=- 20518 0 IN IP4 \(address)
        s=-
        c=IN IP4 \(address)
        t=0 0
        m=audio \(sends ? 9 : 5004) RTP/SAVP 111
        a=\(sends ? "sendonly" : "recvonly")
        a=rtcp-mux
        a=crypto:7 AES_CM_128_HMAC_SHA1_80 inline:\(Self.key)
        a=rtpmap:111 opus/48000/2

        """.replacingOccurrences(of: "\n", with: "\r\n")
    }
}
