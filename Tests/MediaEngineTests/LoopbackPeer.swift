import CNet
import Glibc
import MediaContract
import MediaTransport
import MediaWire
import Testing

/// A client of the engine on loopback: a socket, and real SRTP both ways.
final class LoopbackPeer {
    let socket: Loopback
    let peer: PeerID
    let transport: TransportID
    let ports: PlainPorts
    private let inbound: SRTPMasterKey
    private let outbound: SRTPMasterKey
    private let sealer: SRTPSealer
    private var opener: SRTPOpener
    private var batch = SRTPBatch(capacity: 1, backend: .evp)
    private let sender: TestSender
    let receiver: TestReceiver

    /// Packets opened so far: RTP sequence numbers and payloads in order of arrival, and RTCP packet types.
    private(set) var sequences: [UInt16] = []
    private(set) var payloads: [[UInt8]] = []
    private(set) var rtcpTypes: [UInt8] = []
    private(set) var refused = 0

    init(number: UInt64, ports: PlainPorts, profile: SRTPProfile = .aeadAES128GCM) throws {
        socket = try Loopback(Loopback.ipv4, receiveBuffer: 4 << 20, gro: true)
        peer = PeerID(number)
        transport = TransportID(number)
        self.ports = ports
        func key(_ first: UInt64) throws -> SRTPMasterKey {
            try #require(
                SRTPMasterKey(
                    profile: profile,
                    key: (0..<profile.keyLength).map { UInt8(truncatingIfNeeded: first &+ number &+ UInt64($0)) },
                    salt: (0..<profile.saltLength).map { UInt8(truncatingIfNeeded: first &* 3 &+ UInt64($0)) }))
        }
        inbound = try key(1)
        outbound = try key(101)
        guard let sealer = SRTPSealer(key: inbound), let opener = SRTPOpener(key: outbound) else {
            throw SRTPFailed()
        }
        self.sealer = sealer
        self.opener = opener
        sender = try TestSender()
        receiver = try TestReceiver()
    }

    struct SRTPFailed: Error {}

    /// The transport as the control plane asks for it. `remote`: where a receiving leg is sent to; `nil`: a sending leg.
    func spec(remote: TransportAddress?) -> TransportSpec {
        TransportSpec(
            id: transport, peer: peer, socket: ports.socket, rtcpSocket: ports.rtcpSocket, inbound: inbound,
            outbound: outbound, remote: remote.map { .known(rtp: $0, rtcp: $0) } ?? .latched,
            localSSRC: UInt32(truncatingIfNeeded: 0x7000_0000 + peer.rawValue), cname: "node")
    }

    var address: TransportAddress { TransportAddress(ipv4: 0x7F00_0001, port: socket.address.port) }

    // MARK: Sending

    /// A sealed VP8 packet of `size` payload bytes whose bytes 7 ... 10 carry its index.
    func packet(index: UInt64, ssrc: UInt32, payloadType: UInt8, size: Int) throws -> [UInt8] {
        var packet = [UInt8](repeating: 0, count: 12 + size + 16)
        let length = try packet.withUnsafeMutableBytes { buffer -> Int in
            var writer = RTPHeaderWriter(
                into: buffer, marker: true, payloadType: payloadType,
                sequenceNumber: UInt16(truncatingIfNeeded: index),
                timestamp: UInt32(truncatingIfNeeded: index &* 3000),
                ssrc: ssrc, twoByte: false)
            guard let header = writer.finish(), let base = buffer.baseAddress else { throw SRTPFailed() }
            // RFC 7741: descriptor with S set, then a frame tag; the first packet is a key frame.
            let start: [UInt8] = [0x10, index % 1000 == 0 ? 0x10 : 0x11, 0, 0, 0x9D, 0x01, 0x2A]
            for (offset, byte) in start.enumerated() { buffer[header + offset] = byte }
            for offset in 0..<4 { buffer[header + 7 + offset] = UInt8(truncatingIfNeeded: index >> (8 * offset)) }
            for offset in 11..<size { buffer[header + offset] = UInt8(truncatingIfNeeded: Int(index) &+ offset) }
            batch.append(
                sealer, packet: base, length: header + size, headerLength: header,
                ssrc: ssrc,
                index: index)
            #expect(batch.seal() == 0)
            return header + size + inbound.profile.tagLength
        }
        return Array(packet[..<length])
    }

    /// Sends packets as segmented messages of up to 16.
    func publish(_ packets: [[UInt8]]) throws {
        let to = parlor_address(high: 0, low: 0x7F00_0001, port: ports.port, is_ipv4: 1)
        var messages = stride(from: 0, to: packets.count, by: 16).map {
            Array(packets[$0..<min($0 + 16, packets.count)])
        }
        while !messages.isEmpty {
            let result = try sender.send(Array(messages.prefix(32)), to: to, from: socket)
            if result == PARLOR_WOULD_BLOCK {
                try #require(socket.wait(for: PARLOR_WRITABLE) != 0)
                continue
            }
            try #require(result > 0)
            messages.removeFirst(Int(result))
        }
    }

    // MARK: Receiving

    /// Opens what comes until `count` RTP packets are there or nothing comes for `seconds`.
    func receive(until count: Int, seconds: Double = 5) throws {
        while sequences.count < count {
            guard socket.wait(for: PARLOR_READABLE, seconds: seconds) != 0 else { return }
            try drain()
        }
    }

    /// Opens what waits in the socket now.
    func drain() throws {
        while socket.wait(for: PARLOR_READABLE, seconds: 0) != 0 {
            for datagram in try receiver.receive(1, on: socket) { open(datagram.bytes) }
        }
    }

    private func open(_ datagram: [UInt8]) {
        var bytes = datagram
        bytes.withUnsafeMutableBytes { buffer in
            if buffer.count > 1, (192...223).contains(buffer[1]) {
                guard case .opened(let length) = opener.openRTCP(buffer) else {
                    refused += 1
                    return
                }
                var reader = RTCPCompoundReader()
                let opened = UnsafeRawBufferPointer(rebasing: buffer[..<length])
                var offset = 0
                while reader.next(opened.bytes) != nil, offset + 4 <= length {
                    rtcpTypes.append(opened[offset + 1])
                    offset += 4 + 4 * (Int(opened[offset + 2]) << 8 | Int(opened[offset + 3]))
                }
                return
            }
            var header = RTPHeader()
            guard case .header = RTPHeader.parse(UnsafeRawBufferPointer(buffer).bytes, into: &header),
                case .opened(let length) = opener.openRTP(
                    buffer, ssrc: header.ssrc, sequenceNumber: header.sequenceNumber, headerLength: header.headerLength)
            else {
                refused += 1
                return
            }
            sequences.append(header.sequenceNumber)
            payloads.append(Array(buffer[header.headerLength..<length]))
        }
    }
}
