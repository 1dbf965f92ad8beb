import Foundation
import Testing

/// The fuzzer's corpus, inputs that once failed among them, through the same checks the fuzzer makes.
@Suite struct CorpusTests {
    @Test func configurations() throws {
        let files = try Self.corpus("Configuration")
        for file in files {
            #expect(ConfigurationExercise.run(file) == nil, "\(String(decoding: file, as: UTF8.self))")
        }
        // The corpus does reach configurations that pass.
        #expect(files.count { (try? ConfigurationExercise.load(ConfigurationExercise.input($0))) != nil } >= 4)
    }

    private static func corpus(_ target: String) throws -> [[UInt8]] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fuzz/\(target)/corpus")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).map {
            [UInt8](try Data(contentsOf: $0))
        }
    }
}
