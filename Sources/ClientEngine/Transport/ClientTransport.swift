package import MediaContract
import MediaTransport
package import MediaWire

/// A client's end of one transport: plain SRTP, all streams and RTCP on one address (RFC 8843, RFC 5761). No socket and no clock:
/// datagrams and time come in, datagrams leave through the outbox.
package struct ClientTransport: ~Copyable {
    package struct Configuration: Sendable {
        /// Where packets go. What comes is judged by its key, not by its address.
        package var remote: TransportAddress
        /// Seals what the client sends.
        package var sendKey: SRTPMasterKey
        /// Opens what the node sends.
        package var receiveKey: SRTPMasterKey
        package var sending: [OutboundStreamSettings]
        package var receiving: [InboundStreamSettings]
        /// Who reports when nothing is sent; any number of its own.
        package var reporterSSRC: UInt32
        package var cname: String

        package init(
            remote: TransportAddress, sendKey: SRTPMasterKey, receiveKey: SRTPMasterKey,
            sending: [OutboundStreamSettings] = [], receiving: [InboundStreamSettings] = [], reporterSSRC: UInt32,
            cname: String
        ) {
            self.remote = remote
            self.sendKey = sendKey
            self.receiveKey = receiveKey
            self.sending = sending
            self.receiving = receiving
            self.reporterSSRC = reporterSSRC
            self.cname = cname
        }
    }

    /// What a datagram was.
    package enum Arrival: Equatable {
        /// The next packet of its stream; its payload is `payload` of the datagram's bytes. Ask `takeOrdered` afterwards.
        case media(ClientPacket, payload: Range<Int>)
        /// A packet that came early and is kept, or too late.
        case notInOrder
        case control
        case dropped(DropReason)
    }

    /// Between two reports (RFC 3550, section 6.2 allows less than 5 s for feedback profiles; RFC 4585, section 3.4).
    static var reportInterval: MediaDuration { .seconds(1) }
    /// Between two requests for a key frame of one stream.
    static var keyFrameSpacing: MediaDuration { .milliseconds(500) }
    /// A report or feedback message never grows beyond it.
    static var rtcpLimit: Int { 1200 }

    /// The client's name in the outbox.
    package let id: Int
    package let remote: TransportAddress
    package internal(set) var statistics = ClientStatistics()

    var opener: SRTPOpener
    var sealer: SRTPSealer
    let profile: SRTPProfile
    let reporterSSRC: UInt32
    let cname: [UInt8]
    var inbound: [InboundStream]
    var outbound: [OutboundStream]
    var nextReport: MediaTime
    var lastKeyFrameRequest: [MediaTime?]
    /// Bit n: the node wants a key frame of sent stream n.
    var wantedKeyFrames: UInt64 = 0
    var numbers: [UInt16] = []

    /// `nil`: more than 64 streams, or the library has no memory.
    package init?(_ configuration: Configuration, id: Int, now: MediaTime) {
        guard configuration.sending.count <= 64, configuration.receiving.count <= 64,
            // Room for streams that start again under another SSRC.
            let opener = SRTPOpener(
                key: configuration.receiveKey, maximumSSRCs: 2 * configuration.receiving.count + 8),
            let sealer = SRTPSealer(key: configuration.sendKey)
        else { return nil }
        self.opener = opener
        self.sealer = sealer
        self.id = id
        remote = configuration.remote
        profile = configuration.sendKey.profile
        reporterSSRC = configuration.sending.first?.ssrc ?? configuration.reporterSSRC
        cname = Array(configuration.cname.utf8.prefix(255))
        inbound = configuration.receiving.map { InboundStream($0) }
        outbound = configuration.sending.map { OutboundStream($0) }
        lastKeyFrameRequest = [MediaTime?](repeating: nil, count: configuration.receiving.count)
        numbers.reserveCapacity(RepairRequests.limit)
        // Clients that start together do not report together.
        nextReport = now + MediaDuration(nanoseconds: Int64(configuration.reporterSSRC % 1000) * 1_000_000)
    }

    /// Of each received stream.
    package var reception: [ReceptionStatistics] { inbound.map(\.statistics) }

    // MARK: Sending

    /// Sends one payload on sent stream `stream`. False: the outbox has no room; the packet was not sent, and its number is lost.
    @discardableResult
    package mutating func send(
        _ payload: [UInt8], stream: Int, timestamp: UInt32, marker: Bool, now: MediaTime,
        into outbox: inout ClientOutbox
    ) -> Bool {
        precondition(outbound.indices.contains(stream), "the transport has no such stream to send")
        let sent = outbound[stream].next(payload: payload, timestamp: timestamp, marker: marker, now: now)
        guard put(sent, stream: stream, into: &outbox) else {
            statistics.sendRefused &+= 1
            return false
        }
        return true
    }

    /// Writes a packet into the outbox, to be sealed.
    mutating func put(_ sent: OutboundStream.Sent, stream: Int, into outbox: inout ClientOutbox) -> Bool {
        let settings = outbound[stream].settings
        guard let slot = outbox.nextSlot, let start = slot.baseAddress else { return false }
        var writer = RTPHeaderWriter(
            into: slot, marker: sent.marker, payloadType: settings.payloadType,
            sequenceNumber: UInt16(truncatingIfNeeded: sent.index), timestamp: sent.timestamp, ssrc: settings.ssrc)
        guard let header = writer.finish(),
            sent.payload.count <= slot.count &- header &- profile.tagLength
        else { return false }
        sent.payload.withUnsafeBytes { bytes in
            if let source = bytes.baseAddress {
                start.advanced(by: header).copyMemory(from: source, byteCount: bytes.count)
            }
        }
        let length = header &+ sent.payload.count
        outbox.addRTP(
            client: id, destination: remote, length: length, headerLength: header, ssrc: settings.ssrc,
            index: sent.index, tagLength: profile.tagLength, sealer: sealer)
        statistics.packetsSent &+= 1
        statistics.bytesSent &+= UInt64(length &+ profile.tagLength)
        return true
    }

    /// Sent streams of which the node wanted a key frame since the last call, as a bit mask.
    package mutating func takeKeyFrameRequests() -> UInt64 {
        defer { wantedKeyFrames = 0 }
        return wantedKeyFrames
    }

    // MARK: Receiving

    /// Opens a datagram in place and takes note of it.
    package mutating func receive(
        _ datagram: UnsafeMutableRawBufferPointer, now: MediaTime, into outbox: inout ClientOutbox
    ) -> Arrival {
        // RFC 5761, section 4: payload types 64...95 of the second byte are RTCP.
        guard datagram.count >= 2, datagram[0] >> 6 == 2 else { return drop(.notMedia) }
        let type = datagram[1] & 0x7F
        return 64...95 ~= type
            ? receiveControl(datagram, now: now, into: &outbox) : receiveMedia(datagram, now: now)
    }

    private mutating func receiveMedia(_ datagram: UnsafeMutableRawBufferPointer, now: MediaTime) -> Arrival {
        var header = RTPHeader()
        guard case .header = RTPHeader.parse(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(datagram)), into: &header)
        else { return drop(.malformedHeader) }
        // Before opening: a packet of a stranger's stream takes no place in the opener's table.
        guard let stream = inbound.firstIndex(where: { $0.settings.ssrc == header.ssrc }) else {
            return drop(.unknownSSRC)
        }
        let length: Int
        switch opener.openRTP(
            datagram, ssrc: header.ssrc, sequenceNumber: header.sequenceNumber, headerLength: header.headerLength)
        {
        case .opened(let opened): length = opened
        case .failed(let reason): return drop(reason)
        }
        let packetBytes = UnsafeRawBufferPointer(rebasing: datagram[..<length])
        guard let padding = header.paddingLength(in: RawSpan(_unsafeBytes: packetBytes)) else {
            return drop(.badPadding)
        }
        statistics.packetsReceived &+= 1
        statistics.bytesReceived &+= UInt64(datagram.count)
        let payload = header.headerLength..<max(header.headerLength, length &- padding)
        guard
            let sequence = inbound[stream].accept(
                header.sequenceNumber, timestamp: header.timestamp, payload: payload.count, now: now)
        else { return drop(.implausibleSequence) }
        let packet = ClientPacket(
            stream: stream, sequence: sequence, timestamp: header.timestamp, marker: header.marker,
            payloadType: header.payloadType, arrival: now)
        switch inbound[stream].orderer.accept(sequence) {
        case .deliver: return .media(packet, payload: payload)
        case .hold: inbound[stream].orderer.hold(packet, payload: Array(packetBytes[payload]))
        case .late: inbound[stream].statistics.late &+= 1
        }
        return .notInOrder
    }

    /// A kept packet of `stream` that can be given out now: its gap is filled, or no longer waited for.
    package mutating func takeOrdered(stream: Int, now: MediaTime) -> (packet: ClientPacket, payload: [UInt8])? {
        guard let held = inbound[stream].orderer.take(now: now) else { return nil }
        inbound[stream].settle()
        return (held.packet, held.payload)
    }

    package var receivedStreamCount: Int { inbound.count }

    mutating func drop(_ reason: DropReason) -> Arrival {
        statistics.count(reason)
        return .dropped(reason)
    }

    // MARK: Time

    /// When `advance` has something to do, or `takeOrdered` something to give though nothing came.
    package var nextDeadline: MediaTime {
        var deadline = nextReport
        for stream in inbound { deadline = min(deadline, stream.deadline) }
        return deadline
    }
}
