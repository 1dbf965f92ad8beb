import Foundation
import MediaCodecs
import MediaWire
import Testing

@Suite struct DepacketizerFuzzTests {
    private static var corpus: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fuzz/Depacketizers/corpus")
    }

    @Test func everyCorpusFileKeepsThePromises() throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.corpus, includingPropertiesForKeys: nil)
        #expect(files.count >= 6)
        var frames = 0
        for file in files {
            var replay = DepacketizerReplay()
            #expect(replay.run([UInt8](try Data(contentsOf: file))) == nil, "\(file.lastPathComponent)")
            frames += replay.frames
        }
        // The corpus does reach complete frames.
        #expect(frames >= 6)
    }

    /// The corpus with bytes changed, cut and joined.
    @Test(arguments: 0..<20)
    func mutatedFilesKeepThePromises(round: Int) throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.corpus, includingPropertiesForKeys: nil)
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .map { [UInt8](try Data(contentsOf: $0)) }
        var generator = SeededRandom(seed: UInt64(round))
        for _ in 0..<500 {
            var bytes = files.randomElement(using: &generator) ?? []
            bytes += files.randomElement(using: &generator) ?? []
            for _ in 0..<Int.random(in: 0...8, using: &generator) {
                bytes[.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            bytes = bytes.suffix(.random(in: 1...bytes.count, using: &generator))
            var replay = DepacketizerReplay()
            #expect(replay.run(bytes) == nil, "round \(round): \(bytes)")
        }
    }
}
