import Testing

extension EndToEnd {
    @Suite struct ManualTests {
        /// Those that the other suites run. A block that is marked but run by nobody would be a promise that nobody keeps.
        private static let tried = [
            "by-hand-gst", "by-hand-publish", "by-hand-record", "ffmpeg-publish", "ffmpeg-publish-h264",
            "ffmpeg-record",
            "ffmpeg-record-h264", "gst-publish", "gst-record",
        ]

        @Test func everyBlockIsMarked() {
            #expect(!Manual.page.isEmpty)
            #expect(Manual.untried(Manual.page).isEmpty, "a block of docs/plain-srtp.md that no test runs")
        }

        @Test func unmarkedBlocksAreFound() {
            let page =
                "text\n```sh test=a\n    set in\n```\n```sh\nx\n```\n\n    y\n  ```\nz\n  ```\n```bash test=b\n```\n"
            #expect(Manual.untried(page) == ["5: ```sh", "9:     y", "10:   ```", "13: ```bash test=b"])
            #expect(Manual.untried("a\n```sh test=a\nx\n```\n- point\n  goes on\n").isEmpty)
        }

        @Test func everyMarkedBlockIsRun() {
            #expect(Manual.blocks.keys.sorted() == Self.tried)
            #expect(Manual.blocks.values.allSatisfy { !$0.isEmpty })
        }
    }
}
