import FoundationEssentials
import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit
import Testing

/// Whatever a client sends, it is answered with a code and a sentence, and nobody else notices.
@Suite struct SignallingInputTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let frame: String
        /// The type of the answer; `nil`: the frame has none, so it is an `error`.
        let type: String?
        let code: ResultCode

        init(_ frame: String, _ type: String?, _ code: ResultCode = .invalidParameter) {
            (self.frame, self.type, self.code) = (frame, type, code)
        }

        var testDescription: String { String(frame.prefix(60)) }
    }

    private static let nested = String(repeating: "[", count: 100_000)

    static let bad: [Case] = [
        // No frame at all.
        Case("", nil), Case("hello", nil), Case("{}", nil), Case("={}", nil), Case("pub tracks={}", nil),
        Case(String(repeating: "x", count: 65) + "={}", nil), Case(String(repeating: "x", count: 61) + "={}", nil),
        Case("\u{0}=\u{0}", nil), Case("消息={}", nil),
        // No JSON, and half of it.
        Case("sub-tracks=", "sub-tracks"), Case("sub-tracks={", "sub-tracks"), Case("sub-tracks=nope", "sub-tracks"),
        Case(#"sub-tracks={"tracks":[{"trackid":"a"#, "sub-tracks"), Case("sub-tracks={}{}", "sub-tracks"),
        Case("sub-tracks=\u{FEFF}nonsense", "sub-tracks"), Case("control={\"command\":\"kickplayer\"", "control"),
        // Other JSON.
        Case("sub-tracks=null", "sub-tracks"), Case("sub-tracks=[]", "sub-tracks"), Case("sub-tracks=7", "sub-tracks"),
        Case("sub-tracks=\"x\"", "sub-tracks"), Case("sub-tracks=true", "sub-tracks"),
        // Fields that are missing, null or of another type.
        Case("sub-tracks={}", "sub-tracks"), Case(#"sub-tracks={"tracks":null}"#, "sub-tracks"),
        Case(#"sub-tracks={"tracks":{}}"#, "sub-tracks"), Case(#"sub-tracks={"tracks":[1]}"#, "sub-tracks"),
        Case(#"sub-tracks={"tracks":[{}]}"#, "sub-tracks"),
        Case(#"sub-tracks={"tracks":[{"trackid":7}]}"#, "sub-tracks"),
        Case(#"subpc={"tracks":[],"rpcid":7}"#, "subpc"), Case(#"subpc={"tracks":[],"policy":"anyhow"}"#, "subpc"),
        Case(#"pubpc={"tracks":[]}"#, "pubpc"), Case(#"pubpc={"sdp":"v=0"}"#, "pubpc"),
        Case(#"pubpc={"sdp":7,"tracks":[]}"#, "pubpc"),
        Case(#"pubpc={"sdp":"v=0","tracks":[]}"#, "pubpc", .publishEmpty),
        Case(#"pubpc={"sdp":"v=0","tracks":[{"localid":"x","localmid":"1","kind":"smell"}]}"#, "pubpc"),
        Case(#"pubpc={"sdp":"nonsense","tracks":[{"localid":"x","localmid":"1","kind":"audio"}]}"#, "pubpc"),
        Case(#"pub-tracks={"sdp":"v=0","tracks":"all"}"#, "pub-tracks"), Case("unpub-tracks={}", "unpub-tracks"),
        Case("unsub-tracks={}", "unsub-tracks"), Case("pubpc-restart={}", "pubpc-restart"),
        Case("subpc-restart={}", "subpc-restart"), Case("pubpc-close={}", "pubpc-close"),
        Case(#"subpc-close={"pcid":7}"#, "subpc-close"), Case("set-privileges={}", "set-privileges"),
        Case(#"set-privileges={"privileges":["fly"]}"#, "set-privileges"),
        Case(#"control={"rpcid":"x"}"#, "control"), Case(#"control={"command":"dance"}"#, "control"),
        Case(#"control={"command":"kickplayer"}"#, "control"),
        // Numbers beyond everything.
        Case(#"pubpc={"sdp":"v=0","tracks":[{"localid":"x","kind":"audio","kbps":1e400}]}"#, "pubpc"),
        Case(#"pubpc={"sdp":"v=0","tracks":[{"localid":"x","kind":"audio","kbps":1180591620717411303424}]}"#, "pubpc"),
        Case(#"auth={"token":"x","reconntoken":1e400}"#, "auth"),
        Case(#"auth={"token":"x","reconntoken":1180591620717411303424}"#, "auth"),
        Case(#"auth={"token":"x","msgsn":-1e400}"#, "auth"), Case(#"auth={"token":"x","msgsn":0.5}"#, "auth"),
        // Depth.
        Case("sub-tracks=" + nested, "sub-tracks"), Case(#"sub-tracks={"tracks":"# + nested, "sub-tracks"),
        Case("control=" + String(repeating: #"{"a":"#, count: 100_000), "control"),
        // Types that there are not, and jobs that this server does not do.
        Case("dance={}", "dance"), Case(#"auth-res={"code":0}"#, "auth-res"), Case("AUTH={}", "AUTH"),
        Case(#"create-merge-job={"id":"m","rpcid":"x"}"#, "create-merge-job"), Case("stop-merge={}", "stop-merge"),
        Case(#"update-merge-tracks={"rpcid":"x"}"#, "update-merge-tracks"),
        Case(#"create-forward-job={"rpcid":"x"}"#, "create-forward-job"), Case("stop-forward={}", "stop-forward"),
        Case(#"start-media-relay={"rpcid":"x"}"#, "start-media-relay"), Case("stop-media-relay={}", "stop-media-relay"),
        Case("update-media-relay={}", "update-media-relay"),
        // Somebody else's, or nobody's.
        Case(#"unpub-tracks={"tracks":[{"trackid":"OTHERS"}]}"#, "unpub-tracks", .publishNotExist),
        Case(#"mute-tracks={"tracks":[{"trackid":"OTHERS","muted":true}]}"#, "mute-tracks", .publishNotExist),
        Case(#"mute-tracks={"tracks":[{"trackid":"none","muted":true}]}"#, "mute-tracks", .publishNotExist),
        Case(#"unsub-tracks={"tracks":[{"trackid":"OTHERS"}]}"#, "unsub-tracks", .subscribeConnectionGone),
        Case(#"sub-tracks={"tracks":[{"trackid":"OTHERS"}]}"#, "sub-tracks", .subscribeConnectionGone),
        Case(#"set-sub-profile={"tracks":[{"trackid":"OTHERS"}]}"#, "set-sub-profile", .subscribeConnectionGone),
        Case(#"pubpc-restart={"pcid":"none"}"#, "pubpc-restart", .publishConnectionGone),
        Case(#"subpc-restart={"pcid":"none"}"#, "subpc-restart", .subscribeConnectionGone),
        Case(#"pubpc-close={"pcid":"none"}"#, "pubpc-close", .publishConnectionGone),
        Case(#"subpc-close={"pcid":"none"}"#, "subpc-close", .subscribeConnectionGone),
        Case(#"control={"command":"kickplayer","playerid":"other","rpcid":"x"}"#, "control", .noPermission),
        // One-way messages are answered only when they are refused.
        Case("mute-tracks={}", "mute-tracks"), Case("set-sub-profile=[]", "set-sub-profile"),
        Case("send-message={}", "send-message"), Case(#"send-message={"text":""}"#, "send-message"),
        Case(#"send-message={"text":7}"#, "send-message"), Case("send-qos-message={}", "send-qos-message"),
        Case(#"send-message={"text":"x","target":["no user's name"]}"#, "send-message"),
        Case(#"send-message={"text":"x","type":""}"#, "send-message"),
    ]

    @Test(arguments: bad)
    func `bad frames get a code and a sentence`(_ test: Case) async throws {
        let kit = SignallingKit()
        let other = try await kit.join("other")
        let theirs = try #require(await other.publish(["a0"]).first)
        let bad = try await kit.join("bad")
        let before = (bad.frameCount, other.frameCount)

        await bad.send(test.frame.replacing("OTHERS", with: theirs))
        #expect(bad.frameCount == before.0 + 1, "one answer")
        let text = try #require(bad.texts.last)
        let message = try ServerMessage(frame: text)
        switch message {
        case .answer(let type, let rpcid, let frame):
            let answer: Answer = try frame.decode()
            #expect(type == test.type && answer.code == test.code && answer.error?.isEmpty == false, "\(text)")
            #expect(rpcid != nil, "an answer to nobody: \(text)")
        case .notification(.frameError(let error)):
            #expect(!test.frame.contains("\"rpcid\":\""), "somebody waits for an answer: \(text)")
            #expect(error.code == test.code && !error.error.isEmpty, "\(text)")
            // Of what is nearly a type it is not called one.
            #expect(error.type == test.type || test.type == nil && (error.type?.utf8.count ?? 64) > 60, "\(text)")
        default: Issue.record("\(text)")
        }
        #expect(text.utf8.count < 1000, "a sentence, and not the client's words again")
        #expect(other.frameCount == before.1, "nobody else hears of it")

        // Both go on.
        await bad.send("send-message", SendMessage(messageID: "m", text: "still here"))
        #expect(other.texts.last?.contains("still here") == true)
        #expect(await kit.users() == ["other", "bad"])
        #expect(!bad.isClosed && !other.isClosed && kit.plane.violations.isEmpty)
    }

    /// The same before auth: nothing is known of anybody, so nothing changes.
    @Test(arguments: bad)
    func `bad frames before auth, too`(_ test: Case) async throws {
        let kit = SignallingKit()
        let connection = await kit.connect()
        await connection.send(test.frame)
        let isOneWay = connection.frameCount == 0
        #expect(!isOneWay, "it is answered")
        let text = connection.texts.last ?? ""
        if let type = test.type {
            #expect(text.hasPrefix(test.frame.contains("\"rpcid\":\"") ? "\(type)-res={" : "error={"), "\(text)")
            #expect(
                connection.code(type).map { [.invalidParameter, .noPermission, .publishEmpty].contains($0) } == true)
        } else {
            #expect(text.hasPrefix("error={"), "\(text)")
        }
        #expect(await kit.directory.roomCount == 0)
        // It may still come in.
        var request = AuthRequest(token: try await kit.accessToken("late"), rpcid: "1")
        request.capabilitiesSDP = SampleOffers.capabilities
        await connection.send("auth", request)
        #expect(connection.auth?.code == .ok)
    }

    @Test(arguments: [
        #"pubpc={"sdp":"v=0","tracks":[],"rpcid":"x"}"#, #"subpc={"tracks":[],"rpcid":"x"}"#,
        #"send-message={"text":"x"}"#, #"control={"command":"kickplayer","playerid":"u","rpcid":"x"}"#,
        #"set-privileges={"privileges":[],"rpcid":"x"}"#, #"mute-tracks={"tracks":[]}"#,
        #"send-qos-message={"qos":"{}","rpcid":"x"}"#, #"create-merge-job={"rpcid":"x"}"#,
    ])
    func `nothing goes before auth`(_ frame: String) async throws {
        let kit = SignallingKit()
        let connection = await kit.connect()
        await connection.send(frame)
        let type = String(frame.prefix { $0 != "=" })
        let code = connection.code(type)
        #expect(code == .noPermission || (code == .publishEmpty && type == "pubpc"), "\(connection.texts)")
        #expect(await kit.directory.roomCount == 0)
    }

    @Test func `rpcids come back as they were`() async throws {
        let kit = SignallingKit()
        let user = try await kit.join("user")
        for (frame, rpcid) in [
            (#"sub-tracks={"tracks":[],"rpcid":"r1"}"#, "r1"), (#"sub-tracks={"tracks":7,"rpcid":"r2"}"#, "r2"),
            (#"dance={"rpcid":"r3"}"#, "r3"), (#"stop-forward={"rpcid":"r4"}"#, "r4"),
            (#"control={"command":"dance","rpcid":"r5"}"#, "r5"), (#"pubpc={"sdp":"","tracks":[],"rpcid":"r6"}"#, "r6"),
        ] {
            await user.send(frame)
            #expect(user.texts.last?.contains("\"rpcid\":\"\(rpcid)\"") == true, "\(frame): \(user.texts.last ?? "")")
        }
    }

    /// What nobody waits for gets no answer, for the vendor's clients know none without an rpcid; `error`, which they ignore, says
    /// what is wrong with which message.
    @Test func `a refused one-way message is told as an error`() async throws {
        let kit = SignallingKit()
        let user = try await kit.join("user")
        await user.send("send-message", SendMessage(messageID: "m7", target: ["no user's name"], text: "x"))
        guard case .notification(.frameError(let error))? = try user.texts.last.map(ServerMessage.init(frame:)) else {
            Issue.record("\(user.texts.last ?? "")")
            return
        }
        #expect(error.type == "send-message" && error.messageID == "m7" && error.code == .invalidParameter)
        // Of what cannot be read there is no id, whatever stands in it.
        await user.send(#"send-message={"msgid":"m8","text":7}"#)
        guard case .notification(.frameError(let error))? = try user.texts.last.map(ServerMessage.init(frame:)) else {
            Issue.record("\(user.texts.last ?? "")")
            return
        }
        #expect(error.type == "send-message" && error.messageID == nil && error.code == .invalidParameter)
        await user.send("mute-tracks", MuteTracks(tracks: [TrackMute(trackID: "none", muted: true)]))
        #expect(user.code("mute-tracks") == .publishNotExist)
        await user.send("stop-merge={\"id\":\"m\"}")
        #expect(user.code("stop-merge") == .invalidParameter)
        // It has an rpcid, though nobody looks for its answer.
        await user.send("send-qos-message", SendQoSMessage(qos: String(repeating: "x", count: 65_537), rpcid: "q"))
        let answer = user.texts.last ?? ""
        #expect(answer.hasPrefix("send-qos-message-res={") && answer.contains("\"rpcid\":\"q\""), "\(answer)")
        for text in user.texts where text.prefix(while: { $0 != "=" }).hasSuffix("-res") {
            #expect(text.contains("\"rpcid\":\""), "\(text)")
        }
    }

    @Test func `binary frames are refused`() async throws {
        let kit = SignallingKit()
        let user = try await kit.join("user")
        await user.session.receiveBinary()
        #expect(user.texts.last?.hasPrefix("error={") == true)
        #expect(user.texts.last?.contains("10053") == true)
        let stranger = await kit.connect()
        await stranger.session.receiveBinary()
        #expect(stranger.texts.last?.contains("10053") == true)
        #expect(!user.isClosed && !stranger.isClosed)
    }

    @Test func `lists stay lists when refused`() async throws {
        let kit = SignallingKit()
        let user = try await kit.join("user")
        for type in ["pub-tracks", "sub-tracks", "unpub-tracks", "unsub-tracks", "pubpc", "subpc"] {
            await user.send("\(type)={\"rpcid\":\"r\"}")
            #expect(user.texts.last?.contains("\"tracks\":[]") == true, "\(user.texts.last ?? "")")
        }
    }

    // MARK: Sizes and rates

    @Test func `sizes beyond the limits are 10053`() async throws {
        let kit = SignallingKit()
        let user = try await kit.join("user")
        func sendMessage(_ change: (inout SendMessage) -> Void) async -> ResultCode? {
            var message = SendMessage(messageID: "m", text: "t")
            change(&message)
            let before = user.frameCount
            await user.send("send-message", message)
            return user.frameCount == before ? nil : user.code("send-message")
        }
        #expect(await sendMessage { $0.text = String(repeating: "x", count: 65_536) } == nil)
        #expect(await sendMessage { $0.text = String(repeating: "x", count: 65_537) } == .invalidParameter)
        // Bytes count, not characters.
        #expect(await sendMessage { $0.text = String(repeating: "字", count: 21_846) } == .invalidParameter)
        #expect(await sendMessage { $0.messageID = String(repeating: "x", count: 129) } == .invalidParameter)
        await user.send("send-qos-message", SendQoSMessage(qos: String(repeating: "x", count: 65_537), rpcid: "q"))
        #expect(user.code("send-qos-message") == .invalidParameter)

        var track = SampleOffers.track("a0", tag: String(repeating: "x", count: 257))
        await user.send("pubpc", PublishRequest(sdp: SampleOffers.publish, tracks: [track], rpcid: "p"))
        #expect(user.code("pubpc") == .invalidParameter)
        track = SampleOffers.track("a0", localID: String(repeating: "x", count: 257))
        await user.send("pubpc", PublishRequest(sdp: SampleOffers.publish, tracks: [track], rpcid: "p"))
        #expect(user.code("pubpc") == .invalidParameter)

        let full = try await kit.join("full", data: String(repeating: "x", count: 1024))
        #expect(full.auth?.code == .ok)
        let over = try await kit.join("over", data: String(repeating: "x", count: 1025))
        #expect(over.auth?.code == .invalidParameter)
        #expect(await kit.users() == ["user", "full"])
    }

    @Test(arguments: ["1.5", "1e300", "9223372036854775808"])
    func `a number that does not fit is not called broken JSON`(_ number: String) async throws {
        let client = await SignallingKit().connect()
        await client.send(#"auth={"token":"x","rpcid":"r","reconntoken":\#(number)}"#)
        let text = try #require(client.texts.last)
        #expect(text.hasPrefix("auth-res=") && text.contains("not whole") && !text.contains("JSON"), "\(text)")
        await client.send(#"auth={"token":"x","rpcid":"r","reconntoken":}"#)
        #expect(client.texts.last?.contains("the body is not JSON") == true)
    }

    @Test func `rates and counts beyond the limits are 10055`() async throws {
        var limits = RoomLimits()
        limits.messagesPerSecond = 5
        limits.framesPerSecond = 20
        limits.tracksPerUser = 2
        let kit = SignallingKit(limits: limits)
        let (user, other) = (try await kit.join("user"), try await kit.join("other"))
        for _ in 0..<10 { await user.send("send-message", SendMessage(messageID: "m", text: "t")) }
        #expect(user.code("send-message") == nil)
        await user.send("send-message", SendMessage(messageID: "m11", text: "t"))
        #expect(user.code("send-message") == .tooManyOperations)
        #expect(user.texts.last?.contains("m11") == true, "the answer names the message")
        await kit.clock.advance(by: .milliseconds(200))
        let before = user.frameCount
        await user.send("send-message", SendMessage(messageID: "m", text: "t"))
        #expect(user.frameCount == before, "one more after a fifth of a second")

        #expect(await user.publish(["a0", "v0"]).count == 2)
        #expect(await user.publish(["a1"], type: "pub-tracks").isEmpty)
        #expect(user.code("pub-tracks") == .tooManyOperations)

        // 40 frames at once; what comes then is refused if somebody waits for an answer, and dropped if not.
        for _ in 0..<50 { await other.send(#"sub-tracks={"tracks":[],"rpcid":"x"}"#) }
        #expect(other.code("sub-tracks") == .tooManyOperations)
        let dropped = other.frameCount
        for _ in 0..<50 { await other.send("pong={}") }
        await other.session.receiveBinary()
        #expect(other.frameCount == dropped && !other.isClosed)
        #expect(await kit.users() == ["user", "other"])
    }

    @Test func `a client far beyond its rate is cut off once`() async throws {
        let kit = SignallingKit()
        let (flood, other) = (try await kit.join("flood"), try await kit.join("other"))
        for _ in 0..<3000 { await flood.send("pong={}") }
        #expect(flood.closes == [4429])
        #expect(flood.disconnectCode == .tooManyOperations)
        #expect(!other.isClosed)
        await flood.session.closed()
        #expect(other.notifications.contains(.playerReconnecting(PlayerReference("flood"))))
    }

    /// A flood has admitted frames in between, one for each turn of the clock: they are no reason to bear with it.
    @Test(arguments: [100, 1000, 3000])
    func `a client that goes on beyond its rate is cut off, whatever is admitted in between`(_ microseconds: Int64)
        async throws
    {
        let kit = SignallingKit()
        let flood = try await kit.join("flood")
        var sent = 0
        while flood.closes.isEmpty, sent < 10_000 {
            await flood.send(#"sub-tracks={"tracks":[],"rpcid":"x"}"#)
            await kit.clock.advance(by: MediaDuration(nanoseconds: microseconds * 1000))
            sent += 1
        }
        #expect(flood.closes == [4429])
        // 400 at once and 200 per second are right; from the first that is not, 1000 at once and 50 per second are borne with.
        let seconds = Double(Int64(sent) * microseconds) / 1e6
        let first = 400 / (1e6 / Double(microseconds) - 200)
        let right = 1400 + Int(seconds * 200 + (seconds - first) * 50)
        #expect(abs(sent - right) < 10, "\(sent), \(right)")
    }

    @Test func `a client that is a little too fast is refused, and stays`() async throws {
        let kit = SignallingKit()
        let hasty = try await kit.join("hasty")
        for _ in 0..<10_000 {
            await hasty.send(#"sub-tracks={"tracks":[],"rpcid":"x"}"#)
            await kit.clock.advance(by: .milliseconds(4))
        }
        #expect(hasty.code("sub-tracks") != nil && !hasty.isClosed)
    }

    /// What a request names is looked for and answered, one by one: a list is as much work as that many requests.
    @Test func `requests cost what they name`() async throws {
        var limits = RoomLimits()
        limits.tracksPerRequest = 50
        limits.subscriptionsPerSecond = 10
        let kit = SignallingKit(limits: limits)
        let (user, other) = (try await kit.join("user"), try await kit.join("other"))
        let tracks = await other.publish(["a0", "v0"])
        #expect(tracks.count == 2)
        func list(_ count: Int) -> String {
            "[" + Array(repeating: #"{"trackid":"none"}"#, count: count).joined(separator: ",") + "]"
        }
        await user.send("subpc={\"tracks\":\(list(51)),\"rpcid\":\"r\"}")
        #expect(user.code("subpc") == .tooManyOperations, "too long a list")
        await user.send("subpc={\"tracks\":\(list(50)),\"rpcid\":\"r\"}")
        #expect(user.code("subpc") == .ok)
        await user.send("sub-tracks={\"tracks\":\(list(50)),\"rpcid\":\"r\"}")
        #expect(user.code("sub-tracks") == .ok)
        for type in ["sub-tracks", "unsub-tracks", "subpc"] {
            await user.send("\(type)={\"tracks\":\(list(1)),\"rpcid\":\"r\"}")
            #expect(user.code(type) == .tooManyOperations, "\(type)")
        }
        await other.send("unpub-tracks={\"tracks\":\(list(51)),\"rpcid\":\"r\"}")
        #expect(other.code("unpub-tracks") == .tooManyOperations)
        await kit.clock.advance(by: .milliseconds(100))
        await user.send("sub-tracks={\"tracks\":[{\"trackid\":\"\(tracks[0])\"}],\"rpcid\":\"r\"}")
        #expect(user.code("sub-tracks") == .ok, "one more after a tenth of a second")
        // An id that stands twice is answered once.
        await kit.clock.advance(by: .seconds(1))
        let twice = "{\"trackid\":\"\(tracks[0])\"}"
        await user.send("unsub-tracks={\"tracks\":[\(twice),\(twice)],\"rpcid\":\"r\"}")
        #expect(user.texts.last?.components(separatedBy: tracks[0]).count == 2)
        await other.send("unpub-tracks={\"tracks\":[\(twice),\(twice)],\"rpcid\":\"r\"}")
        #expect(other.texts.last { $0.hasPrefix("unpub-tracks-res") }?.components(separatedBy: tracks[0]).count == 2)
    }

    @Test func `limits of rooms and users`() async throws {
        var limits = RoomLimits()
        limits.rooms = 1
        limits.users = 2
        let kit = SignallingKit(limits: limits)
        #expect(try await kit.join("u1", "one").auth?.code == .ok)
        #expect(try await kit.join("u2", "two").auth?.code == .tooManyOperations)
        #expect(try await kit.join("u3", "one").auth?.code == .ok)
        let fourth = try await kit.join("u4", "one")
        #expect(fourth.auth?.code == .tooManyOperations && fourth.auth?.error?.isEmpty == false)
        #expect(await kit.users("one") == ["u1", "u3"])
    }
}
