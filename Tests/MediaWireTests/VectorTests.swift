import Foundation
import MediaWire
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

    @Test func answers() throws {
        let folder = TestFiles.fuzz.appending(path: "Answer/corpus")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        var read = 0
        for file in files {
            let bytes = [UInt8](try Data(contentsOf: file))
            #expect(AnswerExercise.run(bytes) == nil, "\(file.lastPathComponent)")
            let text = String(decoding: bytes.dropFirst(), as: UTF8.self)
            if let form = bytes.first, (try? PlainAnswerReader.read(text, for: AnswerExercise.offer(form))) != nil {
                read += 1
            }
        }
        // The corpus does reach answers that are read.
        #expect(read >= 5)
    }

    @Test func bundlesThatAreNoneAreRefused() {
        let key = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:\(String(repeating: "A", count: 40))"
        func refusal(_ form: UInt8, port: Int) -> String? {
            let text = [
                "v=0", "o=- 1 1 IN IP4 192.0.2.1", "s=-", "c=IN IP4 192.0.2.1", "t=0 0", "a=group:BUNDLE 0 1",
                "m=audio \(port) RTP/SAVPF 111", "a=mid:0", "a=rtcp-mux", key, "a=rtpmap:111 opus/48000/2",
                "m=video 8002 RTP/SAVPF 98", "a=mid:1", "a=rtcp-mux", key, "a=rtpmap:98 VP9/90000",
            ].joined(separator: "\n")
            do throws(SDPError) {
                _ = try PlainAnswerReader.read(text, for: AnswerExercise.offer(form))
                return nil
            } catch { return error.reason }
        }
        #expect(refusal(6, port: 8000) == nil)
        #expect(refusal(6, port: 0) == "the m-line whose port the bundle uses has none")
        #expect(refusal(2, port: 8000) == "the answer bundles m-lines, and the offer does not")
    }
}

/// Where the files lie that tests share with other tools.
private enum TestFiles {
    static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    static let vectors = tests.appending(path: "Vectors")
    static let fuzz = tests.appending(path: "Fuzz")
}
