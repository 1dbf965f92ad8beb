/// A moving picture that tells, after lossy coding, which frame of whose it is and when it was taken.
///
/// A grid of 20 by 6 black and white cells at the top left holds the mark: 120 bits, the last 16 a checksum. Below and
/// beside it a coloured pattern moves, so that an encoder has work to do.
package enum TestPicture {
    /// What the cells say.
    package struct Mark: Hashable, Sendable {
        /// Counts frames.
        package var counter: UInt32
        /// Wall-clock time in microseconds since 1970; 56 bits are kept.
        package var captureMicroseconds: UInt64
        package var publisher: UInt16

        package init(counter: UInt32, captureMicroseconds: UInt64, publisher: UInt16) {
            self.counter = counter
            self.captureMicroseconds = captureMicroseconds & (1 << 56 - 1)
            self.publisher = publisher
        }
    }

    package static let defaultWidth = 320
    package static let defaultHeight = 240
    /// The smallest picture that holds the mark beside a moving part.
    package static let smallestWidth = 160
    package static let smallestHeight = 120

    static let columns = 20
    static let rows = 6
    /// Video black and white (ITU-R BT.601: 16 and 235), a little inside, so that ringing is not clipped.
    private static let black: UInt8 = 24
    private static let white: UInt8 = 226

    /// The side of a cell in pixels: a macroblock of VP8 where the picture is large enough, else half of one.
    static func cellSide(width: Int, height: Int) -> Int { width >= 320 && height >= 192 ? 16 : 8 }

    /// Whether a picture of this size can carry the mark.
    package static func fits(width: Int, height: Int) -> Bool { width >= smallestWidth && height >= smallestHeight }

    /// Draws the whole picture, which must be at least 160 by 120.
    package static func draw(into frame: inout VideoFrame, _ mark: Mark) {
        precondition(fits(width: frame.width, height: frame.height), "a test picture has at least 160 by 120 pixels")
        drawPattern(into: &frame, counter: mark.counter, publisher: mark.publisher)
        drawMark(into: &frame, mark)
    }

    package static func draw(
        into frame: inout VideoFrame, counter: UInt32, captureMicroseconds: UInt64, publisher: UInt16
    ) {
        draw(into: &frame, Mark(counter: counter, captureMicroseconds: captureMicroseconds, publisher: publisher))
    }

    /// `nil` when the picture is too small or its checksum is wrong: it is not, or no longer, a test picture.
    package static func read(_ frame: VideoFrame) -> Mark? {
        guard fits(width: frame.width, height: frame.height) else { return nil }
        let side = cellSide(width: frame.width, height: frame.height)
        // The inner half of the cell: block edges are where the codec errs.
        let inset = side / 4
        let threshold = (side - 2 * inset) * (side - 2 * inset) * (Int(black) + Int(white)) / 2
        var bytes = [UInt8](repeating: 0, count: columns * rows / 8)
        for cell in 0..<columns * rows {
            let x = cell % columns * side + inset
            let y = cell / columns * side + inset
            var sum = 0
            for row in y..<(y + side - 2 * inset) {
                for column in x..<(x + side - 2 * inset) { sum += Int(frame.luma(x: column, y: row)) }
            }
            if sum > threshold { bytes[cell / 8] |= 0x80 >> UInt8(cell % 8) }
        }
        return decode(bytes)
    }

    // MARK: Mark

    /// 4 bytes of counter, 7 of time, 2 of publisher, 2 of checksum.
    private static func encode(_ mark: Mark) -> [UInt8] {
        var bytes: [UInt8] = []
        for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: mark.counter >> shift)) }
        for shift in [48, 40, 32, 24, 16, 8, 0] as [UInt64] {
            bytes.append(UInt8(truncatingIfNeeded: mark.captureMicroseconds >> shift))
        }
        bytes.append(UInt8(truncatingIfNeeded: mark.publisher >> 8))
        bytes.append(UInt8(truncatingIfNeeded: mark.publisher))
        let sum = checksum(bytes[...])
        return bytes + [UInt8(truncatingIfNeeded: sum >> 8), UInt8(truncatingIfNeeded: sum)]
    }

    private static func decode(_ bytes: [UInt8]) -> Mark? {
        guard bytes.count == 15, checksum(bytes[..<13]) == UInt16(bytes[13]) << 8 | UInt16(bytes[14]) else {
            return nil
        }
        return Mark(
            counter: bytes[0..<4].reduce(0) { $0 << 8 | UInt32($1) },
            captureMicroseconds: bytes[4..<11].reduce(0) { $0 << 8 | UInt64($1) },
            publisher: bytes[11..<13].reduce(0) { $0 << 8 | UInt16($1) })
    }

    /// CRC-16 with polynomial 0x1021, starting at 0xFFFF: all black and all white both fail it.
    static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        var sum: UInt16 = 0xFFFF
        for byte in bytes {
            sum ^= UInt16(byte) << 8
            for _ in 0..<8 { sum = sum & 0x8000 != 0 ? sum << 1 ^ 0x1021 : sum << 1 }
        }
        return sum
    }

    private static func drawMark(into frame: inout VideoFrame, _ mark: Mark) {
        let side = cellSide(width: frame.width, height: frame.height)
        let bits = encode(mark)
        let width = frame.width
        var line = [UInt8](repeating: 0, count: columns * side)
        for row in 0..<rows {
            for column in 0..<columns {
                let cell = row * columns + column
                let isWhite = bits[cell / 8] & (0x80 >> UInt8(cell % 8)) != 0
                for x in column * side..<(column + 1) * side { line[x] = isWhite ? white : black }
            }
            for y in row * side..<(row + 1) * side {
                frame.bytes.replaceSubrange(y * width..<y * width + line.count, with: line)
            }
        }
        // No colour under the mark.
        let chromaWidth = frame.chromaWidth
        let grey = [UInt8](repeating: 128, count: columns * side / 2)
        for plane in [frame.uOffset, frame.vOffset] {
            for y in 0..<rows * side / 2 {
                let start = plane + y * chromaWidth
                frame.bytes.replaceSubrange(start..<start + grey.count, with: grey)
            }
        }
    }

    // MARK: Pattern

    /// A slanted wave of light that drifts, a square that bounces across it, and colours that turn: slowly with time, and
    /// from publisher to publisher.
    private static func drawPattern(into frame: inout VideoFrame, counter: UInt32, publisher: UInt16) {
        let width = frame.width
        let height = frame.height
        let step = Int(counter & 0xFFFF)
        let top = rows * cellSide(width: width, height: height)
        let square = max((height - top) / 4, 8)
        let left = bounce(step * 3, within: width - square)
        let above = top + bounce(step * 2, within: max(height - top - square, 1))
        let hue = Int(publisher) * 37

        let chromaWidth = frame.chromaWidth
        let chromaHeight = frame.chromaHeight
        let uOffset = frame.uOffset
        let vOffset = frame.vOffset
        var pixels = frame.bytes.mutableSpan
        for y in 0..<height {
            let start = y * width
            let base = y * 2 + step * 2
            for x in 0..<width { pixels[start + x] = UInt8(truncatingIfNeeded: 64 + triangle(x + base) / 2) }
            guard y >= above, y < above + square else { continue }
            for x in left..<left + square { pixels[start + x] = 200 }
        }
        for y in 0..<chromaHeight {
            let u = uOffset + y * chromaWidth
            let v = vOffset + y * chromaWidth
            let isSquare = y * 2 >= above && y * 2 < above + square
            let base = y + step + hue
            for x in 0..<chromaWidth {
                pixels[u + x] = UInt8(truncatingIfNeeded: 64 + triangle(x + base) / 2)
                pixels[v + x] = UInt8(truncatingIfNeeded: 64 + triangle(x + base + 128) / 2)
            }
            guard isSquare else { continue }
            for x in left / 2..<(left + square) / 2 {
                pixels[u + x] = UInt8(truncatingIfNeeded: 64 + triangle(hue * 3))
                pixels[v + x] = UInt8(truncatingIfNeeded: 64 + triangle(hue * 5 + 100))
            }
        }
    }

    /// 0...127 and back, over 256 steps.
    @inline(__always)
    private static func triangle(_ value: Int) -> Int {
        let low = value & 0xFF
        return min(low, 255 - low)
    }

    /// 0..<limit and back.
    private static func bounce(_ value: Int, within limit: Int) -> Int {
        let position = value % (2 * limit)
        return position < limit ? position : 2 * limit - 1 - position
    }
}
