import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

@Suite("Header extensions: the form that each subscriber gets")
struct HeaderExtensionTests {
    private static let oneByte = HeaderExtensionReader.oneByteProfile
    private static let twoByte = HeaderExtensionReader.twoByteProfile
    private static let mappings = [
        HeaderExtensionMapping(id: UInt8(5), kind: .playoutDelay),
        HeaderExtensionMapping(id: UInt8(12), kind: .dependencyDescriptor),
    ]

    /// An AV1 packet of one OBU: a sequence header that starts a coded video sequence, or a frame.
    private func payload(_ frame: Int) -> [UInt8] {
        [frame == 0 ? 0x18 : 0x10, frame == 0 ? 0x08 : 0x30, UInt8(frame), 1, 2, 3]
    }

    /// With a key frame of three layers the descriptor has the structure, and is some 60 bytes long.
    private func descriptor(_ frame: Int) -> [UInt8] {
        (0..<(frame == 0 ? 60 : 3)).map { UInt8(truncatingIfNeeded: 17 &* $0 &+ frame) }
    }

    private func publish(
        _ frames: Range<Int>, _ alice: RoomScene.Publisher, _ scene: RoomScene,
        _ extensions: (Int) -> [(id: UInt8, bytes: [UInt8])]
    ) {
        for frame in frames {
            alice.peer.publish(
                scene.network, ssrc: alice.ssrc, index: 1000 + UInt64(frame), timestamp: UInt32(frame * 3000),
                payloadType: 96, marker: true, payload: payload(frame), extensions: extensions(frame))
            scene.network.run(for: .milliseconds(33))
        }
    }

    @Test("descriptors of any length reach those who take both forms, in the form that each packet needs")
    func mixed() {
        let scene = RoomScene(seed: 41)
        let alice = scene.publisher(room: 1, codec: .av1, extensions: Self.mappings)
        let takes = [HeaderExtensionMapping(id: 9, kind: .dependencyDescriptor), .init(id: 3, kind: .playoutDelay)]
        let bob = scene.subscriber(room: 1, to: alice.track, extensions: takes, allowsMixedExtensions: true)
        let carol = scene.subscriber(room: 1, to: alice.track, extensions: takes)
        let dave = scene.subscriber(room: 1, to: alice.track, extensions: [], allowsMixedExtensions: true)
        let high = [HeaderExtensionMapping(id: 20, kind: .dependencyDescriptor), .init(id: 3, kind: .playoutDelay)]
        let erin = scene.subscriber(room: 1, to: alice.track, extensions: high, allowsMixedExtensions: true)
        publish(0..<5, alice, scene) {
            [(id: UInt8(12), bytes: descriptor($0)), (id: UInt8(5), bytes: [0, 1, UInt8($0)])]
        }

        let atBob = bob.peer.received
        #expect(atBob.map(\.extensionProfile) == [Self.twoByte] + [UInt16](repeating: Self.oneByte, count: 4))
        for (frame, packet) in atBob.enumerated() {
            #expect(packet.extensions == [9: descriptor(frame), 3: [0, 1, UInt8(frame)]])
            #expect(packet.payload == payload(frame))
        }
        // Who must have one form gets no descriptor at all: those without the first one would say nothing.
        let atCarol = carol.peer.received
        #expect(atCarol.map(\.extensionProfile) == [UInt16](repeating: Self.oneByte, count: 5))
        #expect(atCarol.map(\.extensions) == (0..<5).map { [3: [0, 1, UInt8($0)]] })
        #expect(dave.peer.received.map(\.extensionProfile) == [0, 0, 0, 0, 0])
        // A high id has made it the two-byte form once for all.
        let atErin = erin.peer.received
        #expect(atErin.map(\.extensionProfile) == [UInt16](repeating: Self.twoByte, count: 5))
        #expect(atErin.map { $0.extensions[20] } == (0..<5).map(descriptor))
        for peer in [bob, carol, dave, erin] { #expect(peer.peer.failures.isEmpty) }
    }

    @Test("a retransmission has the very bytes of the first time")
    func retransmission() {
        let scene = RoomScene(seed: 42)
        let alice = scene.publisher(room: 1, codec: .av1, extensions: Self.mappings)
        let bob = scene.subscriber(
            room: 1, to: alice.track, extensions: Self.mappings, allowsMixedExtensions: true, firstSequence: 700)
        var sent: [UInt16: Set<[UInt8]>] = [:]
        scene.network.tap = { _, _, destination, bytes in
            guard destination == bob.peer.address, bytes[1] & 0x7F == 100 else { return }
            sent[UInt16(bytes[2]) << 8 | UInt16(bytes[3]), default: []].insert(Array(bytes))
        }
        publish(0..<3, alice, scene) { [(id: UInt8(12), bytes: descriptor($0))] }
        let before = bob.peer.receivedCount + bob.peer.failures.values.reduce(0, +)
        bob.peer.sendRTCP(scene.network) { writer in
            [700, 701].withUnsafeBufferPointer {
                writer.nack(senderSSRC: 1, mediaSSRC: bob.ssrc, sequences: $0)
            }
        }
        scene.network.run(for: .milliseconds(100))
        let after = bob.peer.receivedCount + bob.peer.failures.values.reduce(0, +)
        #expect(after == before + 2, "both were sent again, and known as replays")
        #expect(sent.mapValues(\.count) == [700: 1, 701: 1, 702: 1])
    }

    @Test("elements of no length and of up to 255 bytes keep their length", arguments: [0, 1, 16, 17, 100, 255])
    func lengths(_ length: Int) {
        let scene = RoomScene(seed: 43)
        let alice = scene.publisher(room: 1, codec: .av1, extensions: Self.mappings)
        let bob = scene.subscriber(
            room: 1, to: alice.track, extensions: Self.mappings, allowsMixedExtensions: true)
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 + 1) }
        publish(0..<1, alice, scene) { _ in [(id: UInt8(12), bytes: bytes)] }
        #expect(bob.peer.received.map(\.extensions) == [[12: bytes]])
        let isLong = length == 0 || length > 16
        #expect(bob.peer.received.map(\.extensionProfile) == [isLong ? Self.twoByte : Self.oneByte])
    }
}
