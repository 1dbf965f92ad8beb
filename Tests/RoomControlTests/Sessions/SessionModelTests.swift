import MediaWire
import RoomControl
import RoomProtocol
import Testing

/// What all runs share.
struct SessionModelKit {
    let profile: ClientMediaProfile
    let tracks: [PublishedTrack]
    let offer: PublishOffer
    /// Payload types that the profile does not have.
    let wrongOffer: PublishOffer

    init() throws {
        profile = try ClientCapabilities.capabilities(of: SampleOffers.capabilities, videoCodec: .vp8)
        tracks = SampleOffers.mids.map { SampleOffers.track($0) }
        offer = try PublishOfferReader.read(sdp: SampleOffers.publish, tracks: tracks)
        wrongOffer = try PublishOfferReader.read(sdp: SampleOffers.publishUnderOtherNumbers, tracks: tracks)
    }
}

/// Drives a `RoomState` with random steps of signalling against a naive model, and compares after each: who is there, what
/// every client sees, every message, every answer's code, every connection's end, and when something is due next.
@Suite struct SessionModelTests {
    /// In release mode it is 3 million steps.
    static let steps = 250_000

    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    func `random sessions go as the model`(seed: UInt64) throws {
        var settings = AppSettings()
        settings.maxUsers = seed % 3 == 0 ? 4 : 0
        settings.noAutoKickUser = seed % 4 == 1
        settings.noAutoCloseRoom = seed % 8 == 5
        settings.userTimeout =
            [.seconds(30), .seconds(30), .seconds(5), .milliseconds(9000), .seconds(12)][
                Int(seed % 5)]
        settings.autoCloseTtl = seed % 6 == 4 ? .milliseconds(500) : .seconds(10)
        settings.legLease = .seconds(40)
        var limits = RoomLimits()
        limits.tracksPerUser = 5
        limits.messagesPerSecond = seed % 2 == 0 ? 1 : 50
        // The model does not count changes; SignallingInputTests does.
        limits.changesPerSecond = 1_000_000
        limits.subscriptionsPerSecond = 1_000_000
        limits.messageBytes = 64
        limits.tagBytes = 32
        if seed % 7 == 2 { (limits.usersPerRoom, limits.tracksPerRequest) = (3, 3) }
        var run = SessionModelRun(
            seed: seed, settings: settings, limits: limits, origin: seed % 5 == 3 ? .server : .firstJoin,
            kit: try SessionModelKit())
        for step in 0..<Self.steps {
            run.step()
            if let difference = run.difference() {
                Issue.record("seed \(seed), step \(step), \(run.lastAction) at \(run.now) ns: \(difference)")
                return
            }
        }
        let figures = run.figures
        // The steps did reach what they are about.
        #expect(figures.joins > 1000 && figures.resumes > 500 && figures.replayed > 50, "seed \(seed): \(figures)")
        #expect(figures.rooms > 50, "seed \(seed): \(figures)")
        for code in [ResultCode.noPermission, .userNotExist, .publishNotExist, .publishConnectionGone] {
            #expect((figures.refusals[code] ?? 0) > 50, "seed \(seed): \(figures)")
        }
        #expect(figures.actions.values.allSatisfy { $0 > 300 }, "seed \(seed): \(figures)")
    }
}
