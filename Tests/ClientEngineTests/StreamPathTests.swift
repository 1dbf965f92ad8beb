import ClientEngine
import MediaContract
import MediaTestKit
import MediaTransport
import MediaWire
import Testing

/// A client that needs TCP for a while, against the node's switchboard, in virtual time.
@Suite struct StreamPathTests {
    private struct Scene {
        var room: VirtualRoom
        let client: VirtualClient
        let stream: Int

        func send(_ numbers: Range<Int>) {
            for number in numbers {
                client.send(
                    VirtualRoom.frame(number, isKey: number == numbers.lowerBound), stream: stream,
                    timestamp: UInt32(number) &* 900, room.network)
                room.run(.milliseconds(10))
            }
        }

        func runs(within limit: MediaDuration, until condition: () -> Bool) -> Bool {
            room.run(within: limit, until: condition)
        }
    }

    private func scene(seed: UInt64) throws -> Scene {
        var room = VirtualRoom(seed: seed)
        let made = room.client(.server, streams: [VirtualClient.candidate])
        let client = try #require(made)
        let stream = try #require(client.addSending(VirtualRoom.settings(ssrc: 100)))
        return Scene(room: room, client: client, stream: stream)
    }

    private func isOverStream(_ client: VirtualClient) -> Bool {
        client.client.selectedPath == VirtualClient.streamPath
    }

    @Test func `TCP carries a call without UDP, and goes when UDP comes`() throws {
        let scene = try scene(seed: 1)
        let client = scene.client
        let began = scene.room.network.now
        client.isCut = true
        #expect(scene.runs(within: .seconds(3)) { client.state == .connected })
        #expect(isOverStream(client))
        #expect(client.dials == [began + StreamPlan.patience])
        scene.room.run(.seconds(3))
        #expect(client.retirements.isEmpty)
        client.isCut = false
        #expect(scene.runs(within: .seconds(20)) { !isOverStream(client) && client.state == .connected })
        scene.room.run(.seconds(3))
        #expect(client.retirements.count == 1)
        #expect(client.streamEnd == nil)
        #expect(client.states.filter { $0 == .connected }.count == 1, "\(client.states)")
        scene.send(0..<20)
        #expect(client.sending[scene.stream].packets == 20)
        #expect(client.dials.count == 1)
    }

    @Test func `a stream that breaks is dialled again, and says that the path is gone`() throws {
        let scene = try scene(seed: 2)
        let client = scene.client
        client.isCut = true
        #expect(scene.runs(within: .seconds(3)) { client.state == .connected })
        for round in 1...3 {
            scene.room.run(.seconds(12))
            client.breakStream(scene.room.network)
            #expect(client.state == .disconnected, "the session layer asks for a restart by this")
            #expect(client.states.last == .disconnected)
            #expect(!client.canSend)
            #expect(scene.runs(within: .seconds(1)) { client.state == .connected }, "round \(round)")
            #expect(client.dials.count == 1 + round)
        }
        scene.send(0..<20)
        #expect(client.sending[scene.stream].packets == 20)
    }

    @Test func `UDP that goes in the middle of a call is replaced by TCP, before and after a restart`() throws {
        let scene = try scene(seed: 3)
        let client = scene.client
        #expect(scene.runs(within: .seconds(3)) { client.state == .connected })
        #expect(client.dials.isEmpty)
        client.isCut = true
        #expect(scene.runs(within: .seconds(10)) { client.state == .disconnected })
        // A restart, as the session layer asks for it; the new stream is checked with the new credentials.
        client.restart(scene.room.network)
        #expect(scene.runs(within: .seconds(3)) { isOverStream(client) && client.state == .connected })
        scene.send(0..<20)
        #expect(client.sending[scene.stream].packets == 20)
        // Once more, with the stream still standing.
        client.restart(scene.room.network)
        scene.room.run(.seconds(5))
        #expect(isOverStream(client) && client.state == .connected)
        #expect(client.dials.count <= 2)
    }

    @Test func `a path that is lost before the keys are agreed is looked for again`() throws {
        let scene = try scene(seed: 4)
        let client = scene.client
        client.isCut = true
        #expect(scene.runs(within: .seconds(3)) { client.state == .securing })
        client.breakStream(scene.room.network)
        #expect(client.state == .checking)
        #expect(scene.runs(within: .seconds(5)) { client.state == .connected })
        #expect(client.dials.count == 2)
    }
}
