import Foundation
import RoomControl
import Testing

/// Bodies without a node: the fuzzer's corpus, and random ones made of right and wrong pieces.
@Suite struct RequestBodyTests {
    @Test func corpus() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fuzz/RequestBody/corpus")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        try #require(files.count >= 20)
        for file in files {
            #expect(RequestBodyExercise.run([UInt8](try Data(contentsOf: file))) == nil, "\(file.lastPathComponent)")
        }
    }

    @Test func nonsenseNeverTraps() {
        let seed: UInt64 = 20_261_130
        var random = RandomSource.seeded(seed)
        let pieces = [
            "{", "}", "[", "]", ":", ",", "\"", "\\", "\"title\"", "\"maxUsers\"", "\"mergePublishRtmp\"", "null",
            "true",
            "1", "-", "1e999", "\"x\"", "\n", "&", "=", "%", "%4", "%ff", "+", "title=", "maxUsers=3", "é", "\u{0}",
            "application/json\n", "application/x-www-form-urlencoded\n", "noAutoKickUser=True", "videoCodec=VP9",
        ]
        for _ in 0..<20_000 {
            var text = ""
            for _ in 0..<(random.next() % 12) { text += pieces[Int(random.next() % UInt64(pieces.count))] }
            #expect(RequestBodyExercise.run(Array(text.utf8)) == nil, "seed \(seed): \(text)")
        }
    }
}
