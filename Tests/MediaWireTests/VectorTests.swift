import Foundation
import Testing

/// The files in Tests/Vectors: bytes, and by hand what the parsers must make of them.
struct VectorTests {
    @Test(arguments: ["rtp", "rtcp", "payload"]) func vectors(file: String) throws {
        let text = try String(contentsOf: TestFiles.vectors.appending(path: file + ".txt"), encoding: .utf8)
        var count = 0
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            let fields = line.split(separator: ";", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            try #require(fields.count == (file == "payload" ? 4 : 3), "line \(number + 1) of \(file)")
            let bytes = wireBytes(fields[fields.count - 2])
            let found =
                switch file {
                case "rtp": WireDump.rtp(bytes)
                case "rtcp": WireDump.rtcp(bytes)
                default: WireDump.payload(codec: fields[1], bytes)
                }
            #expect(found == fields[fields.count - 1], "line \(number + 1) of \(file): \(fields[0])")
            count += 1
        }
        #expect(count > 30)
    }

    /// Every prefix of every vector through its parser: whatever comes out, nothing traps.
    @Test(arguments: ["rtp", "rtcp", "payload"]) func prefixes(file: String) throws {
        let text = try String(contentsOf: TestFiles.vectors.appending(path: file + ".txt"), encoding: .utf8)
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let fields = line.split(separator: ";", omittingEmptySubsequences: false)
            let bytes = wireBytes(fields[fields.count - 2])
            for length in 0...bytes.count {
                let prefix = Array(bytes[..<length])
                RTPExercise.run(prefix.span.bytes)
                RTCPExercise.run(prefix.span.bytes)
                PayloadExercise.run(prefix.span.bytes)
            }
        }
    }

    /// The fuzzers' corpora, inputs that once failed among them, through the same checks the fuzzers make.
    @Test(arguments: ["RTP", "RTCP", "Payload"]) func corpora(target: String) throws {
        let folder = TestFiles.fuzz.appending(path: "\(target)/corpus")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        try #require(files.count >= 10)
        for file in files {
            let bytes = [UInt8](try Data(contentsOf: file))
            switch target {
            case "RTP": RTPExercise.run(bytes.span.bytes)
            case "RTCP": RTCPExercise.run(bytes.span.bytes)
            default: PayloadExercise.run(bytes.span.bytes)
            }
        }
    }
}

/// Where the files lie that tests share with other tools.
private enum TestFiles {
    static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    static let vectors = tests.appending(path: "Vectors")
    static let fuzz = tests.appending(path: "Fuzz")
}
