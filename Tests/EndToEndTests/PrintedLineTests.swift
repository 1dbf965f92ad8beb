import Foundation
import Testing

extension EndToEnd {
    /// The lines that `parlor sdp` prints for the codecs and profiles that docs/plain-srtp.md does not spell out.
    @Suite struct PrintedLineTests {
        @Test(arguments: [
            ["--codec", "vp9", "--codec", "opus"],
            ["--gst", "--codec", "vp9", "--codec", "opus", "--profile", "gcm256"],
            ["--gst", "--codec", "h264", "--codec", "opus", "--profile", "cm"],
        ])
        func mediaArrive(_ options: [String]) async throws {
            try await NodeProcess.run { node in
                let publishing = try await node.sdp("publish", "r", "cam", options)
                let publisher = try node.start(publishing.command, name: "publisher")
                let first = try FreePorts.row(of: 4)
                let playing = try await node.sdp(
                    "play", "r", "me", ["--port", "\(first)", "--record", "r.mkv"] + options)
                let player = try node.start(playing.command, name: "player")
                // Six seconds of sound: enough for a slow start of the player, two seconds to the next key frame, and some.
                var (sound, pictures, written) = (0, 0, 0)
                try await until(
                    "the player records",
                    standing:
                        "sent to it: \(sound) packets of sound, \(pictures) of pictures; recorded: \(written) bytes. "
                        + publisher.lastWords + player.lastWords
                ) {
                    let state = try await node.state(of: playing.target)
                    (sound, pictures) = (state?.packets("audio") ?? 0, state?.packets("video") ?? 0)
                    written = node.scratch.size("r.mkv")
                    return sound >= 300 && written > 20_000
                }
                player.interrupt()
                _ = try await player.exit()
                #expect(publisher.exitCode == nil, "\(publisher.lastWords)")
                let recording = try await Recording.decode("r.mkv", in: node.scratch)
                #expect(recording.pictures.count >= 20)
                #expect(recording.pictures.count { $0.contrast > 5 } >= 20)
                #expect(recording.share(of: 440) > 0.9)
            }
        }
    }
}
