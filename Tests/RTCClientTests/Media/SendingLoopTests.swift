import ClientEngine
import MediaWire
import RTCClient
import Testing

/// What tracks come to send over a link, when estimate and allocation work on each other.
@Suite struct SendingLoopTests {
    private static let sound = VirtualSending.Track(kind: .audio, layers: [32_000])

    private static func layered(_ count: Int) -> VirtualSending.Track {
        let layers = [[2_500_000], [500_000, 2_000_000], [150_000, 500_000, 1_850_000]][count - 1]
        return VirtualSending.Track(kind: .video, layers: layers)
    }

    @Test(arguments: [1, 2, 3])
    func `a free link is used within seconds, with any number of layers`(count: Int) {
        var sending = VirtualSending([Self.sound, Self.layered(count)])
        sending.run(.seconds(10))
        #expect(sending.targets == [[32_000], Self.layered(count).layers], "\(sending.estimator.bitrate)")
        #expect(sending.run(.seconds(5)) > 2_500_000)
        #expect(sending.longestQueue < .milliseconds(50))
    }

    @Test(arguments: [1, 2, 3], [400_000.0, 1_000_000, 1_600_000])
    func `a narrow link is filled, and not overrun again and again`(count: Int, capacity: Double) {
        var sending = VirtualSending([Self.sound, Self.layered(count)])
        sending.capacity = capacity
        sending.run(.seconds(15))
        let arrived = sending.run(.seconds(60))
        #expect(sending.longestQueue < .milliseconds(500), "\(sending.longestQueue)")
        // Larger layers are tried now and then.
        #expect(sending.longQueues <= 6, "\(sending.longQueues)")
        #expect(arrived > min(capacity * 0.4, 500_000), "\(arrived)")
    }

    @Test(arguments: [1, 2, 3])
    func `a link that was narrow is used when it is free again`(count: Int) {
        var sending = VirtualSending([Self.sound, Self.layered(count)])
        sending.capacity = 800_000
        sending.run(.seconds(10))
        sending.capacity = 20_000_000
        sending.run(.seconds(60))
        #expect(sending.targets == [[32_000], Self.layered(count).layers], "\(sending.estimator.bitrate)")
    }

    @Test func `a screen that stands still does not hold the camera down, and is served when it moves`() {
        let camera = VirtualSending.Track(kind: .video, layers: [3_686_000])
        let screen = VirtualSending.Track(kind: .video, layers: [8_294_000], uses: 5000)
        var sending = VirtualSending([Self.sound, camera, screen])
        sending.run(.seconds(10))
        #expect(sending.targets[1] == [3_686_000], "\(sending.targets)")
        sending.capacity = 4_000_000
        sending.run(.seconds(20))
        #expect(sending.targets[1][0] > 2_000_000, "\(sending.targets)")
        sending.tracks[2].uses = .max
        sending.run(.seconds(10))
        #expect(sending.targets[2][0] > 1_000_000, "\(sending.targets)")
        #expect(sending.targets[1][0] > 1_000_000, "\(sending.targets)")
    }

    @Test(arguments: [1, 3])
    func `a picture that is muted leaves its share to the others`(count: Int) {
        var muted = Self.layered(count)
        muted.uses = 2000
        var sending = VirtualSending([Self.sound, muted, Self.layered(1)])
        sending.capacity = 1_500_000
        sending.run(.seconds(20))
        #expect(sending.targets[2][0] > 800_000, "\(sending.targets)")
        #expect(sending.estimator.bitrate < 1_600_000, "what is not sent proves nothing")
    }

    @Test func `a queue while only sound is sent does not hold down the pictures after it`() {
        var sending = VirtualSending([Self.sound, Self.layered(3)])
        sending.tracks[1].uses = 0
        sending.run(.seconds(10))
        // Somebody else fills the link for a moment.
        sending.capacity = 20_000
        sending.run(.milliseconds(300))
        sending.capacity = 20_000_000
        sending.run(.seconds(5))
        #expect(sending.estimator.bitrate > 300_000)
        sending.tracks[1].uses = .max
        sending.run(.seconds(10))
        #expect(sending.targets == [[32_000], Self.layered(3).layers], "\(sending.estimator.bitrate)")
    }
}
