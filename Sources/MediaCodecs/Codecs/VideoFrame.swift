/// A picture in I420: a plane of luma and two of chroma at half the width and height (rounded up), 8 bits each, without
/// padding, behind each other in one buffer.
package struct VideoFrame: Hashable, Sendable {
    /// In pixels, 1...`maximumSide`.
    package private(set) var width: Int
    package private(set) var height: Int
    /// Y, then U, then V. Its length never changes but through `resize`.
    package var bytes: [UInt8]

    package static let maximumSide = 4_096

    /// A black picture.
    package init(width: Int, height: Int) {
        precondition(
            (1...Self.maximumSide).contains(width) && (1...Self.maximumSide).contains(height),
            "a picture has 1 to 4096 pixels on each side")
        self.width = width
        self.height = height
        let luma = width * height
        bytes = [UInt8](repeating: 128, count: Self.size(width: width, height: height))
        for index in 0..<luma { bytes[index] = 16 }
    }

    package static func size(width: Int, height: Int) -> Int {
        width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)
    }

    /// In samples; the luma plane has `width` and `height`.
    package var chromaWidth: Int { (width + 1) / 2 }
    package var chromaHeight: Int { (height + 1) / 2 }
    /// Where the chroma planes begin in `bytes`.
    package var uOffset: Int { width * height }
    package var vOffset: Int { width * height + chromaWidth * chromaHeight }

    /// The luma of a pixel inside the picture.
    package func luma(x: Int, y: Int) -> UInt8 { bytes[y * width + x] }

    /// Keeps the buffer when the size does not change; its contents are then those of before.
    mutating func resize(width: Int, height: Int) {
        guard width != self.width || height != self.height else { return }
        self = VideoFrame(width: width, height: height)
    }
}
