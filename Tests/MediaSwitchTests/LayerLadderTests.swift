import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

/// Which layer a wish comes to, by how many there are and how many of them are sent.
@Suite struct LayerLadderTests {
    /// Of two layers `low` is the lower and `high` the higher, and so they are called.
    @Test(arguments: [1, 2, 3])
    func `the lowest is low and the highest high, however many there are`(count: Int) {
        #expect(LayerPreference.low.index(among: count) == 0)
        #expect(LayerPreference.high.index(among: count) == count - 1)
        #expect(LayerPreference.medium.index(among: count) == [0, 0, 1][count - 1])
        let names = (0..<count).map { LayerPreference(index: $0, among: count) }
        let expected: [[LayerPreference]] = [[.high], [.low, .high], [.low, .medium, .high]]
        #expect(names == expected[count - 1])
        for (place, name) in names.enumerated() {
            #expect(name.index(among: count) == place, "a name leads to its layer")
        }
    }

    /// Which of three layers are sent, and what the wishes low, medium and high come to.
    private static let sent: [([Int], [LayerPreference])] = [
        ([1, 2], [.medium, .medium, .high]), ([0, 1], [.low, .medium, .medium]), ([0, 2], [.low, .low, .high]),
        ([2], [.high, .high, .high]), ([0, 1, 2], [.low, .medium, .high]),
    ]

    /// Three are declared and two are sent: Chromium keeps the first two of the list, the larger ones where the largest comes
    /// first, and of a group SIM, where the smallest does, the smaller ones. The lowest that is sent is what `low` gets.
    /// Its name is its place in the track's own ladder, which does not change when a layer comes or goes.
    @Test(arguments: sent)
    func `a wish gets the nearest below that is sent, else the lowest`(sent: [Int], names: [LayerPreference]) throws {
        let scene = BrowserScene(seed: 81)
        let alice = scene.publisher(room: 1)
        let ssrcs: [UInt32] = [31, 32, 33]
        let track = scene.track(of: alice, encodings: ssrcs.map { EncodingSpec(ssrcs: [$0], rtxSSRC: $0 + 10) })
        let layers = ssrcs.map { VirtualEncoding(ssrc: $0, content: UInt8($0 - 30), seed: $0 * 14) }
        let wishes: [LayerPreference] = [.low, .medium, .high]
        let listeners = wishes.map { wish in
            let listener = scene.subscriber(room: 1)
            return (listener, scene.subscribe(listener, to: track, layer: wish))
        }
        for frame in 0..<60 {
            // The upper layers come first on the wire, so that the lower one has to be waited for.
            for place in sent.reversed() { layers[place].send(alice, scene.network, isKey: frame % 10 == 0) }
            scene.network.run(for: .milliseconds(33))
        }
        var told: [SubscriptionID: LayerPreference] = [:]
        for case .layerChanged(let id, let layer) in scene.network.takeEvents() { told[id] = layer }
        for (place, (listener, subscription)) in listeners.enumerated() {
            #expect(told[subscription] == names[place], "\(wishes[place]) of \(sent)")
            let content = UInt8(1 + names[place].index(among: 3))
            #expect(try #require(listener.media).received.last?.payload[6] == content, "\(wishes[place]) of \(sent)")
        }
    }
}
