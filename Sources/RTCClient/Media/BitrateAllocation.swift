/// What one sent track wants of the bitrate, in bit/s.
package struct BitrateDemand: Sendable, Hashable {
    package var kind: TrackKind
    /// Below this it makes no sense.
    package var minimum: Int
    /// What each encoding takes at most, from the smallest picture to the largest; one of sound.
    package var layers: [Int]
    /// What each encoding took lately; `nil`, or fewer than there are encodings: that is not known.
    package var sent: [Int?]

    package init(kind: TrackKind, minimum: Int, layers: [Int], sent: [Int?] = []) {
        self.kind = kind
        self.minimum = minimum
        self.layers = layers
        self.sent = sent
    }
}

/// Shares what a connection may send among its tracks.
package enum BitrateAllocation {
    /// For headers, repair, and what an encoder overshoots.
    private static let payloadShare = 0.92
    /// A larger picture with less than this much of what it is made for is worse than the one below.
    private static let layerShare = 2
    /// What is kept for an encoding beyond twice what it sends, in bit/s: a calm picture may begin to move.
    private static let headroom = 50_000
    /// An encoding that sends less than this part of what it is made for says nothing of those above it.
    private static let usedShare = 4
    /// How finely the next step is looked for.
    private static let search = 1.05

    /// The target of each encoding, in bit/s. Sound comes before pictures, smaller pictures before larger ones; tracks of the
    /// same step share alike. An encoding that is not worth its bits has 0, and so have those above it.
    ///
    /// Who sends little is first counted at that and some headroom; what then is left over is given to all as if they sent.
    /// The first encoding never gets less than the track's minimum, even if there is less.
    package static func allocate(_ bitrate: Double, among demands: [BitrateDemand]) -> [[Int]] {
        var (left, targets) = needed(bitrate, demands)
        share(&left, &targets, demands) { demands[$0].layers[$1] }
        return targets
    }

    /// The bitrate from which on one more encoding is worth its bits, in bit/s; `nil`: all are, or those below are not in use.
    package static func nextStep(above bitrate: Double, among demands: [BitrateDemand]) -> Double? {
        func active(_ bitrate: Double) -> Int { needed(bitrate, demands).targets.joined().count { $0 > 0 } }
        let present = active(bitrate)
        guard present < demands.reduce(0, { $0 + $1.layers.count }), bitrate >= 1 else { return nil }
        let all = Double(demands.reduce(0) { $0 + $1.layers.reduce(0, +) }) / payloadShare
        var next = bitrate
        while next < all {
            next = min(next * search, all)
            if active(next) > present { return next }
        }
        return nil
    }

    /// What those get who use it, and what is left.
    private static func needed(_ bitrate: Double, _ demands: [BitrateDemand]) -> (left: Int, targets: [[Int]]) {
        var left = Int(min(max(bitrate * payloadShare, 0), 1e12))
        var targets = demands.map { [Int](repeating: 0, count: $0.layers.count) }
        for (place, demand) in demands.enumerated() where !demand.layers.isEmpty {
            targets[place][0] = min(demand.minimum, demand.layers[0])
            left -= targets[place][0]
        }
        share(&left, &targets, demands) { limit(demands[$0], layer: $1) }
        return (left, targets)
    }

    private static func sent(_ demand: BitrateDemand, _ layer: Int) -> Int? {
        demand.sent.indices.contains(layer) ? demand.sent[layer] : nil
    }

    private static func limit(_ demand: BitrateDemand, layer: Int) -> Int {
        guard let sent = sent(demand, layer) else { return demand.layers[layer] }
        let least = layer == 0 ? demand.minimum : demand.layers[layer] / layerShare
        return min(demand.layers[layer], max(min(sent, 1 << 40) * 2 + headroom, least))
    }

    private static func share(
        _ left: inout Int, _ targets: inout [[Int]], _ demands: [BitrateDemand], limit: (Int, Int) -> Int
    ) {
        share(&left, &targets, demands, layer: 0, limit) { demands[$0].kind == .audio }
        for layer in 0..<(demands.map(\.layers.count).max() ?? 0) {
            share(&left, &targets, demands, layer: layer, limit) { demands[$0].kind == .video }
        }
    }

    private static func share(
        _ left: inout Int, _ targets: inout [[Int]], _ demands: [BitrateDemand], layer: Int, _ limit: (Int, Int) -> Int,
        among: (Int) -> Bool
    ) {
        func wanted(_ place: Int) -> Int { max(limit(place, layer) - targets[place][layer], 0) }
        func isBelowFull(_ place: Int) -> Bool {
            guard layer > 0 else { return true }
            let full = demands[place].layers[layer - 1]
            if targets[place][layer - 1] >= full { return true }
            let isUsed = sent(demands[place], layer - 1).map { $0 >= full / usedShare } ?? true
            return isUsed && targets[place][layer - 1] >= limit(place, layer - 1)
        }
        // Who wants least is served first: what it leaves over is the others'.
        var unserved = demands.indices.filter { place in
            among(place) && demands[place].layers.count > layer && isBelowFull(place)
        }
        unserved.sort { wanted($0) < wanted($1) }
        while let place = unserved.first, left > 0 {
            let part = min(wanted(place), left / unserved.count)
            unserved.removeFirst()
            let isWorthIt = targets[place][layer] + part >= demands[place].layers[layer] / layerShare
            guard layer == 0 || isWorthIt else { continue }
            targets[place][layer] += part
            left -= part
        }
    }
}
