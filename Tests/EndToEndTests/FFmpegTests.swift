import Foundation
import Testing

extension EndToEnd {
    /// FFmpeg at both ends, with the lines of docs/plain-srtp.md, and AES-CM.
    @Suite struct FFmpegTests {
        /// The test picture that `parlor sdp publish` has FFmpeg send.
        static let picture = "testsrc2=size=640x360:rate=30"

        @Test func pictureAndToneArriveAsSent() async throws {
            try await NodeProcess.run { node in
                let port = try FreePorts.row(of: 4)
                let publisher = try node.shell(Manual.block("ffmpeg-publish"), name: "publisher")
                let player = try node.shell(
                    Manual.block("ffmpeg-record", replacing: [("--port 5004", "--port \(port)")]), name: "player")
                try await player.frames(75)
                player.interrupt()
                _ = try await player.exit()
                #expect(publisher.exitCode == nil, "\(publisher.lastWords)")

                let recording = try await Recording.decode("room.mkv", in: node.scratch)
                // Two and a half seconds of 30 pictures and 20 windows of sound each; the start of a stream may be lost.
                #expect(recording.pictures.count >= 60)
                #expect(recording.hears(440).count >= 40)
                #expect(recording.share(of: 440) > 0.9)
                #expect(recording.share(of: 880) == 0)
                let reference = try await Recording.reference(Self.picture, in: node.scratch)
                #expect(recording.pictures.allSatisfy { $0.contrast > 20 && $0.meanLuma > 40 })
                #expect(recording.pictures.allSatisfy { $0.likeness(reference) > 0.7 })
                #expect(Set(recording.pictures.map(\.luma)).count > recording.pictures.count / 2, "the picture moves")

                // What parlor sdp printed beside the line ends both legs.
                for (process, user) in [(player, "viewer"), (publisher, "cam")] {
                    let line = try #require(
                        process.error.components(separatedBy: "#   ").first { $0.hasPrefix("curl") })
                    let command = String(line.prefix { $0 != "\n" })
                    #expect(try await node.users(in: "demo").contains(user))
                    #expect(try await node.start(["sh", "-c", command + " -sS --fail"]).exit() == 0)
                    #expect(try await !node.users(in: "demo").contains(user))
                }
            }
        }

        @Test func h264ArrivesAsSent() async throws {
            try await NodeProcess.run { node in
                let port = try FreePorts.row(of: 4)
                let publisher = try node.shell(Manual.block("ffmpeg-publish-h264"), name: "publisher")
                let player = try node.shell(
                    Manual.block("ffmpeg-record", replacing: [("--port 5004", "--port \(port)")]), name: "player")
                try await player.frames(60)
                player.interrupt()
                _ = try await player.exit()
                #expect(publisher.exitCode == nil, "\(publisher.lastWords)")

                let recording = try await Recording.decode("room.mkv", in: node.scratch)
                #expect(recording.pictures.count >= 45)
                #expect(recording.share(of: 440) > 0.9)
                let reference = try await Recording.reference(Self.picture, in: node.scratch)
                // x264 at its fastest may begin with a grey frame or two when the player comes in the middle.
                let good = recording.pictures.count { $0.likeness(reference) > 0.7 }
                #expect(Double(good) > 0.9 * Double(recording.pictures.count))
                let probe = try await RunningProcess.run(
                    ["ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", "room.mkv"],
                    in: node.scratch)
                #expect(probe.output.split(separator: "\n").sorted() == ["h264", "opus"])
            }
        }

        /// The requests made by hand, as the page shows them: nothing of `parlor sdp` is in between.
        @Test func requestsByHand() async throws {
            try await NodeProcess.run { node in
                let port = try FreePorts.row(of: 4)
                let place = ("http://127.0.0.1:7880", node.url)
                let publisher = try node.shell(
                    Manual.block("by-hand-publish", replacing: [place]), name: "publisher")
                let player = try node.shell(
                    Manual.block(
                        "by-hand-record", replacing: [place, ("5004", "\(port)"), ("5006", "\(port + 2)")]),
                    name: "player")
                try await player.frames(30)
                player.interrupt()
                _ = try await player.exit()
                #expect(publisher.exitCode == nil, "\(publisher.lastWords)")
                let recording = try await Recording.decode("by-hand.mkv", in: node.scratch)
                #expect(recording.pictures.count >= 20)
                #expect(recording.pictures.allSatisfy { $0.contrast > 20 })
                #expect(recording.share(of: 440) > 0.9)
            }
        }
    }
}

extension RunningProcess {
    /// Waits until FFmpeg has taken in so many pictures, by its own progress line.
    func frames(_ count: Int) async throws {
        try await until("\(name) has \(count) pictures", standing: lastWords) {
            guard exitCode == nil else { throw TimedOut(description: "it ended: \(lastWords)") }
            return framesSoFar >= count
        }
    }

    var framesSoFar: Int {
        let text = error
        guard let last = text.range(of: "frame=", options: .backwards) else { return 0 }
        return Int(text[last.upperBound...].drop { $0 == " " }.prefix { $0.isNumber }) ?? 0
    }
}
