import CCrypto
import MediaContract
import MediaTransport
import MediaWire
import Testing

/// Our openers decide as libsrtp2 decides, packet by packet.
@Suite struct SRTPOpeningTests {
    /// What a hostile and lossy network makes of a stream: reordered, repeated, lost, damaged, cut short, extended; over rollovers.
    @Test(arguments: SRTPProfile.allCases, [UInt64(0), 0x7FF0, 0xFF00, 0xFFF8])
    func opensWhatLibsrtpOpens(profile: SRTPProfile, first: UInt64) throws {
        for backend in openerBackends(profile) {
            let seed = 0x0DD5EED &+ first &* 3 &+ UInt64(profile.rawValue)
            var random = SeededRandom(seed: seed)
            let key = try random.masterKey(profile)
            let sealer = try made(SRTPSealer(key: key))
            var opener = try made(SRTPOpener(key: key, backend: backend))
            var reference = try made(SRTPOpener(key: key, backend: .library))

            // Three senders; one skips far ahead now and then, so that windows empty and rollovers are jumped over.
            var sent: [PlainPacket] = []
            var next: [UInt64] = [first, first &+ 0x8000, 3]
            for _ in 0..<6000 {
                let sender = Int.random(in: 0..<3, using: &random)
                sent.append(
                    random.packet(
                        ssrc: UInt32(sender), index: next[sender], payload: Int.random(in: 0...40, using: &random)))
                next[sender] += 1
                if sender == 2, Int.random(in: 0..<20, using: &random) == 0 {
                    next[sender] += UInt64.random(in: 0..<20_000, using: &random)
                }
            }
            let sealed = seal(sent, by: sealer, tag: profile.tagLength, backend: .evp)

            var opened = 0
            var refused: Set<DropReason> = []
            var position = 0
            for _ in 0..<15_000 where position < sent.count {
                var n = position
                switch Int.random(in: 0..<10, using: &random) {
                case 0: n -= Int.random(in: 0...20, using: &random)
                case 1: n -= Int.random(in: 0...4000, using: &random)
                case 2: n += Int.random(in: 0...30, using: &random)
                case 3: position += 1  // lost
                default: position += 1
                }
                n = min(max(n, 0), sent.count - 1)
                let packet = sent[n]
                let damaged = damage(sealed[n], headerLength: packet.headerLength, using: &random)
                let ours = opener.open(damaged, of: packet)
                let theirs = reference.open(damaged, of: packet)
                #expect(ours == theirs, "seed \(seed), \(backend), packet \(n)")
                guard ours == theirs else { return }
                switch ours {
                case .plain(let bytes):
                    opened += 1
                    #expect(bytes == packet.bytes, "seed \(seed), \(backend), packet \(n)")
                case .failed(.failed(let reason)): refused.insert(reason)
                case .failed: Issue.record("an opened packet without bytes")
                }
            }
            // The run did go everywhere.
            #expect(opened > 3000)
            #expect(refused == [.replayed, .tooOld, .authenticationFailed, .tooShort], "seed \(seed)")
        }
    }

    private func damage(_ bytes: [UInt8], headerLength: Int, using random: inout SeededRandom) -> [UInt8] {
        var bytes = bytes
        switch Int.random(in: 0..<25, using: &random) {
        case 0:
            // A bit anywhere but where the caller reads SSRC, sequence number and header length.
            var n: Int
            repeat {
                n = Int.random(in: 0..<bytes.count, using: &random)
            } while n == 0 || (2..<4).contains(n)
                || (8..<headerLength).contains(n)
            bytes[n] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes.removeLast(Int.random(in: 1...bytes.count - headerLength, using: &random))
        case 2: bytes += random.bytes(Int.random(in: 1...20, using: &random))
        default: break
        }
        return bytes
    }

