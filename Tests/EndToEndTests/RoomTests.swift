import Foundation
import Testing

extension EndToEnd {
    /// What a room is: its members hear and see each other, and nobody else.
    @Suite struct RoomTests {
        @Test func twoRoomsAtOnceStayApart() async throws {
            try await NodeProcess.run { node in
                let rooms: [(name: String, programme: Programme)] = [("red", .red), ("blue", .blue)]
                var publishers: [RunningProcess] = []
                var players: [RunningProcess] = []
                for room in rooms {
                    // The same names in both, as they may be.
                    let leg = try await node.publish(room.name, "cam")
                    publishers.append(try node.start(room.programme.replacing(leg.command), name: "\(room.name)-cam"))
                    let player = try await node.play(room.name, "me", "--record", "\(room.name).mkv")
                    players.append(try node.start(player.leg.command, name: "\(room.name)-me"))
                }
                #expect(
                    try await node.parlor("rooms").output.split(separator: "\n").sorted() == ["ROOM", "blue", "red"])
                for player in players { try await player.frames(30) }
                for player in players { player.interrupt() }
                for player in players { _ = try await player.exit() }
                for publisher in publishers { #expect(publisher.exitCode == nil, "\(publisher.lastWords)") }

                let red = try await Recording.decode("red.mkv", in: node.scratch)
                let blue = try await Recording.decode("blue.mkv", in: node.scratch)
                #expect(min(red.pictures.count, blue.pictures.count) >= 25)
                #expect(red.pictures.allSatisfy(\.isRed) && blue.pictures.allSatisfy(\.isBlue))
                #expect(red.share(of: 440) > 0.9 && red.share(of: 880) == 0)
                #expect(blue.share(of: 880) > 0.9 && blue.share(of: 440) == 0)
            }
        }

        /// A player may be first, and it stays the same leg when the publisher comes anew.
        @Test func playerWaitsAndFollows() async throws {
            try await NodeProcess.run { node in
                let (leg, _) = try await node.play("r", "me", "--from", "cam", "--record", "r.mkv")
                let player = try node.start(leg.command, name: "player")
                let waiting = try #require(try await node.state(of: leg.target))
                #expect(waiting.kind == "whep" && waiting.state == "waiting" && waiting.packetsOut == 0)
                #expect(try await node.users(in: "r") == ["me"])

                let first = try await node.publish("r", "cam")
                let red = try node.start(Programme.red.replacing(first.command), name: "red")
                try await player.frames(45)
                red.interrupt()
                _ = try await red.exit()

                let second = try await node.publish("r", "cam")
                #expect(try await node.state(of: first.target) == nil, "the new leg replaces the old one")
                let before = player.framesSoFar
                let blue = try node.start(Programme.blue.replacing(second.command), name: "blue")
                try await player.frames(before + 45)
                player.interrupt()
                _ = try await player.exit()
                #expect(blue.exitCode == nil, "\(blue.lastWords)")
                #expect(try await node.state(of: leg.target)?.state == "active", "the player's leg is the same one")

                let recording = try await Recording.decode("r.mkv", in: node.scratch)
                let change = try #require(recording.pictures.firstIndex { !$0.isRed })
                #expect(change >= 30)
                let after = recording.pictures[change...]
                #expect(after.count >= 30 && after.allSatisfy(\.isBlue), "blue from its first picture on")
                let (low, high) = (recording.hears(440), recording.hears(880))
                let turn = try #require(high.firstIndex(of: true))
                #expect(low[..<turn].count { $0 } >= 20 && high[turn...].count { $0 } >= 20)
                #expect(!low[turn...].contains(true), "nothing of the old tone after the new one")
            }
        }

        /// FFmpeg ends without a word; its closed port tells.
        @Test func playerThatEndsIsFound() async throws {
            try await NodeProcess.run { node in
                let publishing = try await node.publish("r", "cam")
                let publisher = try node.start(Programme.plain.replacing(publishing.command), name: "publisher")
                let (leg, _) = try await node.play("r", "me", "--record", "r.mkv")
                let player = try node.start(leg.command, name: "player")
                try await player.frames(15)
                player.kill()
                #expect(try await node.users(in: "r").sorted() == ["cam", "me"])
                try await until("the leg is gone", within: .seconds(40)) { try await node.state(of: leg.target) == nil }
                #expect(try await node.users(in: "r") == ["cam"])
                #expect(publisher.exitCode == nil, "\(publisher.lastWords)")
            }
        }
    }
}

extension Recording.Picture {
    /// In BT.601: red is high in Cr, blue in Cb.
    var isRed: Bool { meanCr > 145 && meanCb < 128 && contrast > 5 }
    var isBlue: Bool { meanCb > 145 && meanCr < 128 && contrast > 3 }
}
