import Foundation
import MediaWire
import ParlorNode
import RoomControl
import Synchronization
import Testing
import WebTransport

/// A node with its real parts on loopback, and the client commands against it.
struct NodeTests {
    private func configuration() throws -> ConfigurationLoader.Loaded {
        var base = NodeConfiguration.development
        base.http.listen.port = try FreePorts.tcp()
        base.media.workers = 1
        base.media.port = try FreePorts.udp()
        // Away from the default range and from the kernel's own choices (32768 and up); ports that are taken are passed over.
        base.media.plain.portRange = 21000...21199
        return ConfigurationLoader.Loaded(configuration: base, origins: ["media.port": .flag("--media-port")])
    }

    @Test func clientsListJoinAndKick() async throws {
        let loaded = try configuration()
        let node = try Node(loaded, machine: [TransportAddress(ipv4: 0x7F00_0001, port: 0)])
        let url = ["--url", "http://127.0.0.1:\(node.httpPort)"]
        #expect(node.summary.contains { $0.hasPrefix("HTTP ") && $0.hasSuffix(":\(node.httpPort)") })

        let empty = try await CommandRunner.run(["rooms", "--json"] + url)
        #expect(empty.output == "{\"rooms\":[]}\n")

        let publish = try await CommandRunner.run(
            ["sdp", "publish", "--room", "r", "--user", "cam", "--json"] + url)
        #expect(publish.code == 0, "\(publish.errors)")
        let published = try publish.json()
        let command = try #require(published["command"] as? [String])
        let targets = command.filter { $0.hasPrefix("srtp://127.0.0.1:21") }
        #expect(targets.count == 2)

        let folder = try TemporaryFolder()
        let file = "\(folder.path)/me.sdp"
        let play = try await CommandRunner.run(
            ["sdp", "play", "--room", "r", "--user", "me", "--from", "cam", "--out", file, "--port", "5104"] + url)
        #expect(play.code == 0, "\(play.errors)")
        #expect(play.output.hasPrefix("ffplay "))
        let sdp = try String(contentsOfFile: file, encoding: .utf8)
        #expect(sdp.contains("m=audio 5104 RTP/SAVP 111") && sdp.contains("m=video 5106 RTP/SAVP 96\r\n"))
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)

        let gst = try await CommandRunner.run(
            ["sdp", "play", "--room", "r", "--user", "gst", "--gst", "--profile", "gcm256", "--codec", "vp8"] + url)
        #expect(gst.output.hasPrefix("gst-launch-1.0 "))

        let users = try await CommandRunner.run(["users", "r"] + url)
        #expect(users.output.split(separator: "\n").map(String.init).sorted() == ["USER", "cam", "gst", "me"])
        let rooms = try await CommandRunner.run(["rooms", "--prefix", "r"] + url)
        #expect(rooms.output == "ROOM\nr\n")

        let kick = try await CommandRunner.run(["kick", "r", "cam"] + url)
        #expect(kick.code == 0)
        #expect(kick.output == "cam is out of r\n")
        let again = try await CommandRunner.run(["kick", "r", "cam"] + url)
        #expect(again.code == 1)
        #expect(again.errors.contains("the node refused: 612"))
        let stranger = try await CommandRunner.run(["users", "r", "--key", "other", "--secret", "wrong"] + url)
        #expect(stranger.code == 1)
        #expect(stranger.errors.contains("the node refused: 401"))

