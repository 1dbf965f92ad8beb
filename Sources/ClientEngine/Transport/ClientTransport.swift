package import MediaContract
package import MediaTransport
package import MediaWire

/// A client's end of one transport: plain SRTP or WebRTC, all streams and RTCP on one address (RFC 8843, RFC 5761). No socket and no
/// clock: datagrams and time come in, datagrams leave through the outbox.
package struct ClientTransport: ~Copyable {
    package struct Configuration: Sendable {
        /// Where packets go, and what seals and opens them.
        package enum Security: Sendable {
            /// Known from the beginning. What comes is judged by its key, not by its address.
            case plain(remote: TransportAddress, sendKey: SRTPMasterKey, receiveKey: SRTPMasterKey)
            /// Found by ICE and agreed by DTLS.
            case webRTC(ClientConnectionSpec)
        }

        package var security: Security
        package var sending: [OutboundStreamSettings]
        package var receiving: [InboundStreamSettings]
        /// Who reports when nothing is sent; any number of its own.
        package var reporterSSRC: UInt32
        package var cname: String

        /// A plain one.
        package init(
            remote: TransportAddress, sendKey: SRTPMasterKey, receiveKey: SRTPMasterKey,
            sending: [OutboundStreamSettings] = [], receiving: [InboundStreamSettings] = [], reporterSSRC: UInt32,
            cname: String
        ) {
            security = .plain(remote: remote, sendKey: sendKey, receiveKey: receiveKey)
            self.sending = sending
            self.receiving = receiving
            self.reporterSSRC = reporterSSRC
            self.cname = cname
        }

        /// A WebRTC connection; streams can be added later, too.
        package init(
            connection: ClientConnectionSpec, sending: [OutboundStreamSettings] = [],
            receiving: [InboundStreamSettings] = [], reporterSSRC: UInt32, cname: String
        ) {
            security = .webRTC(connection)
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
        /// A packet that came early and is kept, or came by repair. Ask `takeOrdered` of all streams afterwards.
        case notInOrder
        /// A packet, not of repair, that came when it was no longer waited for: nothing is made of it.
        case late(ClientPacket)
        case control
        /// Of ICE or DTLS. Ask `takeStateChange` afterwards.
        case connection
        case dropped(DropReason)
    }

    /// Sent streams, for which there is a bit mask.
    package static let sentStreamLimit = 64
    package static let receivedStreamLimit = 512
    /// Between two reports (RFC 3550, section 6.2 allows less than 5 s for feedback profiles; RFC 4585, section 3.4).
    static var reportInterval: MediaDuration { .seconds(1) }
    /// Between two requests for a key frame of one stream.
    static var keyFrameSpacing: MediaDuration { .milliseconds(500) }
    /// What RTP and SRTP add to a payload, about, in bytes.
    static var headerEstimate: Int { 40 }
    /// A report or feedback message never grows beyond it.
    static var rtcpLimit: Int { 1200 }
    /// Senders that a WebRTC connection's key may meet, as a place in the opener is for good.
    static var openerLimit: Int { 2048 }

    /// The client's name in the outbox.
    package let id: Int
    package internal(set) var statistics = ClientStatistics()
    /// `nil`: plain.
    let connection: ClientConnection?
    var knownState: ClientConnectionState?
    /// Where packets go; `nil`: nowhere, at the moment.
    var path: ICEPath?

    var opener: SRTPOpener
    var sealer: SRTPSealer
    var profile: SRTPProfile
    let reporterSSRC: UInt32
    let cname: [UInt8]
    var inbound: [InboundStream]
    var outbound: [OutboundStream]
    /// Twice the place of an active received stream, and one more for what repairs it, by SSRC.
    var inboundPlaces: [UInt32: Int] = [:]
    var nextReport: MediaTime
    var lastKeyFrameRequest: [MediaTime?]
    /// Bit n: the node wants a key frame of sent stream n.
    var wantedKeyFrames: UInt64 = 0
    var numbers: [UInt16] = []
    /// Of all packets with the extension for it.
    var nextTransportSequence: UInt16 = 1
    /// How much may be sent; `nil`: nobody here asks.
    var sendRate: SendRateEstimator?
    /// All that were ever sent under the key: a second stream of the same would use its packet indices again.
    var usedSSRCs: Set<UInt32> = []

    /// `nil`: more streams than the limits, or the library has no memory.
    package init?(_ configuration: Configuration, id: Int, now: MediaTime) {
        guard configuration.sending.count <= Self.sentStreamLimit,
            configuration.receiving.count <= Self.receivedStreamLimit
        else { return nil }
        switch configuration.security {
        case .plain(let remote, let sendKey, let receiveKey):
            guard
                // Room for streams that start again under another SSRC.
                let opener = SRTPOpener(key: receiveKey, maximumSSRCs: 2 * configuration.receiving.count + 8),
                let sealer = SRTPSealer(key: sendKey)
            else { return nil }
            self.opener = opener
            self.sealer = sealer
            profile = sendKey.profile
            path = ICEPath(socket: 0, address: remote)
            connection = nil
        case .webRTC(let spec):
            guard let connection = ClientConnection(spec, now: now) else { return nil }
            self.connection = connection
            opener = SRTPOpener()
            sealer = SRTPSealer()
            profile = .aeadAES128GCM
            path = nil
        }
        self.id = id
        reporterSSRC = configuration.sending.first?.ssrc ?? configuration.reporterSSRC
        cname = Array(configuration.cname.utf8.prefix(255))
        inbound = configuration.receiving.map { InboundStream($0) }
        outbound = configuration.sending.map { OutboundStream($0) }
        lastKeyFrameRequest = [MediaTime?](repeating: nil, count: configuration.receiving.count)
        numbers.reserveCapacity(RepairRequests.limit)
        // Clients that start together do not report together.
        nextReport = now + MediaDuration(nanoseconds: Int64(configuration.reporterSSRC % 1000) * 1_000_000)
        for place in inbound.indices { index(place) }
        for stream in outbound { _ = takeSSRCs(stream.settings) }
    }

    /// Of each received stream.
    package var reception: [ReceptionStatistics] { inbound.map(\.statistics) }
    /// Of each sent stream.
    package var sending: [SendingStatistics] { outbound.map(\.statistics) }

    // MARK: Sending

    /// Whether there are keys and a path.
    package var canSend: Bool { path != nil && (connection == nil || connection?.times.secured != nil) }

    /// Sends one payload on sent stream `stream`. False: there is no path or no room in the outbox; the packet was not sent.
    @discardableResult
    package mutating func send(
        _ payload: [UInt8], stream: Int, timestamp: UInt32, marker: Bool, now: MediaTime,
        into outbox: inout ClientOutbox
    ) -> Bool {
        precondition(outbound.indices.contains(stream), "the transport has no such stream to send")
        guard canSend, outbound[stream].isActive else { return false }
        let sent = outbound[stream].next(
            payload: payload, timestamp: timestamp, marker: marker, transportSequence: takeTransportSequence(stream),
            now: now)
        guard put(sent, stream: stream, asRepair: false, into: &outbox) else {
            statistics.sendRefused &+= 1
            return false
        }
        if outbound[stream].settings.extensions.transportCC != nil {
            sendRate?.noteSent(sent.transportSequence, size: payload.count &+ Self.headerEstimate, now: now)
        }
        return true
    }

    private mutating func takeTransportSequence(_ stream: Int) -> UInt16 {
        guard outbound[stream].settings.extensions.transportCC != nil else { return 0 }
        defer { nextTransportSequence &+= 1 }
        return nextTransportSequence
    }

    /// Sends a packet again: by the stream that repairs, if there is one (RFC 4588, section 4), else as it was.
    mutating func repeatPacket(_ sent: OutboundStream.Sent, stream: Int, into outbox: inout ClientOutbox) -> Bool {
        guard outbound[stream].settings.repair != nil else {
            // The same bytes under the same index give the same packet (RFC 3711, section 9.1).
            return put(sent, stream: stream, asRepair: false, into: &outbox)
        }
        var copy = sent
        copy.index = outbound[stream].takeRepairIndex()
        copy.transportSequence = takeTransportSequence(stream)
        let number = UInt16(truncatingIfNeeded: sent.index)
        copy.payload = [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)] + sent.payload
        copy.isLabelled = true
        return put(copy, stream: stream, asRepair: true, into: &outbox)
    }

    /// Writes a packet into the outbox, to be sealed.
    private mutating func put(
        _ sent: OutboundStream.Sent, stream: Int, asRepair: Bool, into outbox: inout ClientOutbox
    ) -> Bool {
        let settings = outbound[stream].settings
        guard let path, let slot = outbox.nextSlot, let start = slot.baseAddress else { return false }
        let ssrc = asRepair ? settings.repair?.ssrc ?? settings.ssrc : settings.ssrc
        var writer = RTPHeaderWriter(
            into: slot, marker: sent.marker,
            payloadType: asRepair ? settings.repair?.payloadType ?? settings.payloadType : settings.payloadType,
            sequenceNumber: UInt16(truncatingIfNeeded: sent.index), timestamp: sent.timestamp, ssrc: ssrc)
        if !settings.extensions.isEmpty {
            if sent.isLabelled { label(&writer, settings, asRepair: asRepair) }
            if let id = settings.extensions.transportCC { _ = writer.append(id: id, uint16: sent.transportSequence) }
        }
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
            client: id, path: path, length: length, headerLength: header, ssrc: ssrc, index: sent.index,
            tagLength: profile.tagLength, sealer: sealer)
        statistics.packetsSent &+= 1
        statistics.bytesSent &+= UInt64(length &+ profile.tagLength)
        return true
    }

    private func label(_ writer: inout RTPHeaderWriter, _ settings: OutboundStreamSettings, asRepair: Bool) {
        func append(_ id: UInt8?, _ text: String?) {
            guard let id, var text else { return }
            _ = text.withUTF8 { writer.append(id: id, bytes: UnsafeRawBufferPointer($0)) }
        }
        append(settings.extensions.mid, settings.mid)
        append(asRepair ? settings.extensions.repairedRID : settings.extensions.rid, settings.rid)
    }

    /// Sent streams of which the node wanted a key frame since the last call, as a bit mask.
    package mutating func takeKeyFrameRequests() -> UInt64 {
        defer { wantedKeyFrames = 0 }
        return wantedKeyFrames
    }

    /// Has the node's feedback judged from now on: `takeSendRate`.
    package mutating func watchSendRate() { if sendRate == nil { sendRate = SendRateEstimator() } }

    /// How much may be sent at the moment, in bit/s, if that was judged since the last call.
    package mutating func takeSendRate() -> Double? { sendRate?.takeNews() }

    /// From how much on more would be sent than now, in bit/s: `SendRateEstimator.nextStep`.
    package mutating func setNextSendStep(_ bitrate: Double?) { sendRate?.nextStep = bitrate }

    // MARK: Receiving

    /// How long a missing packet of a received stream is waited for, at most `PacketOrderer.longestPatience`.
    package mutating func setPatience(_ patience: MediaDuration, stream: Int) {
        guard inbound.indices.contains(stream) else { return }
        inbound[stream].orderer.patience = min(max(patience, .zero), PacketOrderer.longestPatience)
    }

    /// Opens a datagram in place and takes note of it.
    ///
    /// - Parameter source: by which socket it came, and from where; does not count for a plain transport.
    package mutating func receive(
        _ datagram: UnsafeMutableRawBufferPointer, from source: ICEPath? = nil, now: MediaTime,
        into outbox: inout ClientOutbox
    ) -> Arrival {
        guard datagram.count >= 2 else { return drop(.notMedia) }
        guard datagram[0] >> 6 == 2 else { return receiveConnection(datagram, from: source, now: now, into: &outbox) }
        // RFC 5761, section 4: payload types 64...95 of the second byte are RTCP.
        let type = datagram[1] & 0x7F
        let arrival =
            64...95 ~= type
            ? receiveControl(datagram, now: now, into: &outbox) : receiveMedia(datagram, now: now, into: &outbox)
        if let connection {
            if case .dropped = arrival { return arrival }
            connection.heard(now: now)
        }
        return arrival
    }

    /// RFC 7983: 0 to 3 are STUN, 20 to 63 DTLS.
    private mutating func receiveConnection(
        _ datagram: UnsafeMutableRawBufferPointer, from source: ICEPath?, now: MediaTime,
        into outbox: inout ClientOutbox
    ) -> Arrival {
        guard let connection, let source else { return drop(.notMedia) }
        let bytes = UnsafeRawBufferPointer(datagram)
        switch datagram[0] {
        case 0...3: guard connection.receiveCheck(bytes, over: source, now: now) else { return drop(.unknownCheck) }
        case 20...63:
            guard connection.receiveHandshake(bytes, over: source, now: now) else { return drop(.unverifiedSource) }
        default: return drop(.notMedia)
        }
        settleConnection(into: &outbox)
        return .connection
    }

    private mutating func receiveMedia(
        _ datagram: UnsafeMutableRawBufferPointer, now: MediaTime, into outbox: inout ClientOutbox
    ) -> Arrival {
        var header = RTPHeader()
        guard case .header = RTPHeader.parse(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(datagram)), into: &header)
        else { return drop(.malformedHeader) }
        // Before opening: a packet of a stranger's stream takes no place in the opener's table.
        guard let found = inboundPlaces[header.ssrc] else { return drop(.unknownSSRC) }
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
        var payload = header.headerLength..<max(header.headerLength, length &- padding)
        let stream = found / 2
        let isRepair = found & 1 != 0
        var number = header.sequenceNumber
        if isRepair {
            // RFC 4588, section 4: the original number stands before the payload. Without one it is a probe.
            guard payload.count >= 2, header.payloadType == inbound[stream].settings.repair?.payloadType else {
                return .control
            }
            number = UInt16(packetBytes[payload.lowerBound]) << 8 | UInt16(packetBytes[payload.lowerBound &+ 1])
            payload = payload.lowerBound &+ 2..<payload.upperBound
            statistics.repairsReceived &+= 1
        }
        let sequence: Int64
        switch inbound[stream].accept(
            number, timestamp: header.timestamp, payload: payload.count, isRepair: isRepair, now: now)
        {
        case .packet(let number): sequence = number
        case .restart(let number):
            sequence = number
            // What came before leads to nothing that comes now.
            if inbound[stream].settings.codec.kind == .video {
                requestKeyFrame(stream: stream, now: now, into: &outbox)
            }
        case .implausible: return drop(.implausibleSequence)
        }
        let packet = ClientPacket(
            stream: stream, sequence: sequence, timestamp: header.timestamp, marker: header.marker,
            payloadType: header.payloadType, arrival: now)
        switch inbound[stream].orderer.accept(sequence) {
        case .deliver: return .media(packet, payload: payload)
        case .hold: inbound[stream].orderer.hold(packet, payload: Array(packetBytes[payload]))
        case .late:
            inbound[stream].statistics.late &+= 1
            if !isRepair { return .late(packet) }
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
        var deadline = connection?.nextDeadline ?? .distantFuture
        guard canSend else { return deadline }
        deadline = min(deadline, nextReport)
        for place in inbound.indices where inbound[place].isActive { deadline = min(deadline, inbound[place].deadline) }
        return deadline
    }
}
