import Foundation
import Testing

/// A recorded file, decoded: small pictures and mono sound.
struct Recording {
    struct Picture {
        static let (width, height) = (64, 36)
        var luma: [UInt8]
        var cb: [UInt8]
        var cr: [UInt8]

        var meanLuma: Double { Self.mean(luma) }
        var meanCb: Double { Self.mean(cb) }
        var meanCr: Double { Self.mean(cr) }
        /// Standard deviation of the luma: 0 in a picture of one colour.
        var contrast: Double {
            let mean = meanLuma
            return (luma.reduce(0) { $0 + (Double($1) - mean) * (Double($1) - mean) } / Double(luma.count)).squareRoot()
        }

        /// How alike two pictures are, 1 being the same but for brightness and contrast (Pearson's coefficient).
        func likeness(_ other: Picture) -> Double {
            let (a, b) = (meanLuma, other.meanLuma)
            let product = zip(luma, other.luma).reduce(0) { $0 + (Double($1.0) - a) * (Double($1.1) - b) }
            let scale = contrast * other.contrast * Double(luma.count)
            return scale > 0 ? product / scale : 0
        }

        private static func mean(_ plane: [UInt8]) -> Double {
            Double(plane.reduce(0) { $0 + Int($1) }) / Double(plane.count)
        }
    }

    static let sampleRate = 48_000

    var pictures: [Picture]
    var samples: [Int16]

    /// - Parameters:
    ///   - file: in the scratch folder.
    ///   - hasSound: whether there must be any; if not, none is looked for.
    static func decode(_ file: String, hasSound: Bool = true, in scratch: Scratch) async throws -> Recording {
        let (video, audio) = (scratch.newFile("video.yuv"), scratch.newFile("audio.pcm"))
        let sound = ["-map", "0:a:0", "-ac", "1", "-ar", "\(sampleRate)", "-f", "s16le", audio]
        let ended = try await RunningProcess.run(
            [
                "ffmpeg", "-nostdin", "-v", "error", "-i", scratch.file(file),
                "-map", "0:v:0", "-vf", "scale=\(Picture.width):\(Picture.height)", "-pix_fmt", "yuv420p",
                "-fps_mode", "passthrough", "-f", "rawvideo", video,
            ] + (hasSound ? sound : []), in: scratch)
        try #require(ended.code == 0, "\(file) can be decoded: \(ended.error)")
        return Recording(pictures: try pictures(video), samples: hasSound ? try samples(audio) : [])
    }

    /// The first frames of a lavfi source, for comparison.
    static func reference(_ source: String, in scratch: Scratch) async throws -> Picture {
        let file = scratch.newFile("reference.yuv")
        let ended = try await RunningProcess.run(
            [
                "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", source, "-frames:v", "1",
                "-vf", "scale=\(Picture.width):\(Picture.height)", "-pix_fmt", "yuv420p", "-f", "rawvideo", file,
            ], in: scratch)
        try #require(ended.code == 0, "\(ended.error)")
        return try #require(try pictures(file).first)
    }

    private static func pictures(_ file: String) throws -> [Picture] {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
        let luma = Picture.width * Picture.height
        let frame = luma * 3 / 2
        return (0..<bytes.count / frame).map { index in
            let at = index * frame
            return Picture(
                luma: Array(bytes[at..<at + luma]), cb: Array(bytes[at + luma..<at + luma * 5 / 4]),
                cr: Array(bytes[at + luma * 5 / 4..<at + frame]))
        }
    }

    private static func samples(_ file: String) throws -> [Int16] {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
        return (0..<bytes.count / 2).map { Int16(bitPattern: UInt16(bytes[2 * $0]) | UInt16(bytes[2 * $0 + 1]) << 8) }
    }

    // MARK: Sound

    /// Windows of 50 ms, in which every multiple of 20 Hz has whole periods.
    private static let window = sampleRate / 20

    /// For each window: whether it is audible, and nothing but a tone of that many Hz.
    func hears(_ hertz: Int) -> [Bool] {
        stride(from: 0, to: samples.count - Self.window + 1, by: Self.window).map { start in
            Self.hears(hertz, samples[start..<start + Self.window])
        }
    }

    /// The share of the windows with that tone, 0 to 1.
    func share(of hertz: Int) -> Double {
        let heard = hears(hertz)
        return heard.isEmpty ? 0 : Double(heard.count { $0 }) / Double(heard.count)
    }

    /// Goertzel's algorithm; at least 80 % of the window's energy must lie at the frequency.
    private static func hears(_ hertz: Int, _ samples: ArraySlice<Int16>) -> Bool {
        let turn = 2 * Double.pi * Double(hertz) / Double(sampleRate)
        let factor = 2 * cos(turn)
        var (last, beforeLast, energy) = (0.0, 0.0, 0.0)
        for sample in samples {
            let value = Double(sample)
            (last, beforeLast) = (value + factor * last - beforeLast, last)
            energy += value * value
        }
        let power = last * last + beforeLast * beforeLast - factor * last * beforeLast
        let count = Double(samples.count)
        // FFmpeg's tone has 4096 at its peaks, GStreamer's more; a tenth of it is still audible.
        let audible = (energy / count).squareRoot() > 300
        return audible && 2 * power / (count * energy) > 0.8
    }
}
