import MediaLoad
import Testing

@Suite struct SignallingOptionsTests {
    private func scenario(_ line: String) throws -> SignallingScenario {
        let words = line.split(separator: " ").map { String($0) }
        let options = try #require(try LoadOptions.parse(words))
        return try SignallingScenario(options: options, newSeed: 5)
    }

    private func complaint(_ line: String) -> String {
        let words = line.split(separator: " ").map { String($0) }
        do throws(LoadUsageError) {
            guard let options = try LoadOptions.parse(words) else { return "help" }
            if options["signalling"] == nil {
                _ = try LoadScenario(options: options)
            } else {
                _ = try SignallingScenario(options: options, newSeed: 5)
            }
            return "accepted"
        } catch { return error.description }
    }

    @Test func nothingIsTheUsualRun() throws {
        var wanted = SignallingScenario()
        wanted.seed = 5
        #expect(try scenario("--signalling") == wanted)
    }

    @Test func everyOptionIsRead() throws {
        let line =
            "--signalling --url https://node.example:7843/ --app a --key k --secret=s=1 --users 2000 --rooms 200"
            + " --room-prefix test --churn 2m --idle 25 --join-rate 500 --actions 1.5 --mix drop=30,leave=0 --offline 5s"
            + " --check 20 --seed 42 --pid 17 --json --quiet"
        let found = try scenario(line)
        #expect(found.url == "https://node.example:7843" && found.app == "a" && found.key == "k")
        #expect(found.secret == "s=1" && found.users == 2000 && found.rooms == 200 && found.roomPrefix == "test")
        #expect(found.churn == 120 && found.idle == 25 && found.idleRooms == 3 && found.joinRate == 500)
        #expect(found.actions == 1.5 && found.offline == 5 && found.check == 20)
        #expect(found.seed == 42 && found.processID == 17)
        #expect(found.mix[.drop] == 30 && found.mix[.leave] == 0)
        #expect(found.mix[.message] == SignallingMix.standard[.message])
    }

    @Test func usersFillTheRooms() throws {
        let found = try scenario("--signalling --users 25")
        #expect(found.rooms == 3)
        #expect((0..<3).map { found.users(inRoom: $0) } == [9, 8, 8])
        let idle = try scenario("--signalling --idle 25")
        #expect(idle.users == 0 && (0..<3).map { idle.idle(inRoom: $0) } == [9, 8, 8])
        #expect(try scenario("--signalling --idle 10 --users 7").users == 7)
    }

    @Test(arguments: [
        ("--signalling --churn 0", "--churn 0: a time from 1 to 1000000 seconds, like 90, 90s or 2m"),
        ("--signalling --churn 5d", "--churn 5d: a time from 1 to 1000000 seconds, like 90, 90s or 2m"),
        ("--signalling --churn s", "--churn s: a time from 1 to 1000000 seconds, like 90, 90s or 2m"),
        (
            "--signalling --churn 9223372036854775807h",
            "--churn 9223372036854775807h: a time from 1 to 1000000 seconds, like 90, 90s or 2m"
        ),
        ("--signalling --offline 30", "--offline 30: a time from 1 to 20 seconds, like 90, 90s or 2m"),
        ("--signalling --actions nan", "--actions nan: a number from 0.0 to 100.0"),
        ("--signalling --seed -1", "--seed -1: a whole number from 0 to 18446744073709551615"),
        ("--signalling --users 5 --rooms 6", "--rooms 6: more than users (5)"),
        ("--signalling --users 0", "--users 0: nobody would join; see also --idle"),
        ("--signalling --publishers 3", "--publishers does not go with --signalling"),
        ("--signalling --live", "--live does not go with --signalling"),
        ("--users 3", "--users goes with --signalling"),
        ("--churn 10s", "--churn goes with --signalling"),
        (
            "--signalling --mix fly=3",
            "--mix fly=3: ACTION=WEIGHT, with message, publish, unpublish, mute, subscribe, unsubscribe, qos, drop,"
                + " crash, leave, and a weight up to 10000"
        ),
        (
            "--signalling --mix message=0,publish=0,unpublish=0,mute=0,subscribe=0,unsubscribe=0,qos=0,drop=0,crash=0,leave=0",
            "--mix: every weight is 0"
        ),
    ])
    func badUsageIsOneClearLine(line: String, message: String) {
        #expect(complaint(line) == message)
    }
}
