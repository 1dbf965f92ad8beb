import ClientEngine

/// What the media thread wants of a track that is sent: key frames, and bitrates to keep to. It is apart from the encoders, so that
/// the media thread never waits for one.
package struct SendSteering {
    /// Of a picture, in bit/s.
    static let minimumOfPictures = 30_000
    /// Of sound, in bit/s: what Opus needs for speech (RFC 6716, section 2.1.1).
    static let minimumOfSound = 6000
    /// Of sound without another wish, in bit/s.
    static let usualSound = 32_000
    /// Of pictures that the app encodes, without another wish, in bit/s: all layers together.
    static let usualPictures = 2_500_000

    private let kind: TrackKind
    /// The encodings at most, in bit/s.
    private var maxima: [Int]
    private var wantedKeyFrames: UInt8 = 0
    /// What the encodings may take, in bit/s; `nil`: the network has said nothing yet.
    package private(set) var targets: [Int]?
    /// What the connection may take, in bit/s.
    package private(set) var estimate: Int?

    /// - Parameter kilobits: at most, of all encodings together; `nil`: what is usual.
    package init(_ kind: TrackKind, layers: Int, kilobits: Int?) {
        self.kind = kind
        let usual = kind == .audio ? SendSteering.usualSound : SendSteering.usualPictures
        let total = kilobits.map { min(max($0, 1), 1_000_000) * 1000 } ?? usual
        maxima = SendSteering.parts(layers).map { Int(Double(total) * $0) }
    }

    /// How encodings share a bitrate, each with sides twice those of the one before: about as their pixels, with a little more for the
    /// small ones.
    private static func parts(_ layers: Int) -> [Double] {
        switch layers {
        case ...1: [1]
        case 2: [0.2, 0.8]
        default: [0.06, 0.2, 0.74]
        }
    }

    /// Another connection.
    package mutating func begin() {
        targets = nil
        estimate = nil
    }

    // MARK: The media thread

    package mutating func wantKeyFrame(_ layer: Int) { if 0..<8 ~= layer { wantedKeyFrames |= 1 << UInt8(layer) } }

    package var demand: BitrateDemand {
        let minimum = kind == .audio ? SendSteering.minimumOfSound : SendSteering.minimumOfPictures
        return BitrateDemand(kind: kind, minimum: minimum, layers: maxima)
    }

    /// True: the app should hear of it, for a target is another one by a twentieth or more.
    package mutating func follow(_ targets: [Int], estimate: Int) -> Bool {
        self.estimate = estimate
        let before = self.targets
        let isNews =
            before.map { before in
                before.count != targets.count
                    || zip(before, targets).contains { abs($0 - $1) * 20 >= max($0, 1) && $0 != $1 }
            } ?? true
        // Small steps add up to a large one.
        if isNews { self.targets = targets }
        return isNews
    }

    // MARK: The thread that encodes

    package mutating func takeKeyFrames() -> UInt8 {
        defer { wantedKeyFrames = 0 }
        return wantedKeyFrames
    }

    /// What the only encoding may take now, in bit/s.
    ///
    /// - Parameter maximum: of what is encoded, from now on.
    package mutating func target(maximum: Int) -> Int {
        maxima = [maximum]
        let start = min(Double(maximum), SendRateEstimator.initial)
        return min(targets?.first ?? Int(start), maximum)
    }

    /// Of pictures that are encoded here: in bit/s.
    ///
    /// - Parameter kilobits: the app's wish.
    package static func maximum(width: Int, height: Int, kilobits: Int?) -> Int {
        // Four bits a pixel and second are plenty for a moving scene.
        let usual = width * height * 4 / 1000
        return min(max(kilobits ?? usual, minimumOfPictures / 1000), 100_000) * 1000
    }

    /// Of sound that is encoded here: in bit/s.
    package static func maximumOfSound(kilobits: Int?) -> Int {
        min(max((kilobits ?? usualSound / 1000), minimumOfSound / 1000), 510) * 1000
    }
}
