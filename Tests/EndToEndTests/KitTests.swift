import Foundation
import Testing

extension EndToEnd {
    /// The measuring tools themselves: that they say no.
    @Suite struct KitTests {
        @Test func onlyTheToneItselfIsHeard() {
            let silence = Recording(pictures: [], samples: Array(repeating: 0, count: 48_000))
            #expect(silence.hears(440).count == 20 && silence.share(of: 440) == 0)
            #expect(Recording(pictures: [], samples: []).share(of: 440) == 0)
            let tone = Recording(pictures: [], samples: Self.tone(440, peak: 4096))
            #expect(tone.share(of: 440) == 1)
            for hertz in [220, 400, 480, 880] { #expect(tone.share(of: hertz) == 0) }
            #expect(Recording(pictures: [], samples: Self.tone(440, peak: 100)).share(of: 440) == 0, "not audible")
            let both = zip(Self.tone(440, peak: 4096), Self.tone(880, peak: 4096)).map { $0 + $1 }
            #expect(Recording(pictures: [], samples: both).share(of: 440) == 0, "another tone beside it")
            let noise = (0..<48_000).map { _ in Int16.random(in: -4096...4096) }
            #expect(Recording(pictures: [], samples: noise).share(of: 440) == 0)
        }

        @Test func blackAndForeignPicturesAreTold() async throws {
            let scratch = try Scratch()
            let black = try await Recording.reference("color=black:size=320x180", in: scratch)
            #expect(black.contrast < 1 && black.meanLuma < 20)
            let picture = try await Recording.reference(FFmpegTests.picture, in: scratch)
            #expect(picture.contrast > 20 && picture.meanLuma > 40)
            #expect(picture.likeness(picture) > 0.999 && abs(picture.likeness(black)) < 0.2)
            let other = try await Recording.reference("smptebars=size=320x180", in: scratch)
            #expect(abs(picture.likeness(other)) < 0.5)
            let red = try await Recording.reference("testsrc2=size=320x180" + Programme.red.tint, in: scratch)
            let blue = try await Recording.reference("testsrc2=size=320x180" + Programme.blue.tint, in: scratch)
            #expect(red.isRed && !red.isBlue && blue.isBlue && !blue.isRed && !picture.isRed && !picture.isBlue)
        }

        /// A child of a child goes with it, and so does what is left when the test run itself is gone.
        @Test func nothingIsLeftBehind() async throws {
            let scratch = try Scratch()
            let script = "sleep 600 & echo $!; wait"
            let child = try RunningProcess(["sh", "-c", script], in: scratch)
            let grandchild = try await Self.printedNumber(child)
            child.kill()
            #expect(child.exitCode == 128 + SIGKILL)
            try await until("the grandchild is gone") { !Self.isRunning(grandchild) }

            let orphan = try RunningProcess(["sh", "-c", script], in: scratch)
            let last = try await Self.printedNumber(orphan)
            do {
                let reaper = Reaper()
                reaper.add(orphan.pid)
                reaper.end()
            }
            #expect(try await orphan.exit() == 128 + SIGKILL)
            try await until("the grandchild is gone") { !Self.isRunning(last) }
        }

        @Test func exitCodesAndOutput() async throws {
            let scratch = try Scratch()
            let ended = try await RunningProcess.run(["sh", "-c", "echo out; echo err >&2; pwd; exit 7"], in: scratch)
            #expect(ended.code == 7 && ended.error == "err\n")
            #expect(ended.output.hasPrefix("out\n") && ended.output.hasSuffix(scratch.path + "\n"))
            await #expect(throws: TimedOut.self) {
                let sleeper = try RunningProcess(["sleep", "600"], in: scratch)
                _ = try await sleeper.exit(within: .milliseconds(50))
            }
        }

        @Test func blocksOfAPage() {
            let page = "text\n```sh test=a-b\nfirst \\\n  line\n```\n```sh\nnot this\n```\n```sh test=c\nx\n```\n"
            #expect(Manual.parse(page) == ["a-b": "first \\\n  line\n", "c": "x\n"])
        }

        private static func tone(_ hertz: Int, peak: Double) -> [Int16] {
            (0..<48_000).map { Int16(peak * sin(2 * .pi * Double(hertz) * Double($0) / 48_000)) }
        }

        private static func printedNumber(_ process: RunningProcess) async throws -> pid_t {
            try await until("the number is printed") { process.output.hasSuffix("\n") }
            return try #require(pid_t(process.output.trimmingCharacters(in: .newlines)))
        }

        private static func isRunning(_ pid: pid_t) -> Bool {
            // One that has ended may wait for its parent to take notice.
            let state = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
            guard let end = state.range(of: ") ", options: .backwards) else { return false }
            return !state[end.upperBound...].hasPrefix("Z")
        }
    }
}
