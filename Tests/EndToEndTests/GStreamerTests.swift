import Foundation
import Testing

extension EndToEnd {
    /// GStreamer's own SRTP with AES-GCM, which FFmpeg does not have, with the lines of docs/plain-srtp.md.
    @Suite struct GStreamerTests {
        /// One player opens what the publisher's profile sealed, the other gets the same media sealed anew under AES-CM.
        @Test func gcmArrivesAtBothKindsOfPlayer() async throws {
            try await NodeProcess.run { node in
                let port = try FreePorts.row(of: 8)
                let publisher = try node.shell(Manual.block("gst-publish"), name: "publisher")
                let player = try node.shell(
                    Manual.block("gst-record", replacing: [("--port 5004", "--port \(port)")]), name: "player")
                let leg = try await player.printedLeg()
                let other = try node.shell(
                    Manual.block("ffmpeg-record", replacing: [("--port 5004", "--port \(port + 4)")]), name: "other")
                try await other.frames(75)
                // Six seconds of sound: enough for a slow start, two seconds to the next key frame, and some.
                try await until("the pipeline records", standing: player.lastWords) {
                    let packets = try await node.state(of: leg)?.packets("audio") ?? 0
                    return packets >= 300 && node.scratch.size("gst.mkv") > 30_000
                }
                for (process, words) in [(player, "EOS received"), (other, "Exiting normally")] {
                    process.interrupt()
                    _ = try await process.exit()
                    #expect(process.lastWords.contains(words))
                }
                #expect(publisher.exitCode == nil, "\(publisher.lastWords)")

                for file in ["gst.mkv", "room.mkv"] {
                    let recording = try await Recording.decode(file, in: node.scratch)
                    #expect(recording.pictures.count >= 60, "\(file)")
                    #expect(recording.share(of: 440) > 0.9, "\(file)")
                    // A white ball on black.
                    #expect(recording.pictures.allSatisfy { ($0.luma.max() ?? 0) > 120 }, "\(file)")
                    #expect(Set(recording.pictures.map(\.luma)).count > recording.pictures.count / 2, "the ball moves")
                }
            }
        }

        /// The request and the pipeline made by hand, as the page shows them; a picture without sound.
        @Test func requestByHand() async throws {
            try await NodeProcess.run { node in
                let port = try FreePorts.row(of: 4)
                let publisher = try node.shell(
                    Manual.block("by-hand-gst", replacing: [("http://127.0.0.1:7880", node.url)]), name: "publisher")
                let player = try node.shell(
                    Manual.block(
                        "ffmpeg-record",
                        replacing: [("--port 5004", "--port \(port)"), ("--user viewer", "--user viewer --codec vp8")]),
                    name: "player")
                try await player.frames(75)
                player.interrupt()
                _ = try await player.exit()
                #expect(publisher.exitCode == nil, "\(publisher.lastWords)")
                let recording = try await Recording.decode("room.mkv", hasSound: false, in: node.scratch)
                #expect(recording.pictures.count >= 60, "\(player.lastWords)")
                #expect(recording.pictures.allSatisfy { ($0.luma.max() ?? 0) > 120 })
                #expect(Set(recording.pictures.map(\.luma)).count > recording.pictures.count / 2, "the ball moves")
            }
        }
    }
}

extension RunningProcess {
    /// The path of the leg that `parlor sdp` named on standard error.
    func printedLeg() async throws -> String {
        var path: String?
        try await until("\(name) names its leg", standing: lastWords) {
            guard exitCode == nil else { throw TimedOut(description: "it ended: \(lastWords)") }
            guard let curl = error.range(of: "curl -X DELETE"),
                let at = error.range(of: "http://", range: curl.upperBound..<error.endIndex)
            else { return false }
            path = URL(string: String(error[at.lowerBound...].prefix { !$0.isWhitespace }))?.path
            return path != nil
        }
        return path ?? ""
    }
}
