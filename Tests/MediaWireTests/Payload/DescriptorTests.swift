import MediaWire
import Testing

struct VP8DescriptorTests {
    /// A015: every combination of X, I, M, L, T, K and the length RFC 7741, section 4.2 gives it.
    @Test func lengthTable() {
        var seen: Set<Int> = []
        for bits in 0..<64 {
            let (x, i, m) = (bits & 32 != 0, bits & 16 != 0, bits & 8 != 0)
            let (l, t, k) = (bits & 4 != 0, bits & 2 != 0, bits & 1 != 0)
            var bytes: [UInt8] = [x ? 0x90 : 0x10]
            if x { bytes.append((i ? 0x80 : 0) | (l ? 0x40 : 0) | (t ? 0x20 : 0) | (k ? 0x10 : 0)) }
            if x, i { bytes += m ? [0x81, 0x23] : [0x23] }
            if x, l { bytes.append(0x45) }
            if x, t || k { bytes.append(0xFF) }
            let expected = 1 + (x ? 1 + (i ? (m ? 2 : 1) : 0) + (l ? 1 : 0) + (t || k ? 1 : 0) : 0)
            guard let found = VP8Descriptor.parse((bytes + [0]).span.bytes) else {
                Issue.record("combination \(bits) refused")
                continue
            }
            seen.insert(found.length)
            #expect(found.length == expected && bytes.count == expected)
            #expect(found.pictureIDLength == (x && i ? (m ? 2 : 1) : 0))
            #expect(found.pictureID == (x && i ? (m ? 0x0123 : 0x23) : 0))
            #expect(found.pictureIDOffset == (x && i ? 2 : 0))
            #expect(found.temporalLevelOffset == (x && l ? 2 + (i ? (m ? 2 : 1) : 0) : 0))
            #expect(found.temporalLevelZeroIndex == (x && l ? 0x45 : 0))
            #expect(found.hasTemporalLayer == (x && t) && found.temporalLayer == (x && t ? 3 : 0))
            #expect(found.isLayerSync == (x && t))
            #expect(found.hasKeyIndex == (x && k) && found.keyIndex == (x && k ? 31 : 0))
            for length in 0..<bytes.count {
                let cut = VP8Descriptor.parse(bytes.span.bytes.extracting(0..<length))
                #expect(cut == nil, "combination \(bits) cut to \(length)")
            }
        }
        #expect(seen == [1, 2, 3, 4, 5, 6])
    }

    @Test func flags() {
        let found = VP8Descriptor.parse(wireBytes("37").span.bytes)
        #expect(found?.isNonReference == true && found?.startsPartition == true && found?.partitionIndex == 7)
        #expect(found?.startsFrame == false)
    }
}

struct VP9DescriptorTests {
    @Test func nonFlexible() {
        let bytes = wireBytes("AD 8123 53 07 86")
        guard let found = VP9Descriptor.parse(bytes.span.bytes) else {
            Issue.record("refused")
            return
        }
        #expect(!found.isInterPredicted && !found.isFlexible && found.startsFrame && found.endsFrame)
        #expect(found.isNotReferenceForUpperLayers && found.hasLayers && found.structure == nil)
        #expect(found.pictureID == 0x0123 && found.pictureIDLength == 2 && found.pictureIDOffset == 1)
        #expect(found.temporalLayer == 2 && found.isSwitchingUpPoint)
        #expect(found.spatialLayer == 1 && found.isInterLayerPredicted)
        #expect(found.temporalLevelZeroIndex == 7 && found.temporalLevelOffset == 4 && found.length == 5)
    }

    @Test func flexibleReferences() {
        let found = VP9Descriptor.parse(wireBytes("F8 7F 00 03 FF 06 86").span.bytes)
        #expect(found?.referenceCount == 3 && found.map { $0.references == (1, 127, 3) } == true)
        #expect(found?.pictureID == 0x7F && found?.pictureIDLength == 1)
        #expect(found?.temporalLevelOffset == 0 && found?.length == 6)
    }

    @Test func scalabilityStructure() {
        // Three spatial layers with resolutions, a group of two pictures with one and two references.
        let bytes = wireBytes("0A 58 0140 00B4 0280 0168 0500 02D0 02 04 01 28 0102 82")
        guard let found = VP9Descriptor.parse(bytes.span.bytes), let structure = found.structure else {
            Issue.record("refused")
            return
        }
        #expect(structure.spatialLayerCount == 3 && structure.pictureGroupSize == 2)
        #expect(found.length == bytes.count - 1)
        let sizes = (0..<4).map { structure.resolution(ofLayer: $0, bytes.span.bytes).map { [$0.width, $0.height] } }
        #expect(sizes == [[320, 180], [640, 360], [1280, 720], nil])
        for length in 0..<found.length {
            let cut = VP9Descriptor.parse(bytes.span.bytes.extracting(0..<length))
            #expect(cut == nil, "cut to \(length)")
        }
    }

    /// A021: of three spatial layers in two packets each, every layer ends once, and that is apart from the marker, which only
    /// the last packet of the picture carries.
    @Test func layerEndIsNotTheMarker() {
        var ends: [Bool] = []
        var starts: [Bool] = []
        for layer in 0..<3 {
            for packet in 0..<2 {
                let flags: UInt8 = 0xE0 | (packet == 0 ? 0x08 : 0x04)
                let bytes = [flags, 5, UInt8(layer << 1), 9, 0x86]
                let facts = PayloadFacts.read(
                    codec: .vp9, payload: bytes.span.bytes, marker: layer == 2 && packet == 1)
                #expect(facts.spatialLayer == layer && facts.isParsed && !facts.isKeyFrame)
                starts.append(facts.startsFrame)
                ends.append(facts.endsFrame)
            }
        }
        #expect(starts == [true, false, true, false, true, false])
        #expect(ends == [false, true, false, true, false, true])
    }
}

struct H264PayloadTests {
    /// A018: SPS, PPS, IDR as three packets: the only place to start is the SPS.
    @Test func startsAtTheSPSOnly() {
        let packets = ["67 42C01F", "68 CE3C80", "65 8884", "41 9A"]
        let keys = packets.map {
            PayloadFacts.read(codec: .h264, payload: wireBytes($0).span.bytes, marker: false).isKeyFrame
        }
        #expect(keys == [true, false, false, false])
    }

    @Test func typesOfAnAggregate() {
        let found = H264Payload.parse(wireBytes("78 0002 6742 0002 68CE 0002 6588").span.bytes)
        #expect(found?.contains(7) == true && found?.contains(8) == true && found?.contains(5) == true)
        #expect(found?.contains(1) == false && found?.startsPicture == true)
    }

    /// Every NAL unit type as a single packet: 1...23 are readable, 7 alone is a key frame.
    @Test func singleTypes() {
        for type in UInt8(0)...31 where type != 24 && type != 28 {
            let facts = PayloadFacts.read(codec: .h264, payload: [0x60 | type, 0x40].span.bytes, marker: false)
            #expect(facts.isParsed == (1...23).contains(type) && facts.isKeyFrame == (type == 7), "type \(type)")
        }
    }
}

struct PayloadRandomTests {
    /// Random bytes, and vectors with a random byte changed: nothing traps, and what is read holds together.
    @Test(arguments: [21, 22] as [UInt64]) func randomBytes(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<20_000 {
            let bytes = random.bytes(Int.random(in: 0...48, using: &random))
            PayloadExercise.run(bytes.span.bytes)
            RTCPExercise.run(bytes.span.bytes)
            RTPExercise.run(bytes.span.bytes)
        }
    }
}
