/// What one sent track wants of the bitrate, in bit/s.
package struct BitrateDemand: Sendable, Hashable {
    package var kind: TrackKind
    /// Below this it makes no sense.
    package var minimum: Int
    /// What each encoding takes at most, from the smallest picture to the largest; one of sound.
    package var layers: [Int]

    package init(kind: TrackKind, minimum: Int, layers: [Int]) {
        self.kind = kind
        self.minimum = minimum
        self.layers = layers
    }
}

/// Shares what a connection may send among its tracks.
package enum BitrateAllocation {
    /// For headers, repair, and what an encoder overshoots.
    private static let payloadShare = 0.92
    /// A larger picture with less than this much of what it is made for is worse than the one below.
    private static let layerShare = 2

    /// The target of each encoding, in bit/s. Sound comes before pictures, smaller pictures before larger ones; tracks of the
    /// same step share alike. An encoding that is not worth its bits has 0, and so have those above it.
    ///
    /// The first encoding never gets less than the track's minimum, even if there is less.
    package static func allocate(_ bitrate: Double, among demands: [BitrateDemand]) -> [[Int]] {
        var left = Int(min(max(bitrate * payloadShare, 0), 1e12))
        var targets = demands.map { [Int](repeating: 0, count: $0.layers.count) }
        for (place, demand) in demands.enumerated() where !demand.layers.isEmpty {
            targets[place][0] = min(demand.minimum, demand.layers[0])
            left -= targets[place][0]
        }
        share(&left, &targets, demands, layer: 0) { demands[$0].kind == .audio }
        for layer in 0..<(demands.map(\.layers.count).max() ?? 0) {
            share(&left, &targets, demands, layer: layer) { demands[$0].kind == .video }
        }
        return targets
    }

    private static func share(
        _ left: inout Int, _ targets: inout [[Int]], _ demands: [BitrateDemand], layer: Int, among: (Int) -> Bool
    ) {
        // Who wants least is served first: what it leaves over is the others'.
        var unserved = demands.indices.filter { place in
            among(place) && demands[place].layers.count > layer
                && (layer == 0 || targets[place][layer - 1] >= demands[place].layers[layer - 1])
        }
        unserved.sort { demands[$0].layers[layer] < demands[$1].layers[layer] }
        while let place = unserved.first, left > 0 {
            let wanted = demands[place].layers[layer] - targets[place][layer]
            let part = min(max(wanted, 0), left / unserved.count)
            unserved.removeFirst()
            guard layer == 0 || part >= wanted / layerShare else { continue }
            targets[place][layer] += part
            left -= part
        }
    }
}
