import MediaCodecs
import MediaLoad
import MediaWire
import Testing

@Suite struct LoadOptionsTests {
    private func scenario(_ line: String) throws -> LoadScenario {
        let words = line.split(separator: " ").map { String($0) }
        let options = try #require(try LoadOptions.parse(words))
        return try LoadScenario(options: options)
    }

    private func complaint(_ line: String) -> String {
        let words = line.split(separator: " ").map { String($0) }
        do throws(LoadUsageError) {
            guard let options = try LoadOptions.parse(words) else { return "help" }
            _ = try LoadScenario(options: options)
            return "accepted"
        } catch { return error.description }
    }

    @Test func nothingIsTheSmallestRun() throws {
        #expect(try scenario("") == LoadScenario())
    }

    @Test func everyOptionIsRead() throws {
        var wanted = LoadScenario()
        wanted.url = "https://node.example:7843"
        wanted.app = "a"
        wanted.key = "k"
        wanted.secret = "s=1"
        wanted.rooms = 2
        wanted.publishers = 3
        wanted.subscribers = 40
        wanted.roomPrefix = "test"
        wanted.duration = 20
        wanted.ramp = 50
        wanted.lateAfter = 70_000
        wanted.codec = .vp9
        wanted.profile = .aesCM128HmacSHA1_80
        wanted.framesPerSecond = 30
        wanted.width = 640
        wanted.height = 360
        wanted.bitrate = 900
        wanted.packetsPerSecond = 20_000
        wanted.payloadSize = 40
        wanted.share = false
        wanted.decode = 5
        wanted.threads = 2
        wanted.way = .plain
        let line =
            "--url https://node.example:7843/ --app a --key k --secret=s=1 --rooms 2 --publishers=3 --subscribers 40"
            + " --room-prefix test --duration 20 --ramp 50 --late-after 70000 --codec VP9 --profile cm --fps 30"
            + " --size 640x360 --bitrate 900 --packets-per-second 20000 --payload 40 --share no --decode 5 --threads 2"
            + " --via plain --json --quiet"
        #expect(try scenario(line) == wanted)
        #expect(try scenario("--live --audio-only").isLive)
        #expect(try scenario("--live --audio-only").kinds == [.audio])
        #expect(try scenario("").way == .webRTC)
        let joins = try scenario("--publishers 2 --joins 50")
        #expect(joins.joins == 50 && joins.subscribers == 0 && joins.publishers == 2)
        let storm = try scenario("--rooms 4 --storm 100 --duration 5")
        #expect(storm.storm == 100 && storm.kinds == [.audio] && storm.packetsPerSecond == 50 && storm.duration == 5)
        #expect(try scenario("--storm 2.5 --packets-per-second 100").packetsPerSecond == 100)
    }

    @Test(arguments: [
        ("--rooms 0", "--rooms 0: a number from 1 to 10000"),
        ("--rooms x", "--rooms x: a number from 1 to 10000"),
        ("--rooms", "--rooms needs a value: --rooms N"),
        ("--rooms --json", "--rooms needs a value: --rooms N"),
        ("--rooms 1 --rooms 2", "--rooms is given twice"),
        ("--roms 2", "no option --roms; did you mean --rooms?"),
        ("--zzzzzzzzzz", "no option --zzzzzzzzzz; see --help"),
        ("-rooms 2", "no option -rooms; did you mean --rooms?"),
        ("two", "parlor-load does not take \"two\" (see --help)"),
        ("--json=yes", "--json takes no value"),
        ("--codec h264", "--codec h264: one of vp8, vp9"),
        ("--profile aes", "--profile aes: one of gcm128, gcm256, cm"),
        ("--size 100x100", "--size 100x100: WIDTHxHEIGHT, from 160x120 to 4096x4096"),
        ("--size 640", "--size 640: WIDTHxHEIGHT, from 160x120 to 4096x4096"),
        ("--room-prefix a/b", "--room-prefix \"a/b\": letters, digits, - and _, at most 48"),
        ("--url ftp://x", "--url ftp://x: a URL begins with http:// or https://"),
        ("--payload 40", "--payload goes with --packets-per-second"),
        ("--packets-per-second 5 --payload 3", "--payload 3: a number from 16 to 1150"),
        ("--live --duration 3", "--live runs until Ctrl-C; leave --duration out"),
        ("--publishers 40", "a subscriber receives at most 64 streams: fewer --publishers, or --audio-only"),
        ("--via tcp", "--via tcp: one of webrtc, plain"),
        ("--via plain --joins 5", "--joins goes with --via webrtc"),
        ("--joins 5 --subscribers 2", "--joins says who subscribes, and how long; leave --subscribers out"),
        ("--storm 0", "--storm 0: a number from 1.0 to 10000.0"),
        ("--storm 10 --via plain", "--storm goes with --via webrtc"),
        ("--storm 10 --live", "--storm measures small packets for --duration; leave --live out"),
        ("--storm 10 --size 640x360", "--storm measures small packets for --duration; leave --size out"),
        ("--storm 10 --subscribers 0", "--storm measures what subscribers get: --subscribers 1 or more"),
        ("--rooms 2 --help", "help"),
        ("-h", "help"),
    ])
    func badUsageIsOneClearLine(line: String, message: String) {
        #expect(complaint(line) == message)
    }

    @Test func helpListsEveryOption() {
        for name in ["url", "secret", "rooms", "late-after", "packets-per-second", "share", "decode", "json"] {
            #expect(LoadOptions.help.contains("  --\(name)"))
        }
        #expect(LoadOptions.help.split(separator: "\n").allSatisfy { $0.count <= 120 })
    }

    @Test func sharedEncodersStayApartInARoomAndBetweenNeighbours() throws {
        let scenario = try scenario("--rooms 50 --publishers 3")
        #expect(scenario.sharesEncoders)
        #expect(scenario.sourceCount == 4)
        for room in 0..<50 {
            let sources = (0..<3).map { scenario.source(room: room, publisher: $0) }
            #expect(Set(sources).count == 3)
            for publisher in 0..<3 where room > 0 {
                #expect(scenario.source(room: room - 1, publisher: publisher) != sources[publisher])
            }
        }
        let alone = try self.scenario("--rooms 2 --publishers 2")
        #expect(!alone.sharesEncoders)
        #expect(
            Set((0..<2).flatMap { room in (0..<2).map { alone.source(room: room, publisher: $0) } }) == [0, 1, 2, 3])
    }

    /// Computed with OpenSSL's command line from the same names.
    @Test func tokensAreSignedAsTheServiceWantsThem() {
        let signer = LoadToken(app: "demo", key: "devkey", secret: "devsecret")
        #expect(
            signer.text(room: "load-1", user: "pub-1", expiresAt: 1_700_000_000)
                == "devkey:AL23qpPx6lFAZg7BwDvnDPfXp8E=:eyJhcHBJZCI6ImRlbW8iLCJyb29tTmFtZSI6ImxvYWQtMSIsInVzZXJJZCI6InB1"
                + "Yi0xIiwiZXhwaXJlQXQiOjE3MDAwMDAwMDAsInBlcm1pc3Npb24iOiJ1c2VyIn0=")
    }
}