    @Test(arguments: SRTPProfile.allCases)
    func everyBitCounts(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 5)
        let key = try random.masterKey(profile)
        let sealer = try made(SRTPSealer(key: key))
        for backend in openerBackends(profile) {
            var opener = try made(SRTPOpener(key: key, backend: backend))
            let packet = random.packet(ssrc: 7, index: 100, payload: 30)
            let sealed = seal([packet], by: sealer, tag: profile.tagLength, backend: .evp)[0]
            for bit in 0..<sealed.count * 8 {
                var damaged = sealed
                damaged[bit / 8] ^= 1 << UInt8(bit % 8)
                let opening = opener.open(damaged, of: packet)
                #expect(opening == .failed(.failed(.authenticationFailed)), "\(backend), bit \(bit)")
            }
            // None of them left a trace: the packet itself still opens, once.
            var opening = opener.open(sealed, of: packet)
            #expect(opening == .plain(packet.bytes))
            opening = opener.open(sealed, of: packet)
            #expect(opening == .failed(.failed(.replayed)))
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func everyTruncationFails(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 6)
        let key = try random.masterKey(profile)
        let sealer = try made(SRTPSealer(key: key))
        let packet = random.packet(ssrc: 7, index: 100, payload: 60)
        let sealed = seal([packet], by: sealer, tag: profile.tagLength, backend: .evp)[0]
        for backend in openerBackends(profile) + [.library] {
            var opener = try made(SRTPOpener(key: key, backend: backend))
            for length in 0..<sealed.count {
                let opening = opener.open(Array(sealed[..<length]), of: packet)
                let short = length < packet.headerLength + profile.tagLength
                #expect(
                    opening == .failed(.failed(short ? .tooShort : .authenticationFailed)), "\(backend), \(length)")
            }
            let opening = opener.open(sealed, of: packet)
            #expect(opening == .plain(packet.bytes))
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func headerLengthsWithoutSenseFail(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 61)
        let key = try random.masterKey(profile)
        for backend in openerBackends(profile) + [.library] {
            var opener = try made(SRTPOpener(key: key, backend: backend))
            for header in [-1, 0, 11, 85, 101, Int.max, Int.min] {
                let opening = opener.open(random.bytes(100), headerLength: header, ssrc: 1, sequenceNumber: 1)
                guard header != 85 || profile.tagLength > 15 else { continue }
                #expect(opening == .failed(.failed(.tooShort)), "\(header)")
            }
            let empty = opener.openRTP(.init(start: nil, count: 0), ssrc: 1, sequenceNumber: 1, headerLength: 12)
            #expect(empty == .failed(.tooShort))
            let large = opener.open(random.bytes(65_536), headerLength: 12, ssrc: 1, sequenceNumber: 1)
            #expect(large == .failed(.failed(.tooShort)))
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func anotherKeyOpensNothing(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 9)
        let key = try random.masterKey(profile)
        let sealer = try made(SRTPSealer(key: key))
        let packet = random.packet(ssrc: 7, index: 1)
        let sealed = seal([packet], by: sealer, tag: profile.tagLength, backend: .evp)[0]
        var wrongKey = key
        wrongKey.key[15] ^= 1
        var wrongSalt = key
        wrongSalt.salt[0] ^= 0x80
        for backend in openerBackends(profile) + [.library] {
            for wrong in [wrongKey, wrongSalt] {
                var opener = try made(SRTPOpener(key: wrong, backend: backend))
                let opening = opener.open(sealed, of: packet)
                #expect(opening == .failed(.failed(.authenticationFailed)))
            }
        }
    }

    /// Only authentic packets take a place; what comes when all are taken costs no cryptography.
    @Test(arguments: SRTPProfile.allCases)
    func ssrcsAreBounded(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 10)
        let key = try random.masterKey(profile)
        let sealer = try made(SRTPSealer(key: key))
        for backend in openerBackends(profile) + [.library] {
            var opener = try made(SRTPOpener(key: key, backend: backend, maximumSSRCs: 4))
            for ssrc in 100..<UInt32(200) {
                let forged = opener.open([0x80] + random.bytes(79), headerLength: 12, ssrc: ssrc, sequenceNumber: 1)
                #expect(forged == .failed(.failed(.authenticationFailed)))
            }
            let packets = (0..<6).map { random.packet(ssrc: $0, index: 1, payload: 20) }
            let sealed = seal(packets, by: sealer, tag: profile.tagLength, backend: .evp)
            for (n, packet) in packets.enumerated() {
                let opening = opener.open(sealed[n], of: packet)
                #expect(opening == (n < 4 ? .plain(packet.bytes) : .failed(.failed(.tooManySSRCs))))
            }
            // RTCP shares the places.
            var rtcpSealer = try made(SRTPSealer(key: key))
            for ssrc in UInt32(3)...4 {
                let report = PacketBuffer(random.rtcp(ssrc: ssrc, words: 5))
                let length = try made(rtcpSealer.sealRTCP(report.memory, length: 28))
                let opening = opener.openRTCP(report.bytes(length))
                if ssrc == 4 {
                    #expect(opening == .failed(.failed(.tooManySSRCs)))
                } else if case .failed = opening {
                    Issue.record("a known sender's report was refused")
                }
            }
        }
    }

    @Test func openersThatCannotBe() throws {
        var random = SeededRandom(seed: 11)
        let counter = try random.masterKey(.aesCM128HmacSHA1_80)
        let multiBuffer = isNil(SRTPOpener(key: counter, backend: .multiBuffer))
        #expect(multiBuffer)
        let none = isNil(SRTPOpener(key: counter, maximumSSRCs: 0))
        #expect(none)
        var broken = counter
        broken.salt = []
        let withoutSalt = isNil(SRTPOpener(key: broken))
        #expect(withoutSalt)
        let sealerWithoutSalt = isNil(SRTPSealer(key: broken))
        #expect(sealerWithoutSalt)
    }