        // In order and in time; and the ports are free for the next.
        let start = ContinuousClock.now
        await node.stop()
        #expect(ContinuousClock.now - start < .seconds(2))
        let next = try Node(loaded, machine: [TransportAddress(ipv4: 0x7F00_0001, port: 0)])
        await next.stop()
    }

    @Test func aTakenPortNamesItsKey() async throws {
        let first = try configuration()
        let node = try Node(first, machine: [])
        var second = try configuration()
        second.configuration.media.port = first.configuration.media.port
        let media = #expect(throws: Node.StartFailure.self) { try Node(second, machine: []) }
        #expect(media?.description.contains("(media.port, --media-port)") == true, "got \(String(describing: media))")
        second = try configuration()
        second.configuration.http.listen.port = node.httpPort
        let http = #expect(throws: Node.StartFailure.self) { try Node(second, machine: []) }
        #expect(http?.description.contains("(http.listen, built-in)") == true, "got \(String(describing: http))")
        await node.stop()
    }

    private func whip(_ node: Node, as user: String) async throws -> HTTPResponse {
        let token = RoomToken(app: "demo", room: "r", user: user, expiresAt: RoomClock.system.unixTime() + 600)
            .signed(by: AccessKey(id: "devkey", secret: "devsecret"))
        return try await HTTPClient().request(
            "POST", "http://127.0.0.1:\(node.httpPort)/whip",
            headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/sdp"],
            body: Array(try Package.text("Tests/Fuzz/Offer/corpus/chromium-whip.sdp").utf8))
    }

    /// Of a node whose announced name moves, newcomers learn the new address; a resolver that fails takes nothing away.
    @Test func anAnnouncedNameIsFollowed() async throws {
        var loaded = try configuration()
        loaded.configuration.media.announce = [.name("media.example.com")]
        func at(_ last: UInt32) -> HostNames.Found { .addresses([TransportAddress(ipv4: 0x7F00_0000 | last, port: 0)]) }
        let resolver = Mutex(at(2))
        let lines = Mutex<[String]>([])
        let node = try Node(
            loaded, machine: [TransportAddress(ipv4: 0x7F00_0001, port: 0)], lookUp: { _ in resolver.withLock { $0 } },
            log: { line in lines.withLock { $0.append(line) } })
        func told(_ user: String) async throws -> (browser: Set<String>, plain: Bool) {
            let words = try await whip(node, as: user).text.split(separator: "\r\n")
                .filter { $0.hasPrefix("a=candidate:") }.map { $0.split(separator: " ")[4] }
            let publish = try await CommandRunner.run(
                ["sdp", "publish", "--room", "r", "--user", "p\(user)", "--url", "http://127.0.0.1:\(node.httpPort)"])
            return (Set(words.map(String.init)), words.allSatisfy { publish.output.contains("srtp://\($0):") })
        }
        #expect(try await told("a") == (["127.0.0.2"], true))
        resolver.withLock { $0 = at(3) }
        #expect(try await told("b") == (["127.0.0.2"], true))
        node.lookUpNames()
        #expect(try await told("c") == (["127.0.0.3"], true))
        resolver.withLock { $0 = .nothing("the resolver is away") }
        node.lookUpNames()
        node.lookUpNames()
        #expect(try await told("d") == (["127.0.0.3"], true))
        await node.stop()
        let said = lines.withLock { $0 }.filter { $0.contains("media.example.com") || $0.contains("announced") }
        #expect(
            said == [
                "media.example.com is at 127.0.0.3 now",
                "announced to those who join or restart from here on: 127.0.0.3",
                "media.example.com is not found any more (the resolver is away); its addresses of before still count",
            ])
    }

    /// Of a name that moves to where the node does not listen, nothing is announced, and nothing else is said.
    @Test func whatCannotBeAnnouncedIsNot() async throws {
        var loaded = try configuration()
        loaded.configuration.media.announce = [.name("media.example.com")]
        let resolver = Mutex(HostNames.Found.addresses([TransportAddress(ipv4: 0x7F00_0002, port: 0)]))
        let lines = Mutex<[String]>([])
        let node = try Node(
            loaded, machine: [TransportAddress(ipv4: 0x7F00_0001, port: 0)], lookUp: { _ in resolver.withLock { $0 } },
            log: { line in lines.withLock { $0.append(line) } })
        let ipv6 = try #require(TransportAddress(host: "2001:db8::9", port: 0))
        resolver.withLock { $0 = .addresses([ipv6]) }
        node.lookUpNames()
        let answer = try await whip(node, as: "a").text
        #expect(answer.contains(" 127.0.0.2 ") && !answer.contains("2001:db8::9"), "\(answer)")
        await node.stop()
        let said = lines.withLock { $0 }.filter { $0.contains("media.example.com") }
        #expect(
            said == [
                "media.example.com is at 2001:db8::9 now",
                "nothing can be announced of media.example.com; media.example.com is not announced: the node listens on "
                    + "no IPv6 address; announced as before: 127.0.0.2",
            ])
    }

    /// What is allowed and costs sound connections is said at the start.
    @Test(arguments: [(5, true), (14, true), (15, false), (30, false)])
    func aShortSilenceIsWarnedOf(seconds: Int, isWarned: Bool) async throws {
        var loaded = try configuration()
        loaded.configuration.media.silence = .seconds(seconds)
        let node = try Node(loaded, machine: [TransportAddress(ipv4: 0x7F00_0001, port: 0)])
        await node.stop()
        #expect(node.warnings.contains { $0.hasPrefix("media.silence ") } == isWarned, "\(node.warnings)")
    }

    /// From the file to the answer; the summary shows where they are and not what lets in.
    @Test func iceServersReachTheClients() async throws {
        var loaded = try configuration()
        var (stun, turn) = (NodeConfiguration.ICEServer(), NodeConfiguration.ICEServer())
        stun.urls = ["stun:stun.example.net"]
        (turn.urls, turn.username, turn.credential) = (["turn:turn.example.net"], "known-name", "known-credential")
        loaded.configuration.media.iceServers = [stun, turn]
        let lines = Mutex<[String]>([])
        let node = try Node(
            loaded, machine: [TransportAddress(ipv4: 0x7F00_0001, port: 0)],
            log: { line in lines.withLock { $0.append(line) } })
        let link = try #require(try await whip(node, as: "a").headers["Link"])
        #expect(link.contains("<stun:stun.example.net>") && link.contains("credential=\"known-credential\""), "\(link)")
        let client = try HTTPClient()
        let page = try await client.request("HEAD", "http://127.0.0.1:\(node.httpPort)/")
        #expect(page.status == 200 && page.body.isEmpty && page.headers["Content-Type"]?.hasPrefix("text/html") == true)
        await node.stop()
        #expect(node.summary.contains("ICE        stun:stun.example.net, turn:turn.example.net"))
        for line in node.summary + node.warnings + lines.withLock({ $0 }) {
            #expect(!line.contains("known"), "\(line)")
        }
    }

    /// Standard error that nobody reads any more holds up neither requests nor the end.
    @Test(.timeLimit(.minutes(1))) func aStuckLogHoldsUpNobody() async throws {
        var loaded = try configuration()
        // No such URL can be posted to, so there is a line about webhooks, too.
        loaded.configuration.apps[0].settings.eventCbUrl = "ftp://127.0.0.1/"
        let goOn = DispatchSemaphore(value: 0)
        let node = try Node(loaded, machine: [], log: { _ in goOn.wait() })
        let url = ["--url", "http://127.0.0.1:\(node.httpPort)"]
        for user in 0..<8 {
            let joined = try await CommandRunner.run(
                ["sdp", "publish", "--room", "r\(user)", "--user", "u\(user)"] + url)
            #expect(joined.code == 0, "\(joined.errors)")
        }
        await node.stop()
        for _ in 0..<1000 { goOn.signal() }
    }
}
