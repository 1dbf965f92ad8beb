import CCrypto
import MediaTransport
import MediaWire
import Testing

/// All backends give the bytes that libsrtp2 gives.
@Suite struct SRTPSealingTests {
    /// 2400 packets across a rollover: from counter 0 to 1, from 1 to 2, and one that turns every byte of the counter.
    @Test(arguments: SRTPProfile.allCases, [UInt64(0xFC00), 0x1_FC00, 0x12FF_FFFF_FC00])
    func sealsAsLibsrtpDoesOverARollover(profile: SRTPProfile, first: UInt64) throws {
        let seed = 0xC0FFEE + first + UInt64(profile.rawValue)
        var random = SeededRandom(seed: seed)
        let key = try random.masterKey(profile)
        let ssrc = UInt32(truncatingIfNeeded: random.next())
        // Every 25th without payload.
        let packets = (0..<2400).map {
            random.packet(ssrc: ssrc, index: first + UInt64($0), payload: $0 % 25 == 0 ? 0 : nil)
        }
        let reference = try made(SRTPSealer(key: key))
        let expected = seal(packets, by: reference, tag: profile.tagLength, backend: .library)
        for backend in sealingBackends {
            let sealer = try made(SRTPSealer(key: key))
            for capacity in [1, 2, 4, 7, 17, 64, 300] {
                let sealed = seal(packets, by: sealer, tag: profile.tagLength, backend: backend, capacity: capacity)
                let different = zip(sealed, expected).filter { $0 != $1 }.count
                #expect(sealed.count == expected.count && different == 0, "seed \(seed), \(backend), \(capacity)")
            }
        }
        #expect(Set(expected).count == expected.count)
    }

