/// One item of a source description: whose, what, and where its text (UTF-8, not terminated) lies in the datagram.
package struct RTCPSourceDescriptionItem: Equatable, Sendable {
    /// Item type of the canonical name (RFC 3550, section 6.5.1).
    package static let canonicalName: UInt8 = 1

    package var ssrc: UInt32
    package var type: UInt8
    package var offset: Int
    /// 0...255 bytes.
    package var length: Int
}

/// Walks the items of a source description (RFC 3550, section 6.5), chunk by chunk. Ends at the first one that is cut off.
package struct RTCPSourceDescriptionReader: Sendable {
    private let block: RTCPBlock
    private var cursor: Int
    private var chunksLeft: Int
    private var ssrc: UInt32 = 0
    private var isInChunk = false

    package init(_ block: RTCPBlock) {
        self.block = block
        cursor = block.offset &+ 4
        chunksLeft = block.type == RTCPType.sourceDescription ? Int(block.count) : 0
    }

    package mutating func next(_ bytes: RawSpan) -> RTCPSourceDescriptionItem? {
        guard block.isInside(bytes) else { return nil }
        let end = block.end
        while true {
            if !isInChunk {
                guard chunksLeft > 0, cursor <= end &- 4 else { break }
                ssrc = bytes.bigEndian32(at: cursor)
                cursor &+= 4
                chunksLeft &-= 1
                isInChunk = true
            }
            guard cursor < end else { break }
            let type = bytes.octet(at: cursor)
            if type == 0 {
                // The list ends with a zero byte and zero bytes up to the next word; chunks start on words of the block.
                cursor = block.offset &+ (cursor &- block.offset &+ 4) & ~3
                isInChunk = false
                continue
            }
            guard cursor <= end &- 2 else { break }
            let length = Int(bytes.octet(at: cursor &+ 1))
            guard length <= end &- cursor &- 2 else { break }
            let item = RTCPSourceDescriptionItem(ssrc: ssrc, type: type, offset: cursor &+ 2, length: length)
            cursor = item.offset &+ length
            return item
        }
        chunksLeft = 0
        isInChunk = false
        cursor = end
        return nil
    }
}

package enum RTCPSourceDescription {
    /// Where the canonical name of `ssrc` lies in the datagram; `nil` if the block does not name it.
    package static func canonicalName(of ssrc: UInt32, _ bytes: RawSpan, _ block: RTCPBlock) -> Range<Int>? {
        var reader = RTCPSourceDescriptionReader(block)
        while let item = reader.next(bytes) {
            if item.ssrc == ssrc, item.type == RTCPSourceDescriptionItem.canonicalName {
                return item.offset..<(item.offset &+ item.length)
            }
        }
        return nil
    }
}
