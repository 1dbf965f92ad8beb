import CAllocationCounter
import MediaTransport
import MediaWire
import Testing

/// Zero allocations for each packet sealed or opened. (libsrtp2's own are its own; it is not measured here.)
@Suite struct SRTPAllocationTests {
    /// The counter does count.
    @Test(.enabled(if: parlor_allocations_available())) func theCounterCounts() {
        parlor_allocations_start()
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 1 << 20, alignment: 8)
        let aligned = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 64)
        memory.storeBytes(of: 1, as: UInt8.self)
        aligned.storeBytes(of: 1, as: UInt8.self)
        memory.deallocate()
        aligned.deallocate()
        let count = parlor_allocations_stop()
        #expect(count == 2)
        #expect(parlor_allocations_freed() == 2)
        #expect(parlor_allocations_bytes() >= 1 << 20)
        // Stopped means stopped.
        let more = UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 8)
        more.deallocate()
        #expect(parlor_allocations_stop() == 2)
    }

    @Test(.enabled(if: parlor_allocations_available()), arguments: SRTPProfile.allCases)
    func sealingAllocatesNothing(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 1)
        let sealer = try made(SRTPSealer(key: try random.masterKey(profile)))
        for backend in sealingBackends {
            var batch = SRTPBatch(capacity: 64, backend: backend)
            let packets = (0..<64).map { random.packet(ssrc: 1, index: UInt64($0)) }
            let buffers = Buffers(packets.map(\.bytes))
            let bases = (0..<64).map { buffers.base($0) }
            parlor_allocations_start()
            for round in 0..<20 {
                for n in 0..<64 {
                    batch.append(
                        sealer, packet: bases[n], length: packets[n].bytes.count,
                        headerLength: packets[n].headerLength, ssrc: 1, index: UInt64(round * 64 + n))
                }
                batch.seal()
            }
            let count = parlor_allocations_stop()
            #expect(count == 0, "\(backend): \(count) allocations for 1280 packets")
        }
    }

    @Test(.enabled(if: parlor_allocations_available()), arguments: SRTPProfile.allCases)
    func openingAllocatesNothing(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 2)
        let key = try random.masterKey(profile)
        var sealer = try made(SRTPSealer(key: key))
        for backend in openerBackends(profile) {
            var opener = try made(SRTPOpener(key: key, backend: backend))
            let packets = (0..<640).map { random.packet(ssrc: UInt32($0 % 8), index: 65_000 + UInt64($0)) }
            let sealed = seal(packets, by: sealer, tag: profile.tagLength, backend: .automatic)
            let buffers = Buffers(sealed, room: 0)
            let parts = sealed.indices.map { buffers.part($0, sealed[$0].count) }
            let report = PacketBuffer(random.rtcp(ssrc: 1, words: 20))
            var opened = 0
            parlor_allocations_start()
            // Every packet twice: authentic, then a replay; the first ones make their sender known.
            for _ in 0..<2 {
                for n in 0..<640 {
                    let result = opener.openRTP(
                        parts[n], ssrc: packets[n].ssrc, sequenceNumber: packets[n].sequenceNumber,
                        headerLength: packets[n].headerLength)
                    if case .opened = result { opened += 1 }
                }
            }
            for _ in 0..<20 {
                guard let length = sealer.sealRTCP(report.memory, length: 88) else { continue }
                let part = report.part(length)
                if case .opened = opener.openRTCP(part) { opened += 1 }
            }
            let count = parlor_allocations_stop()
            #expect(count == 0, "\(backend): \(count) allocations")
            #expect(opened == 640 + 20)
        }
    }
}
