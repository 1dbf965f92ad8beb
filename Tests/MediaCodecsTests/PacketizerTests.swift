import MediaCodecs
import Testing

@Suite struct PacketizerTests {
    @Test func vp8Descriptors() {
        var packetizer = VP8Packetizer(maximumPayloadSize: 64, firstPictureID: 0x7FFF)
        let frame = (0..<150).map { UInt8($0) }
        let payloads = packetizer.packetize(frame)
        #expect(payloads.map(\.bytes.count) == [54, 54, 54])
        #expect(payloads.map(\.marker) == [false, false, true])
        #expect(
            payloads.map { Array($0.bytes.prefix(4)) } == [
                [0x90, 0x80, 0xFF, 0xFF], [0x80, 0x80, 0xFF, 0xFF], [0x80, 0x80, 0xFF, 0xFF],
            ])
        #expect(payloads.flatMap { $0.bytes.dropFirst(4) } == frame)
        #expect(packetizer.packetize([1]) == [RTPPayload(bytes: [0x90, 0x80, 0x80, 0x00, 1], marker: true)])
        #expect(packetizer.packetize([]).isEmpty)
        #expect(packetizer.pictureID == 1)
    }

    @Test func vp9DescriptorsInNonFlexibleMode() {
        var packetizer = VP9Packetizer(width: 320, height: 240, maximumPayloadSize: 64, firstPictureID: 0x7FFF)
        let frame = (0..<100).map { UInt8($0) }
        let key = packetizer.packetize(frame, isKeyFrame: true)
        #expect(key.map(\.marker) == [false, true])
        // I, L, B, V; then TID 0, TL0PICIDX 255, and the structure: 320 by 240, a group of one that refers one back.
        let structure: [UInt8] = [0x18, 0x01, 0x40, 0x00, 0xF0, 0x01, 0x04, 0x01]
        #expect(Array(key[0].bytes.prefix(13)) == [0xAA, 0xFF, 0xFF, 0x00, 0xFF] + structure)
        #expect(Array(key[1].bytes.prefix(5)) == [0xA4, 0xFF, 0xFF, 0x00, 0xFF])
        #expect(key[0].bytes.dropFirst(13) + key[1].bytes.dropFirst(5) == frame[...])
        let inter = packetizer.packetize([7], isKeyFrame: false)
        #expect(inter == [RTPPayload(bytes: [0xEC, 0x80, 0x00, 0x00, 0x00, 7], marker: true)])
    }

    @Test func vp9DescriptorsInFlexibleMode() {
        var packetizer = VP9Packetizer(width: 320, height: 240, mode: .flexible, firstPictureID: 5)
        let key = packetizer.packetize([7], isKeyFrame: true)
        #expect(key == [RTPPayload(bytes: [0x9E, 0x80, 0x05, 0x10, 1, 0x40, 0, 0xF0, 7], marker: true)])
        let inter = packetizer.packetize([7], isKeyFrame: false)
        #expect(inter == [RTPPayload(bytes: [0xDC, 0x80, 0x06, 0x02, 7], marker: true)])
    }

    @Test func vp9DescriptorsWithoutLayers() {
        var packetizer = VP9Packetizer(width: 320, height: 240, mode: .plain, firstPictureID: 5)
        let key = packetizer.packetize([7], isKeyFrame: true)
        #expect(key == [RTPPayload(bytes: [0x8C, 0x80, 0x05, 7], marker: true)])
        let inter = packetizer.packetize([7], isKeyFrame: false)
        #expect(inter == [RTPPayload(bytes: [0xCC, 0x80, 0x06, 7], marker: true)])
    }

    @Test func opusMarkerStartsATalkspurt() {
        var packetizer = OpusPacketizer()
        #expect([packetizer.packetize([1]), packetizer.packetize([2])].map(\.marker) == [true, false])
        packetizer.pause()
        #expect(packetizer.packetize([3]) == RTPPayload(bytes: [3], marker: true))
    }

    /// Every size of frame: no payload above the limit, none without content, as few as possible, equal but for the last.
    @Test func payloadsAreFewAndEqual() {
        for limit in [64, 65, 100, 1_150] {
            for size in Array(1...700) + [1_137, 1_146, 1_147, 5_000, 60_000] {
                let frame = [UInt8](repeating: 9, count: size)
                var vp8 = VP8Packetizer(maximumPayloadSize: limit)
                var vp9 = VP9Packetizer(width: 16, height: 16, maximumPayloadSize: limit)
                for (payloads, descriptor, extra) in [
                    (vp8.packetize(frame), 4, 0), (vp9.packetize(frame, isKeyFrame: true), 5, 8),
                ] {
                    let isRight =
                        payloads.count == (size + extra + limit - descriptor - 1) / (limit - descriptor)
                        && payloads.allSatisfy { $0.bytes.count <= limit && $0.bytes.count > descriptor }
                        && Set(payloads.dropLast().map(\.bytes.count)).count <= 1
                        && payloads.map(\.bytes.count).reduce(0, +) == size + extra + payloads.count * descriptor
                        && payloads.filter(\.marker).count == 1 && payloads.last?.marker == true
                    if !isRight { Issue.record("limit \(limit), size \(size): \(payloads.map(\.bytes.count))") }
                }
            }
        }
    }
}
