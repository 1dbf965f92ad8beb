import Foundation
import MediaWire
import ParlorNode
import Testing

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
