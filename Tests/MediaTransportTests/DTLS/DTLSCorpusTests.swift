import Foundation
import MediaWire
import Testing

/// The fuzzer's corpus, inputs that once failed among them, through the same checks the fuzzer makes.
struct DTLSCorpusTests {
    @Test func corpus() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = tests.deletingLastPathComponent().appending(path: "Fuzz/DTLS/corpus")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        try #require(files.count >= 20)
        for file in files { DTLSExercise.run([UInt8](try Data(contentsOf: file))) }
    }

    /// Scripts at random: shorter than the fuzzer's, but in every run of the tests.
    @Test(arguments: 1...60 as ClosedRange<UInt64>) func scripts(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        DTLSExercise.run(random.bytes(Int.random(in: 1...120, using: &random)))
    }
}
