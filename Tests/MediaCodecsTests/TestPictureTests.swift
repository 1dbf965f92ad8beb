import MediaCodecs
import MediaWire
import Testing

@Suite struct TestPictureTests {
    @Test(arguments: [(160, 120), (161, 121), (176, 144), (320, 180), (320, 240), (640, 480), (1280, 720)])
    func whatIsDrawnIsRead(width: Int, height: Int) {
        var generator = SeededRandom(seed: 1)
        var frame = VideoFrame(width: width, height: height)
        for _ in 0..<20 {
            let mark = TestPicture.Mark(
                counter: .random(in: 0 ... .max, using: &generator),
                captureMicroseconds: .random(in: 0 ... .max, using: &generator),
                publisher: .random(in: 0 ... .max, using: &generator))
            TestPicture.draw(into: &frame, mark)
            #expect(frame.bytes.count == VideoFrame.size(width: width, height: height))
            #expect(TestPicture.read(frame) == mark)
        }
    }

    @Test func otherPicturesAreNotMistaken() {
        #expect(TestPicture.read(VideoFrame(width: 320, height: 240)) == nil)
        #expect(TestPicture.read(VideoFrame(width: 100, height: 100)) == nil)
        var frame = VideoFrame(width: 320, height: 240)
        for value in [0, 125, 126, 255] as [UInt8] {
            frame.bytes = [UInt8](repeating: value, count: frame.bytes.count)
            #expect(TestPicture.read(frame) == nil)
        }
    }

    @Test func anyCellInvertedIsFound() {
        var drawn = VideoFrame(width: 320, height: 240)
        TestPicture.draw(into: &drawn, counter: 77, captureMicroseconds: 1_700_000_000_000_000, publisher: 3)
        for cell in 0..<120 {
            var frame = drawn
            for y in cell / 20 * 16..<(cell / 20 + 1) * 16 {
                for x in cell % 20 * 16..<(cell % 20 + 1) * 16 {
                    frame.bytes[y * 320 + x] = 255 - frame.luma(x: x, y: y)
                }
            }
            #expect(TestPicture.read(frame) == nil)
        }
    }

    @Test func thePictureMoves() {
        var first = VideoFrame(width: 320, height: 240)
        var second = first
        TestPicture.draw(into: &first, counter: 1, captureMicroseconds: 0, publisher: 1)
        TestPicture.draw(into: &second, counter: 2, captureMicroseconds: 0, publisher: 1)
        let changed = zip(first.bytes, second.bytes).filter { $0 != $1 }.count
        #expect(changed > first.bytes.count / 4)
    }
}