    /// Many subscribers with keys of all profiles in one batch, reordered around a rollover: each packet is as if alone.
    @Test func sealsManyKeysTogether() throws {
        let seed: UInt64 = 77
        var random = SeededRandom(seed: seed)
        var keys: [SRTPMasterKey] = []
        for n in 0..<30 { keys.append(try random.masterKey(SRTPProfile.allCases[n % 3])) }
        for backend in sealingBackends {
            var batch = SRTPBatch(capacity: 200, backend: backend)
            let sealers = Sealers(keys)
            for _ in 0..<20 {
                var sent: [(key: Int, packet: PlainPacket)] = []
                for _ in 0..<Int.random(in: 1...200, using: &random) {
                    let key = Int.random(in: 0..<keys.count, using: &random)
                    let index = 0x1_0000 - 40 + UInt64.random(in: 0..<80, using: &random)
                    sent.append((key, random.packet(ssrc: UInt32(key), index: index)))
                }
                let memory = sent.map { sent in
                    let memory = UnsafeMutableRawBufferPointer.allocate(
                        byteCount: sent.packet.bytes.count + keys[sent.key].profile.tagLength, alignment: 1)
                    memory.copyBytes(from: sent.packet.bytes)
                    return memory
                }
                defer { for memory in memory { memory.deallocate() } }
                for (sent, memory) in zip(sent, memory) {
                    let packet = sent.packet
                    batch.append(
                        sealers[sent.key], packet: try #require(memory.baseAddress), length: packet.bytes.count,
                        headerLength: packet.headerLength, ssrc: packet.ssrc, index: packet.index)
                }
                #expect(batch.count == sent.count)
                let failures = batch.seal()
                #expect(failures == 0 && batch.count == 0)
                for (n, (sent, memory)) in zip(sent, memory).enumerated() {
                    let failed = batch.hasFailed(n)
                    let alone = seal(
                        [sent.packet], by: sealers[sent.key], tag: keys[sent.key].profile.tagLength, backend: .evp)
                    #expect(!failed && Array(memory) == alone[0], "seed \(seed), \(backend)")
                }
            }
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func packetsWithoutSenseFailAndAreNamed(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 3)
        let key = try random.masterKey(profile)
        for backend in sealingBackends + [.library] {
            let sealer = try made(SRTPSealer(key: key))
            var batch = SRTPBatch(capacity: 4, backend: backend)
            let packets = (0..<4).map { random.packet(ssrc: 9, index: UInt64($0), payload: 50) }
            let buffers = Buffers(packets.map(\.bytes))
            for (n, packet) in packets.enumerated() {
                batch.append(
                    sealer, packet: buffers.base(n), length: packet.bytes.count,
                    headerLength: n == 1 ? packet.bytes.count + 1 : n == 2 ? 11 : packet.headerLength, ssrc: 9,
                    index: packet.index)
            }
            let failures = batch.seal()
            #expect(failures == 2)
            for n in 0..<4 {
                let failed = batch.hasFailed(n)
                #expect(failed == (n == 1 || n == 2))
            }
            let outside = (batch.hasFailed(4), batch.hasFailed(-1))
            #expect(outside == (true, true))
            // Nothing is touched that was refused.
            #expect(buffers.bytes(1, packets[1].bytes.count) == packets[1].bytes)
        }
    }

    @Test func automaticTakesTheBestThereIs() {
        let batch = SRTPBatch(capacity: 1)
        #expect(batch.backendName.hasPrefix(SRTPBatch.multiBufferAvailable ? "libipsec-mb" : "OpenSSL"))
        let evp = SRTPBatch(capacity: 1, backend: .evp)
        #expect(evp.backendName == "OpenSSL EVP")
        let library = SRTPBatch(capacity: 1, backend: .library)
        #expect(library.backendName == "libsrtp2")
    }

    // SRTCP

    /// libsrtp2 counts from 1, we from 0 as RFC 3711 says: our second packet is its first.
    @Test(arguments: SRTPProfile.allCases)
    func sealsRTCPAsLibsrtpDoes(profile: SRTPProfile) throws {
        let seed: UInt64 = 0xACC
        var random = SeededRandom(seed: seed)
        var keys = parlor_srtp_keys()
        let master = try random.masterKey(profile)
        #expect(parlor_srtp_derive(Int32(profile.rawValue), master.key, master.salt, &keys))
        let reference = try #require(parlor_srtp_sealer_create(&keys))
        defer { parlor_srtp_sealer_destroy(reference) }
        var sealer = try made(SRTPSealer(key: master))
        let unused = PacketBuffer(random.rtcp(ssrc: 1, words: 5))
        let first = sealer.sealRTCP(unused.memory, length: 28)
        #expect(first == 28 + profile.rtcpOverhead)
        for _ in 0..<500 {
            let plain = random.rtcp(ssrc: 0xDEAD_0001, words: Int.random(in: 0...300, using: &random))
            let ours = PacketBuffer(plain)
            let theirs = PacketBuffer(plain)
            let length = try made(sealer.sealRTCP(ours.memory, length: plain.count))
            #expect(length == plain.count + profile.rtcpOverhead)
            let expected = parlor_srtp_sealer_seal_rtcp_by_library(
                reference, theirs.memory.baseAddress, plain.count, theirs.memory.count)
            #expect(Int(expected) == length)
            #expect(ours.bytes(length) == theirs.bytes(length), "seed \(seed)")
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func rtcpNeedsItsRoom(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 8)
        var sealer = try made(SRTPSealer(key: try random.masterKey(profile)))
        let plain = random.rtcp(ssrc: 1, words: 2)
        let tight = PacketBuffer(plain, room: profile.rtcpOverhead - 1)
        let fits = PacketBuffer(plain, room: profile.rtcpOverhead)
        var sealed = sealer.sealRTCP(tight.memory, length: plain.count)
        #expect(sealed == nil)
        sealed = sealer.sealRTCP(fits.memory, length: 7)
        #expect(sealed == nil)
        sealed = sealer.sealRTCP(fits.memory, length: -1)
        #expect(sealed == nil)
        sealed = sealer.sealRTCP(fits.memory, length: plain.count)
        #expect(sealed == plain.count + profile.rtcpOverhead)
    }

    @Test func rtcpIndexEnds() throws {
        var random = SeededRandom(seed: 8)
        var keys = parlor_srtp_keys()
        let master = try random.masterKey(.aeadAES128GCM)
        #expect(parlor_srtp_derive(1, master.key, master.salt, &keys))
        let sealer = try #require(parlor_srtp_sealer_create(&keys))
        defer { parlor_srtp_sealer_destroy(sealer) }
        var packet = random.rtcp(ssrc: 1, words: 2) + [UInt8](repeating: 0, count: 20)
        #expect(parlor_srtp_sealer_seal_rtcp(sealer, &packet, 16, packet.count, 0x8000_0000) == -1)
        #expect(parlor_srtp_sealer_seal_rtcp(sealer, &packet, 16, packet.count, 0x7FFF_FFFF) == 36)
    }
}

/// Sealers in a row: an array cannot hold them.
final class Sealers {
    private let sealers: UnsafeMutableBufferPointer<SRTPSealer>

    init(_ keys: [SRTPMasterKey]) {
        sealers = .allocate(capacity: keys.count)
        for (n, key) in keys.enumerated() {
            guard let sealer = SRTPSealer(key: key) else { preconditionFailure("no sealer") }
            sealers.initializeElement(at: n, to: sealer)
        }
    }

    deinit {
        sealers.deinitialize()
        sealers.deallocate()
    }

    subscript(n: Int) -> SRTPSealer {
        _read { yield sealers[n] }
    }
}

/// Packets in memory that stays where it is.
final class Buffers {
    private let buffers: [UnsafeMutableRawBufferPointer]

    init(_ packets: [[UInt8]], room: Int = 32) {
        buffers = packets.map { packet in
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: packet.count + room, alignment: 8)
            memory.copyBytes(from: packet)
            return memory
        }
    }

    deinit { for buffer in buffers { buffer.deallocate() } }

    func base(_ n: Int) -> UnsafeMutableRawPointer {
        guard let base = buffers[n].baseAddress else { preconditionFailure("empty buffer") }
        return base
    }
    func bytes(_ n: Int, _ count: Int) -> [UInt8] { Array(buffers[n].prefix(count)) }
    func part(_ n: Int, _ count: Int) -> UnsafeMutableRawBufferPointer { .init(rebasing: buffers[n][..<count]) }
}
