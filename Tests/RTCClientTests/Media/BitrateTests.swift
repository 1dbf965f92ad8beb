import MediaWire
import RTCClient
import Testing

/// Who gets how much of what may be sent.
@Suite struct BitrateTests {
    private let sound = BitrateDemand(kind: .audio, minimum: 6000, layers: [32_000])
    private let camera = BitrateDemand(kind: .video, minimum: 30_000, layers: [1_000_000])
    private let layered = BitrateDemand(kind: .video, minimum: 30_000, layers: [150_000, 500_000, 1_850_000])

    private func allocate(_ bitrate: Double, _ demands: [BitrateDemand]) -> [[Int]] {
        BitrateAllocation.allocate(bitrate, among: demands)
    }

    @Test func `enough for all is enough for each`() {
        #expect(
            allocate(20_000_000, [sound, camera, layered]) == [[32_000], [1_000_000], [150_000, 500_000, 1_850_000]])
        #expect(allocate(1_000_000, []).isEmpty)
    }

    @Test func `sound comes before pictures`() {
        #expect(allocate(100_000, [camera, sound]) == [[60_000], [32_000]])
        #expect(allocate(0, [camera, sound]) == [[30_000], [6000]], "the least is kept to")
        #expect(allocate(-1, [camera, sound]) == [[30_000], [6000]])
        #expect(allocate(.infinity, [camera, sound]) == [[1_000_000], [32_000]])
    }

    @Test func `layers fill from the smallest, and one that is not worth it is off`() {
        let steps: [(Double, [Int])] = [
            (50_000, [46_000, 0, 0]), (200_000, [150_000, 0, 0]), (400_000, [150_000, 0, 0]),
            (450_000, [150_000, 264_000, 0]), (750_000, [150_000, 500_000, 0]), (1_600_000, [150_000, 500_000, 0]),
            (2_000_000, [150_000, 500_000, 1_190_000]), (3_000_000, [150_000, 500_000, 1_850_000]),
        ]
        for (bitrate, layers) in steps { #expect(allocate(bitrate, [layered]) == [layers], "\(bitrate)") }
    }

    @Test func `two cameras share, and what one leaves over is the other's`() {
        #expect(allocate(1_000_000, [camera, camera]) == [[460_000], [460_000]])
        let small = BitrateDemand(kind: .video, minimum: 30_000, layers: [100_000])
        #expect(allocate(1_000_000, [camera, small]) == [[820_000], [100_000]])
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `no more is given out than there is, and no more than is wanted`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let all = [sound, camera, layered]
        let demands = (0..<Int.random(in: 1...6, using: &random)).map { _ in
            all[Int.random(in: 0..<3, using: &random)]
        }
        var before = 0
        for bitrate in stride(from: 100_000.0, through: 12_000_000, by: 100_000) {
            let targets = allocate(bitrate, demands)
            let least = demands.reduce(0) { $0 + $1.minimum }
            let sum = targets.joined().reduce(0, +)
            #expect(Double(sum) <= max(bitrate, Double(least)), "seed \(seed)")
            for (demand, target) in zip(demands, targets) {
                #expect(zip(demand.layers, target).allSatisfy { $0 >= $1 } && target[0] >= demand.minimum)
                let off = target.firstIndex(of: 0) ?? target.count
                #expect(target[off...].allSatisfy { $0 == 0 }, "seed \(seed)")
            }
            before = max(before, sum)
        }
        #expect(before == demands.reduce(0) { $0 + $1.layers.reduce(0, +) }, "seed \(seed)")
    }

    // MARK: A track

    @Test func `a track begins low, follows, and never exceeds its maximum`() {
        var steering = SendSteering(.video, layers: 1, kilobits: 1500)
        #expect(steering.demand.layers == [1_500_000])
        #expect(steering.target(maximum: 1_500_000) == 600_000, "before anything is known")
        #expect(steering.follow([900_000], estimate: 1_000_000) == true)
        #expect(steering.target(maximum: 1_500_000) == 900_000)
        #expect(steering.follow([910_000], estimate: 1_010_000) == false, "too small a step to be told")
        #expect(steering.target(maximum: 1_500_000) == 900_000)
        #expect(steering.estimate == 1_010_000)
        #expect(steering.follow([950_000], estimate: 1_050_000) == true, "but steps add up")
        #expect(steering.follow([9_000_000], estimate: 9_900_000) == true)
        #expect(steering.target(maximum: 400_000) == 400_000, "of a smaller picture")
        #expect(steering.demand.layers == [400_000])
        steering.begin()
        #expect(steering.targets == nil && steering.estimate == nil)
    }

    @Test func `wishes for key frames are kept, each once`() {
        var steering = SendSteering(.video, layers: 3, kilobits: nil)
        #expect(steering.takeKeyFrames() == 0)
        steering.wantKeyFrame(0)
        steering.wantKeyFrame(2)
        steering.wantKeyFrame(2)
        steering.wantKeyFrame(-1)
        steering.wantKeyFrame(64)
        #expect(steering.takeKeyFrames() == 0b101)
        #expect(steering.takeKeyFrames() == 0)
    }

    @Test func `maxima are what the app wishes, or what is usual`() {
        #expect(SendSteering.maximum(width: 1280, height: 720, kilobits: nil) == 3_686_000)
        #expect(SendSteering.maximum(width: 16, height: 16, kilobits: nil) == 30_000)
        #expect(SendSteering.maximum(width: 640, height: 480, kilobits: 500) == 500_000)
        #expect(SendSteering.maximum(width: 640, height: 480, kilobits: -5) == 30_000)
        #expect(SendSteering.maximumOfSound(kilobits: nil) == 32_000)
        #expect(SendSteering.maximumOfSound(kilobits: 9999) == 510_000)
        let layers = SendSteering(.video, layers: 3, kilobits: 2000).demand.layers
        #expect(layers.count == 3 && layers == layers.sorted() && abs(layers.reduce(0, +) - 2_000_000) < 10)
        #expect(SendSteering(.audio, layers: 1, kilobits: nil).demand.layers == [32_000])
    }
}
