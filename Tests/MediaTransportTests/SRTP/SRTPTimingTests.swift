import Glibc
import MediaTransport
import MediaWire
import Testing

/// Prints what sealing and opening cost on this machine, in ns of the thread's own CPU time. Asserts nothing: times move with the
/// neighbours. Only with PARLOR_TIMING set, and only in release mode does it mean anything.
@Suite(.serialized, .enabled(if: getenv("PARLOR_TIMING") != nil)) struct SRTPTimingTests {
    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// The best of nine rounds: what the work costs when nothing disturbs it.
    private static func best(_ work: Int, _ round: () -> Void) -> UInt64 {
        var best = UInt64.max
        for _ in 0..<9 {
            let start = now()
            round()
            best = min(best, now() - start)
        }
        return best / UInt64(work)
    }

    @Test(arguments: SRTPProfile.allCases) func costs(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 1)
        let subscribers = 100
        let keys = try (0..<subscribers).map { _ in try random.masterKey(profile) }
        let sealers = Sealers(keys)
        for size in [120, 1200] {
            let packet = PlainPacket(
                bytes: [0x80, 96, 0, 0] + random.bytes(size - 4), headerLength: 12, ssrc: 1, index: 0)
            let buffers = Buffers([[UInt8]](repeating: packet.bytes, count: subscribers))
            let bases = (0..<subscribers).map { buffers.base($0) }
            for backend in [SRTPBatch.Backend.multiBuffer, .evp, .library] {
                var batch = SRTPBatch(capacity: subscribers, backend: backend)
                var index: UInt64 = 0
                let cost = Self.best(subscribers * 20) {
                    for _ in 0..<20 {
                        index += 1
                        for n in 0..<subscribers {
                            let sequence = bases[n].assumingMemoryBound(to: UInt8.self)
                            sequence[0] = 0x80
                            sequence[2] = UInt8(truncatingIfNeeded: index >> 8)
                            sequence[3] = UInt8(truncatingIfNeeded: index)
                            batch.append(
                                sealers[n], packet: bases[n], length: size, headerLength: 12, ssrc: 1, index: index)
                        }
                        batch.seal()
                    }
                }
                print("seal \(profile.name) \(size) B, \(batch.backendName): \(cost) ns")
            }

            let packets = (0..<9 * 500).map {
                PlainPacket(
                    bytes: [0x80, 96] + bigEndian(UInt16($0)) + [0, 0, 0, 0] + bigEndian(UInt32(1))
                        + random.bytes(size - 12), headerLength: 12, ssrc: 1, index: UInt64($0))
            }
            let sealed = seal(packets, by: sealers[0], tag: profile.tagLength, backend: .evp)
            for backend in openerBackends(profile) + [.library] {
                let memory = Buffers(sealed, room: 0)
                let parts = sealed.indices.map { memory.part($0, sealed[$0].count) }
                var opener = try made(SRTPOpener(key: keys[0], backend: backend))
                var next = 0
                var opened = 0
                let cost = Self.best(500) {
                    for _ in 0..<500 {
                        let result = opener.openRTP(
                            parts[next], ssrc: 1, sequenceNumber: UInt16(next), headerLength: 12)
                        if case .opened = result { opened += 1 }
                        next += 1
                    }
                }
                #expect(opened == packets.count)
                print("open \(profile.name) \(size) B, \(opener.backendName): \(cost) ns")
            }
        }
    }
}
