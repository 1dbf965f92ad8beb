import Testing

extension EndToEnd {
    @Suite struct ManualTests {
        /// Those that the other suites run. A block that is marked but run by nobody would be a promise that nobody keeps.
        private static let tried = [
            "by-hand-publish", "by-hand-record", "ffmpeg-publish", "ffmpeg-publish-h264", "ffmpeg-record",
            "gst-publish",
            "gst-record",
        ]

        @Test func everyMarkedBlockIsRun() {
            #expect(Manual.blocks.keys.sorted() == Self.tried)
            #expect(Manual.blocks.values.allSatisfy { !$0.isEmpty })
        }
    }
}
