import Foundation
import MediaWire
import Testing

/// RFC 4571, section 2.
struct StreamFrameReaderTests {
    private func frame(_ datagram: [UInt8]) -> [UInt8] {
        [UInt8(datagram.count >> 8), UInt8(datagram.count & 0xFF)] + datagram
    }

    private func steps(_ stream: [UInt8]) -> [StreamFrameReader.Step] {
        var reader = StreamFrameReader()
        var steps: [StreamFrameReader.Step] = []
        while true {
            steps.append(reader.next(stream.span.bytes))
            guard case .frame = steps.last else { return steps }
        }
    }

    @Test func framesInOneBuffer() {
        #expect(steps([]) == [.incomplete])
        #expect(steps([0]) == [.incomplete])
        #expect(steps(frame([7])) == [.frame(offset: 2, length: 1), .incomplete])
        #expect(
            steps(frame([1, 2]) + frame([3]) + [0]) == [
                .frame(offset: 2, length: 2), .frame(offset: 6, length: 1), .incomplete,
            ])
        #expect(steps([0, 3, 1, 2]) == [.incomplete])
    }

    @Test func nullPacketsSayNothing() {
        #expect(steps([0, 0]) == [.incomplete])
        #expect(steps([0, 0, 0, 0, 0, 1, 9, 0, 0]) == [.frame(offset: 6, length: 1), .incomplete])
    }

    @Test func theLimitIsAnEthernetPacket() {
        let most = frame([UInt8](repeating: 1, count: 1500))
        #expect(steps(most) == [.frame(offset: 2, length: 1500), .incomplete])
        // Known from the two bytes alone: nothing is kept of it.
        #expect(steps([0x05, 0xDD]) == [.tooLong(1501)])
        #expect(steps(frame([1]) + [0xFF, 0xFF]) == [.frame(offset: 2, length: 1), .tooLong(65_535)])
        // A client of another protocol: "GET ".
        #expect(steps(Array("GET ".utf8)) == [.tooLong(0x4745)])
    }

    /// Two frames, a null packet and the beginning of a third, split at every byte.
    @Test func splitAnywhere() {
        let stream = frame(Array(1...20)) + frame([]) + frame([UInt8](repeating: 7, count: 300)) + [0x01, 0x00, 5]
        let expected = StreamFramesExercise.reference(stream, 1500)
        #expect(expected.frames.map(\.count) == [20, 300])
        for cut in 0...stream.count {
            #expect(StreamFramesExercise.feed(stream, 1500, sizes: [cut, stream.count]) == expected)
        }
    }

    @Test func corpus() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = tests.appending(path: "Fuzz/StreamFrames/corpus")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count >= 8)
        for file in files {
            let bytes = [UInt8](try Data(contentsOf: file))
            for length in 0...bytes.count {
                let prefix = Array(bytes[..<length])
                StreamFramesExercise.run(prefix.span.bytes)
            }
        }
    }
}
