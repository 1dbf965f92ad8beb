import MediaContract
import MediaTransport
import MediaWire
import Testing

/// What went wrong with SRTP in other projects, by the numbers of our collection of cases.
@Suite struct SRTPCaseTests {
    /// A057: a subscriber that joins after 70,000 packets. Its numbers start in the lower half with rollover counter 0, whatever the
    /// publisher's are; a fresh receiver opens the first packet. Had the publisher's counter been kept, it could not.
    @Test(arguments: SRTPProfile.allCases)
    func lateJoinerStartsAtRolloverZero(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 57)
        let key = try random.masterKey(profile)
        let sealer = try made(SRTPSealer(key: key))
        let rebased = (0..<10).map { random.packet(ssrc: 1, index: 32_767 + $0) }
        let kept = random.packet(ssrc: 2, index: 70_000)
        for backend in openerBackends(profile) + [.library] {
            var opener = try made(SRTPOpener(key: key, backend: backend))
            for (packet, sealed) in zip(
                rebased, seal(rebased, by: sealer, tag: profile.tagLength, backend: .automatic))
            {
                let opening = opener.open(sealed, of: packet)
                #expect(opening == .plain(packet.bytes))
            }
            let sealed = seal([kept], by: sealer, tag: profile.tagLength, backend: .automatic)[0]
            let opening = opener.open(sealed, of: kept)
            #expect(opening == .failed(.failed(.authenticationFailed)))
        }
    }

    /// A058: video's sequence number wraps, audio's does not: each SSRC has its own rollover counter.
    @Test(arguments: SRTPProfile.allCases)
    func rolloverCountersAreApart(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 58)
        let key = try random.masterKey(profile)
        let sealer = try made(SRTPSealer(key: key))
        var packets: [PlainPacket] = []
        for n in UInt64(0)..<200 {
            packets.append(random.packet(ssrc: 1, index: 41_801 + n))
            packets.append(random.packet(ssrc: 2, index: 0xFF9C + n))
        }
        let sealed = seal(packets, by: sealer, tag: profile.tagLength, backend: .automatic)
        for backend in openerBackends(profile) + [.library] {
            var opener = try made(SRTPOpener(key: key, backend: backend))
            for (packet, sealed) in zip(packets, sealed) {
                let opening = opener.open(sealed, of: packet)
                #expect(opening == .plain(packet.bytes), "index \(packet.index)")
            }
        }
    }

    /// A059: the order 65533 65535 0 1 65534 2 around a wrap, sealed and opened, several times around.
    @Test(arguments: SRTPProfile.allCases)
    func reorderedAroundTheWrap(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 59)
        let key = try random.masterKey(profile)
        let sealer = try made(SRTPSealer(key: key))
        var packets: [PlainPacket] = []
        for round in UInt64(1)...5 {
            let wrap = round * 65_536
            // The way there, in steps that a receiver can follow.
            for step in UInt64(1)...3 { packets.append(random.packet(ssrc: 1, index: wrap - 65_536 + step * 16_384)) }
            for offset in [-3, -1, 0, 1, -2, 2] as [Int64] {
                packets.append(random.packet(ssrc: 1, index: UInt64(Int64(wrap) + offset)))
            }
        }
        for sealing in sealingBackends + [.library] {
            let sealed = seal(packets, by: sealer, tag: profile.tagLength, backend: sealing)
            for backend in openerBackends(profile) + [.library] {
                var opener = try made(SRTPOpener(key: key, backend: backend))
                for (packet, sealed) in zip(packets, sealed) {
                    let opening = opener.open(sealed, of: packet)
                    #expect(opening == .plain(packet.bytes), "\(sealing), \(backend), index \(packet.index)")
                }
            }
        }
    }

    /// Exactly half a round ahead or behind, and one off: the guess is libsrtp2's.
    @Test(arguments: SRTPProfile.allCases)
    func halfARoundAway(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 591)
        let key = try random.masterKey(profile)
        let sealer = try made(SRTPSealer(key: key))
        var decisions: Set<Bool> = []
        for highest in [UInt64(0x8000), 0x8001, 0xFFFF, 0x1_0000, 0x1_0010, 0x1_7FFF, 0x1_8000, 0x1_8001, 0x1_FFFF] {
            for distance in [-0x8001, -0x8000, -0x7FFF, 0x7FFF, 0x8000, 0x8001] as [Int64] {
                let index = Int64(highest) + distance
                guard index >= 0 else { continue }
                // Steps that lead a receiver to `highest`, and then the packet far away.
                var way: [PlainPacket] = []
                for step in stride(from: highest % 0x7000, through: highest, by: 0x7000) {
                    way.append(random.packet(ssrc: 1, index: step, payload: 5))
                }
                way.append(random.packet(ssrc: 1, index: UInt64(index), payload: 5))
                let sealed = seal(way, by: sealer, tag: profile.tagLength, backend: .evp)
                for backend in openerBackends(profile) {
                    var opener = try made(SRTPOpener(key: key, backend: backend))
                    var library = try made(SRTPOpener(key: key, backend: .library))
                    for (packet, sealed) in zip(way, sealed) {
                        let ours = opener.open(sealed, of: packet)
                        let theirs = library.open(sealed, of: packet)
                        #expect(ours == theirs, "\(backend), \(highest) and \(distance)")
                        if packet.index == UInt64(index) { decisions.insert(ours == .plain(packet.bytes)) }
                    }
                }
            }
        }
        #expect(decisions == [true, false])
    }

    /// A060: a sender that starts right below the wrap and whose first packets are lost is never understood, by libsrtp2 neither;
    /// one that starts in the lower half always is, whichever packets are lost.
    @Test(arguments: SRTPProfile.allCases)
    func startInTheLowerHalf(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 60)
        let key = try random.masterKey(profile)
        let sealer = try made(SRTPSealer(key: key))
        let high = (65_534..<UInt64(65_540)).map { random.packet(ssrc: 1, index: $0) }
        let low = (32_766..<UInt64(32_772)).map { random.packet(ssrc: 2, index: $0) }
        let sealedHigh = seal(high, by: sealer, tag: profile.tagLength, backend: .automatic)
        let sealedLow = seal(low, by: sealer, tag: profile.tagLength, backend: .automatic)
        for backend in openerBackends(profile) + [.library] {
            var opener = try made(SRTPOpener(key: key, backend: backend))
            for n in 2..<6 {
                var opening = opener.open(sealedHigh[n], of: high[n])
                #expect(opening == .failed(.failed(.authenticationFailed)))
                opening = opener.open(sealedLow[n], of: low[n])
                #expect(opening == .plain(low[n].bytes))
            }
        }
    }

    /// A061 for RTP; SRTCPOpeningTests has it for RTCP: short datagrams, before and after the sender is known.
    @Test(arguments: SRTPProfile.allCases)
    func shortDatagrams(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 61)
        let key = try random.masterKey(profile)
        for backend in openerBackends(profile) + [.library] {
            var opener = try made(SRTPOpener(key: key, backend: backend))
            for length in 0..<22 {
                let bytes = Array(([0x80, 0xC8, 0, 6, 0, 0, 0, 1] + random.bytes(14)).prefix(length))
                let rtcp = opener.openRTCP(bytes)
                #expect(
                    rtcp == .failed(.failed(length < 8 + profile.rtcpOverhead ? .tooShort : .authenticationFailed)))
                let rtp = opener.open(bytes, headerLength: 12, ssrc: 1, sequenceNumber: 6)
                #expect(rtp == .failed(.failed(length < 12 + profile.tagLength ? .tooShort : .authenticationFailed)))
            }
        }
    }

    /// A062: the same packet is sealed again for a resend: the same bytes, no error, and no other packet is disturbed. The receiver
    /// takes it once.
    @Test(arguments: SRTPProfile.allCases)
    func resendingIsNoError(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 62)
        let key = try random.masterKey(profile)
        let sealer = try made(SRTPSealer(key: key))
        let packets = (0..<UInt64(300)).map { random.packet(ssrc: 1, index: 65_500 + $0) }
        for sealing in sealingBackends + [.library] {
            let sealed = seal(packets, by: sealer, tag: profile.tagLength, backend: sealing)
            let again = packets.indices.filter { $0 % 7 == 0 }.map { packets[$0] }
            let resealed = seal(again, by: sealer, tag: profile.tagLength, backend: sealing)
            #expect(resealed == packets.indices.filter { $0 % 7 == 0 }.map { sealed[$0] })
            for backend in openerBackends(profile) + [.library] {
                var opener = try made(SRTPOpener(key: key, backend: backend))
                for (packet, sealed) in zip(packets, sealed) {
                    let opening = opener.open(sealed, of: packet)
                    #expect(opening == .plain(packet.bytes))
                }
                for (packet, sealed) in zip(again, resealed) {
                    let opening = opener.open(sealed, of: packet)
                    #expect(opening == .failed(.failed(.replayed)))
                }
            }
        }
    }

    /// Captured packets sent again, in order, shuffled, after a wrap: none is taken twice (RFC 3711, section 3.3.2).
    @Test(arguments: SRTPProfile.allCases)
    func replaysAreRefused(profile: SRTPProfile) throws {
        let seed: UInt64 = 500
        var random = SeededRandom(seed: seed)
        let key = try random.masterKey(profile)
        let sealer = try made(SRTPSealer(key: key))
        // 500 packets, then so many that the window has left them behind and the counter has turned.
        var packets = (0..<UInt64(500)).map { random.packet(ssrc: 1, index: 65_000 + $0, payload: 10) }
        packets += (500..<UInt64(3000)).map { random.packet(ssrc: 1, index: 65_000 + $0, payload: 10) }
        let sealed = seal(packets, by: sealer, tag: profile.tagLength, backend: .automatic)
        for backend in openerBackends(profile) + [.library] {
            var opener = try made(SRTPOpener(key: key, backend: backend))
            for n in 0..<500 { _ = opener.open(sealed[n], of: packets[n]) }
            for n in 0..<500 {
                let opening = opener.open(sealed[n], of: packets[n])
                #expect(opening == .failed(.failed(.replayed)))
            }
            for n in (0..<500).shuffled(using: &random) {
                let opening = opener.open(sealed[n], of: packets[n])
                #expect(opening == .failed(.failed(.replayed)), "seed \(seed)")
            }
            for n in 500..<3000 {
                let opening = opener.open(sealed[n], of: packets[n])
                #expect(opening == .plain(packets[n].bytes))
            }
            for n in 0..<500 {
                let opening = opener.open(sealed[n], of: packets[n])
                #expect(opening == .failed(.failed(.tooOld)))
            }
        }
    }
}
