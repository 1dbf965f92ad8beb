import CSRTPFuzz
import Foundation
import Testing

/// The fuzzer's corpus and regressions. A disagreement with libsrtp2 ends the process with a line that says so.
@Suite struct SRTPCorpusTests {
    @Test func everyInputAgrees() throws {
        let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Fuzz/SRTP/corpus")
        let files = try FileManager.default.contentsOfDirectory(at: corpus, includingPropertiesForKeys: nil)
        #expect(files.count >= 10)
        for file in files {
            let bytes = [UInt8](try Data(contentsOf: file))
            #expect(parlor_srtp_fuzz(bytes, bytes.count) == 0)
        }
    }
}
