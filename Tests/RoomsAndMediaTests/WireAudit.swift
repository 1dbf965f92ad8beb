import MediaContract
import MediaTestKit
import MediaTransport
import MediaWire
import RoomControl

/// Looks at every datagram that leaves the switchboard, opens it with the key of the leg to which it goes, and holds it against
/// what the rooms have ordered so far.
final class WireAudit {
    private(set) var legs: [SocketID: ClientLeg] = [:]
    private(set) var legOfSerial: [UInt32: ClientLeg] = [:]
    var owners: [TrackID: (leg: ClientLeg, line: UInt8)] = [:]

    /// The first of what was wrong, and how much in all.
    private(set) var violations: [String] = []
    private(set) var violationCount = 0
    // What was seen
    private(set) var mediaPackets = 0
    private(set) var controlPackets = 0
    private(set) var repeats = 0

    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 16)

    deinit { scratch.deallocate() }

    func add(_ leg: ClientLeg) {
        legs[leg.peer.socket] = leg
        legOfSerial[leg.serial] = leg
    }

    func violation(_ text: @autoclosure () -> String) {
        violationCount += 1
        if violations.count < 10 { violations.append(text()) }
        // A receiver that is misled would ask for thousands of packets that never were, and the run never end.
        if violationCount == 1 { for leg in legs.values { leg.peer.requestsMissing = false } }
    }

    func look(_ socket: SocketID, _ destination: TransportAddress, _ bytes: UnsafeRawBufferPointer) {
        guard let leg = legs[socket] else { return violation("a datagram from the unknown \(socket)") }
        if destination != leg.peer.address { violation("\(socket) of leg \(leg.serial) sends to another's address") }
        if leg.isRemoved { violation("leg \(leg.serial) is sent to after its user's removal") }
        guard bytes.count >= 28, bytes.count <= scratch.count else { return violation("\(bytes.count) bytes left") }
        if bytes[1] & 0x7F >= 64, bytes[1] & 0x7F <= 95 {
            lookAtControl(bytes, leg)
        } else {
            lookAtMedia(bytes, leg)
        }
    }

    // MARK: RTP

    private func lookAtMedia(_ bytes: UnsafeRawBufferPointer, _ leg: ClientLeg) {
        mediaPackets += 1
        if leg.hasEnded { violation("media for leg \(leg.serial) after its end") }
        if leg.kind == .sending { violation("media for the sending leg \(leg.serial)") }
        var header = RTPHeader()
        guard case .header = RTPHeader.parse(bytes.bytes, into: &header) else { return violation("no RTP header") }
        let place: Int
        if let found = leg.media.firstIndex(where: { $0.ssrc == header.ssrc }) {
            place = found
        } else {
            // RFC 3711, section 3.3.1: the rollover counter of a receiver starts at 0.
            if header.sequenceNumber > 0x7FFF { violation("leg \(leg.serial) starts at \(header.sequenceNumber)") }
            place = leg.media.count
            leg.media.append(ClientLeg.Stream(ssrc: header.ssrc, highest: Int64(header.sequenceNumber)))
        }
        let highest = leg.media[place].highest
        let step = Int16(truncatingIfNeeded: Int64(header.sequenceNumber) - highest)
        let index = highest + Int64(step)
        leg.media[place].highest = max(highest, index)
        leg.media[place].fresh += 1
        guard isFirst(bytes, index, in: &leg.media[place], of: leg) else { return }

        scratch.copyMemory(from: bytes)
        let packet = UnsafeMutableRawBufferPointer(rebasing: scratch[..<bytes.count])
        let opened = leg.opener.openRTP(
            packet, ssrc: header.ssrc, sequenceNumber: header.sequenceNumber, headerLength: header.headerLength)
        guard case .opened(let length) = opened, length >= header.headerLength,
            let label = PayloadLabel(payload: UnsafeRawBufferPointer(rebasing: packet[header.headerLength..<length]))
        else { return violation("leg \(leg.serial) cannot read index \(index): \(opened)") }
        compare(label, with: leg, ssrc: header.ssrc)
    }

    private func compare(_ label: PayloadLabel, with leg: ClientLeg, ssrc: UInt32) {
        if label.room != leg.key || label.instance != leg.instance.rawValue {
            violation("bytes of \(label.room) go to \(leg.user) of \(leg.key)")
        }
        guard let source = legOfSerial[label.leg], source.key == label.room else {
            return violation("bytes of nobody: \(label)")
        }
        if source.user == leg.user { violation("\(leg.user) of \(leg.key) gets its own") }
        if source.hasEnded { violation("bytes of leg \(source.serial) after its end") }
        if source.isRemoved { violation("bytes of leg \(source.serial) after its user's removal") }
        guard let feed = leg.feeds[ssrc], let owner = owners[feed.track] else {
            return violation("leg \(leg.serial) gets SSRC \(ssrc), to which it is not subscribed")
        }
        if owner.leg !== source || owner.line != label.line {
            violation("leg \(leg.serial) gets leg \(source.serial) in place of leg \(owner.leg.serial)")
        }
        let isWanted = leg.picks.contains { pick in
            switch pick {
            case .user(let user): source.user == user
            case .track(let id): source.publicIDs.contains(id)
            }
        }
        if !leg.picks.isEmpty, !isWanted { violation("leg \(leg.serial) gets what it did not pick") }
    }

    // MARK: RTCP

    private func lookAtControl(_ bytes: UnsafeRawBufferPointer, _ leg: ClientLeg) {
        controlPackets += 1
        let ssrc = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        // The index stands at the end, before the tag of RFC 3711 and after the one of RFC 7714.
        let isGCM = leg.peer.spec.outbound.profile != .aesCM128HmacSHA1_80
        let offset = bytes.count - 4 - (isGCM ? 0 : leg.peer.spec.outbound.profile.tagLength)
        let word = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        let index = Int64(word & 0x7FFF_FFFF)
        let place: Int
        if let found = leg.control.firstIndex(where: { $0.ssrc == ssrc }) {
            place = found
        } else {
            place = leg.control.count
            leg.control.append(ClientLeg.Stream(ssrc: ssrc, highest: index))
        }
        guard isFirst(bytes, index, in: &leg.control[place], of: leg) else {
            return violation("RTCP \(index) to leg \(leg.serial) left twice")
        }
        scratch.copyMemory(from: bytes)
        let opened = leg.opener.openRTCP(UnsafeMutableRawBufferPointer(rebasing: scratch[..<bytes.count]))
        guard case .opened(let length) = opened else {
            return violation("leg \(leg.serial) cannot read RTCP \(index): \(opened)")
        }
        guard leg.hasEnded else { return }
        // Only the goodbye comes after the end.
        var reader = RTCPCompoundReader()
        let plain = UnsafeRawBufferPointer(rebasing: scratch[..<length]).bytes
        var isGoodbye = false
        while let block = reader.next(plain) { if RTCPGoodbye.parse(plain, block) != nil { isGoodbye = true } }
        if !isGoodbye { violation("RTCP to leg \(leg.serial) after its end") }
    }

    /// Whether nothing left under this index of this key before. A second time is a repetition, or the key stream is used twice.
    private func isFirst(
        _ bytes: UnsafeRawBufferPointer, _ index: Int64, in stream: inout ClientLeg.Stream, of leg: ClientLeg
    ) -> Bool {
        var hasher = Hasher()
        hasher.combine(bytes: bytes)
        let hash = hasher.finalize()
        guard let earlier = stream.hashes.updateValue(hash, forKey: index) else { return true }
        if earlier != hash { violation("leg \(leg.serial), SSRC \(stream.ssrc): two datagrams under index \(index)") }
        leg.repeats += 1
        repeats += 1
        return false
    }
}
