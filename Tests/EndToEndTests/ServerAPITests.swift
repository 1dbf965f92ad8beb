import Foundation
import Testing

extension EndToEnd {
    /// The server API as back ends use it: by the vendor's own Python package, unmodified but for the host, and by requests
    /// that the test signs.
    @Suite struct ServerAPITests {
        @Test func appsByTheVendorsPackage() async throws {
            try await NodeProcess.run { node in
                let vendor = VendorBackEnd(node: node)
                let made = try await vendor.call(
                    "create_app", ["title": "first & 日本", "maxUsers": 3, "noAutoKickUser": true] as [String: Any])
                #expect(made.status == 200, "\(made.text)")
                let app = try #require(made.body?["appId"] as? String)
                #expect(app.utf8.count == 9)
                #expect(made.body?["title"] as? String == "first & 日本")
                #expect(made.body?["maxUsers"] as? Int == 3 && made.body?["noAutoKickUser"] as? Bool == true)
                // A JSON text goes out under the Content-Type of a form.
                let other = try await vendor.call("create_app", #"{"title": "second", "hub": "live"}"#)
                #expect(other.body?["title"] as? String == "second" && other.body?["hub"] as? String == "live")

                let got = try await vendor.call("get_app", app)
                #expect(got.body.map(NSDictionary.init) == made.body.map(NSDictionary.init))
                let all = try await vendor.call("get_app")
                #expect((all.body?["apps"] as? [[String: Any]])?.count == 3, "two, and the configuration's")

                let updated = try await vendor.call(
                    "update_app", app, ["maxUsers": 2, "noAutoKickUser": false] as [String: Any])
                #expect(updated.body?["maxUsers"] as? Int == 2 && updated.body?["noAutoKickUser"] as? Bool == false)
                #expect(updated.body?["title"] as? String == "first & 日本")
                let wrong = try await vendor.call("update_app", app, ["maxUsers": "many"])
                #expect(wrong.status == 400 && wrong.body == nil && wrong.text.contains("maxUsers must be"))
                let fixed = try await vendor.call("update_app", "demo", ["maxUsers": 2])
                #expect(fixed.status == 403 && fixed.text.contains("configuration"))

                #expect(try await vendor.call("delete_app", app).status == 200)
                for result in [
                    try await vendor.call("get_app", app), try await vendor.call("delete_app", app),
                    try await vendor.call("list_user", app, "r"),
                ] { #expect(result.status == 612 && result.body == nil && result.text.contains("app not found")) }

                // Whose secret is wrong reaches nothing.
                var stranger = vendor
                stranger.secret = "guess"
                #expect(try await stranger.call("get_app", "demo").status == 401)
            }
        }

        @Test func roomsAndUsersByTheVendorsPackage() async throws {
            try await NodeProcess.run { node in
                let vendor = VendorBackEnd(node: node)
                let made = try await vendor.call("create_app", ["title": "rooms"])
                let app = try #require(made.body?["appId"] as? String)
                #expect(try await vendor.call("list_user", app, "meeting").body?["users"] as? [String] == [])
                #expect(try await vendor.call("kick_user", app, "meeting", "alice").status == 615)

                for (room, user) in [("meeting", "alice"), ("meeting", "bob"), ("other", "carol")] {
                    let token = try await roomToken(vendor, app, room, user)
                    #expect(try await enter(node, token) == 201)
                }
                // Signed with another key's secret, the same token lets nobody in.
                var stranger = vendor
                stranger.secret = "guess"
                #expect(try await enter(node, try await roomToken(stranger, app, "meeting", "eve")) == 401)

                let users = try await vendor.call("list_user", app, "meeting").body?["users"] as? [[String: String]]
                #expect(users?.compactMap { $0["userId"] }.sorted() == ["alice", "bob"])
                let rooms = try await vendor.call("list_active_rooms", app).body
                #expect(rooms?["rooms"] as? [String] == ["meeting", "other"] && rooms?["end"] as? Bool == true)
                let some = try await vendor.call("list_active_rooms", app, "oth").body
                #expect(some?["rooms"] as? [String] == ["other"])

                #expect(try await vendor.call("kick_user", app, "meeting", "alice").status == 200)
                let left = try await vendor.call("list_user", app, "meeting").body?["users"] as? [[String: String]]
                #expect(left?.compactMap { $0["userId"] } == ["bob"])
                let again = try await vendor.call("kick_user", app, "meeting", "alice")
                #expect(again.status == 612 && again.text.contains("user not found"))

                // With the app go its rooms and its tokens.
                #expect(try await vendor.call("delete_app", app).status == 200)
                #expect(try await enter(node, try await roomToken(vendor, app, "meeting", "dave")) == 401)
            }
        }

        @Test func pagesAndRoomsByRequestsOfTheTest() async throws {
            try await NodeProcess.run { node in
                let own = SigningBackEnd(node: node)
                let json = "application/json"
                let path = "/v3/apps/demo"
                let names = (0..<7).map { "room-\($0)" }
                for name in names.shuffled() + ["elsewhere"] {
                    let made = try await own.request(
                        "POST", path + "/createroom", type: json, body: #"{"roomName":"\#(name)","noEntreTtlS":600}"#)
                    #expect(made.status == 200 && made.json["roomId"] as? String == name, "\(made)")
                }
                var (found, offset, pages) = ([String](), 0, 0)
                while pages < 20 {
                    let page = try await own.request("GET", path + "/rooms?prefix=room-&offset=\(offset)&limit=3")
                    found += try #require(page.json["rooms"] as? [String])
                    offset = try #require(page.json["offset"] as? Int)
                    pages += 1
                    if page.json["end"] as? Bool == true { break }
                }
                #expect(found == names && pages == 3)

                // A Content-Type is signed where there is one, with a body or without.
                for type in ["", json, "application/x-www-form-urlencoded"] {
                    #expect(try await own.request("GET", path + "/rooms", type: type).status == 200)
                }
                #expect(try await own.request("DELETE", path + "/rooms/elsewhere").status == 200)
                #expect(try await own.request("DELETE", path + "/rooms/elsewhere").status == 615)
                let job = try await own.request("POST", path + "/rooms/room-0/merge_job", type: json, body: "{}")
                #expect(job.status == 501 && job.json["error"] is String)
                var stranger = own
                stranger.secret = "guess"
                #expect(try await stranger.request("GET", path + "/rooms").status == 401)
            }
        }

        /// Apps and rooms that the API made are there again after a restart; a second node keeps its hands off.
        @Test func whatTheAPIMadeOutlivesTheNode() async throws {
            let scratch = try Scratch()
            let flags = ["--dev", "--data-dir", scratch.file("data")]
            var app = ""
            try await NodeProcess.run(flags) { node in
                let own = SigningBackEnd(node: node)
                let made = try await own.request(
                    "POST", "/v3/apps", type: "application/json", body: #"{"title":"kept","maxUsers":4}"#)
                app = try #require(made.json["appId"] as? String)
                for name in ["kept", "closed"] {
                    let room = try await own.request(
                        "POST", "/v3/apps/\(app)/createroom", type: "application/json",
                        body: #"{"roomName":"\#(name)","noEntreTtlS":600}"#)
                    #expect(room.status == 200)
                }
                #expect(try await own.request("DELETE", "/v3/apps/\(app)/rooms/closed").status == 200)

                let second = try await RunningProcess.run(
                    [Programs.parlor, "serve"] + flags + ["--http-listen", "127.0.0.1:\(try FreePorts.row(of: 1))"],
                    in: scratch)
                #expect(second.code != 0 && second.error.contains("another node"), "\(second)")
            }
            try await NodeProcess.run(flags) { node in
                let own = SigningBackEnd(node: node)
                let got = try await own.request("GET", "/v3/apps/\(app)")
                #expect(got.json["title"] as? String == "kept" && got.json["maxUsers"] as? Int == 4)
                #expect(try await own.request("GET", "/v3/apps/\(app)/rooms").json["rooms"] as? [String] == ["kept"])
            }
            // What is no database stops the start, with a sentence that names the file.
            _ = try scratch.write(String(repeating: "no database at all. ", count: 20), to: "data/parlor.db")
            let damaged = try await RunningProcess.run(
                [Programs.parlor, "serve"] + flags + ["--http-listen", "127.0.0.1:\(try FreePorts.row(of: 1))"],
                in: scratch)
            #expect(damaged.code != 0 && damaged.error.contains("parlor.db") && damaged.error.contains("dataDir"))
        }

        private func roomToken(
            _ vendor: VendorBackEnd, _ app: String, _ room: String, _ user: String
        ) async throws -> String {
            let access: [String: Any] = [
                "appId": app, "roomName": room, "userId": user, "permission": "user",
                "expireAt": Int(Date.now.timeIntervalSince1970) + 600,
            ]
            return try #require(try await vendor.call("get_room_token", access).body?["token"] as? String)
        }

        /// Enters a room with a token, by the shortest offer there is; gives the status.
        private func enter(_ node: NodeProcess, _ token: String) async throws -> Int {
            let offer = [
                "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0", "m=audio 9 RTP/SAVP 111",
                "a=sendonly", "a=rtcp-mux",
                "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNk",
                "a=rtpmap:111 opus/48000/2", "",
            ].joined(separator: "\r\n")
            return try await node.request(
                "POST", "/whip", headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/sdp")],
                body: offer
            ).status
        }
    }
}