    @Test func automaticTakesTheBestThereIs() throws {
        var random = SeededRandom(seed: 12)
        let gcm = try made(SRTPOpener(key: try random.masterKey(.aeadAES128GCM)))
        #expect(gcm.backendName.hasPrefix(SRTPBatch.multiBufferAvailable ? "libipsec-mb" : "OpenSSL"))
        let counter = try made(SRTPOpener(key: try random.masterKey(.aesCM128HmacSHA1_80)))
        #expect(counter.backendName == "OpenSSL EVP")
    }
}

@Suite struct SRTCPOpeningTests {
    /// Reports of two senders under libsrtp2's and our seal; reordered, repeated, damaged.
    @Test(arguments: SRTPProfile.allCases)
    func opensWhatLibsrtpOpens(profile: SRTPProfile) throws {
        let seed: UInt64 = 0x7C7C
        var random = SeededRandom(seed: seed)
        let master = try random.masterKey(profile)
        var keys = parlor_srtp_keys()
        #expect(parlor_srtp_derive(Int32(profile.rawValue), master.key, master.salt, &keys))
        let reference = try #require(parlor_srtp_sealer_create(&keys))
        defer { parlor_srtp_sealer_destroy(reference) }
        var sealer = try made(SRTPSealer(key: master))
        for ours in [true, false] {
            var sent: [(plain: [UInt8], sealed: [UInt8])] = []
            for n in 0..<3000 {
                let plain = random.rtcp(ssrc: UInt32(n % 2), words: Int.random(in: 0...60, using: &random))
                let buffer = PacketBuffer(plain)
                let length: Int
                if ours {
                    length = try made(sealer.sealRTCP(buffer.memory, length: plain.count))
                } else {
                    length = Int(
                        parlor_srtp_sealer_seal_rtcp_by_library(
                            reference, buffer.memory.baseAddress, plain.count, buffer.memory.count))
                }
                #expect(length == plain.count + profile.rtcpOverhead)
                sent.append((plain, buffer.bytes(length)))
            }
            for backend in openerBackends(profile) {
                var opener = try made(SRTPOpener(key: master, backend: backend))
                var library = try made(SRTPOpener(key: master, backend: .library))
                var opened = 0
                var refused: Set<DropReason> = []
                for position in 0..<6000 {
                    var n = position / 2
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0: n -= Int.random(in: 0...10, using: &random)
                    case 1: n -= Int.random(in: 0...600, using: &random)
                    case 2: n += Int.random(in: 0...60, using: &random)
                    default: break
                    }
                    n = min(max(n, 0), sent.count - 1)
                    var packet = sent[n].sealed
                    switch Int.random(in: 0..<25, using: &random) {
                    case 0:
                        packet[Int.random(in: 0..<packet.count, using: &random)] ^=
                            1 << UInt8.random(in: 0..<8, using: &random)
                    case 1: packet.removeLast(Int.random(in: 1...packet.count, using: &random))
                    default: break
                    }
                    let mine = opener.openRTCP(packet)
                    let theirs = library.openRTCP(packet)
                    #expect(mine == theirs, "seed \(seed), \(backend), packet \(n)")
                    guard mine == theirs else { return }
                    switch mine {
                    case .plain(let bytes):
                        opened += 1
                        #expect(bytes == sent[n].plain)
                    case .failed(.failed(let reason)): refused.insert(reason)
                    case .failed: Issue.record("an opened packet without bytes")
                    }
                }
                #expect(opened > 2000)
                #expect(
                    refused.isSuperset(of: [.replayed, .tooOld, .authenticationFailed, .tooShort]), "seed \(seed)")
            }
        }
    }

    /// A061: a known SSRC and fewer bytes than header, index and tag.
    @Test(arguments: SRTPProfile.allCases)
    func everyTruncationFails(profile: SRTPProfile) throws {
        var random = SeededRandom(seed: 16)
        let key = try random.masterKey(profile)
        for backend in openerBackends(profile) + [.library] {
            var sealer = try made(SRTPSealer(key: key))
            var opener = try made(SRTPOpener(key: key, backend: backend))
            let known = PacketBuffer(random.rtcp(ssrc: 0xC0DE, words: 5))
            let first = try made(sealer.sealRTCP(known.memory, length: 28))
            if case .failed = opener.openRTCP(known.bytes(first)) { Issue.record("the first report was refused") }

            let plain = random.rtcp(ssrc: 0xC0DE, words: 5)
            let next = PacketBuffer(plain)
            let sealed = next.bytes(try made(sealer.sealRTCP(next.memory, length: 28)))
            for length in 0..<sealed.count {
                let opening = opener.openRTCP(Array(sealed[..<length]))
                guard case .failed(.failed(let reason)) = opening else {
                    Issue.record("opened \(length) bytes")
                    continue
                }
                if length < 8 + profile.rtcpOverhead { #expect(reason == .tooShort) }
                #expect([.tooShort, .authenticationFailed, .replayed, .tooOld].contains(reason))
            }
            let opening = opener.openRTCP(sealed)
            #expect(opening == .plain(plain))
        }
    }
}
