package import MediaContract
import MediaTransport
package import MediaWire

/// A client in the virtual network: one transport with real SRTP both ways. It publishes, or it receives, or both.
package final class VirtualPeer: VirtualReceiver {
    package struct Received {
        package var ssrc: UInt32
        package var sequence: UInt16
        package var timestamp: UInt32
        package var payloadType: UInt8
        package var marker: Bool
        package var payload: [UInt8]
        package var extensions: [UInt8: [UInt8]]
        package var extensionProfile: UInt16
        package var time: MediaTime
    }

    /// Where it sends from; a browser moves.
    package var address: TransportAddress
    package var socket: SocketID
    package let spec: TransportSpec
    private var sealer: SRTPSealer
    private var batch = SRTPBatch(capacity: 1, backend: .evp)
    private var opener: SRTPOpener

    // What came
    package private(set) var received: [Received] = []
    package private(set) var receivedCount = 0
    /// Whether payloads are kept; large runs only count.
    package var keepsPackets = true
    package private(set) var failures: [DropReason: Int] = [:]
    package private(set) var pictureLossIndications: [MediaTime] = []
    package private(set) var nackedSequences: [UInt16] = []
    package private(set) var senderReports: [(report: RTCPSenderReport, time: MediaTime)] = []
    package private(set) var receiverReports: [RTCPReportBlock] = []
    package private(set) var goodbyes: [UInt32] = []
    /// Media SSRCs of key frame requests, in order.
    package private(set) var keyFrameRequests: [UInt32] = []
    package private(set) var estimates: [UInt64] = []
    /// Packets reported by transport-wide feedback, and the messages.
    package private(set) var reportedArrivals: [UInt16] = []

    // What was sent, to answer requests
    private var sent: [UInt16: [UInt8]] = [:]
    package var answersNacks = true
    /// Asks for what is missing, per SSRC, whenever a packet comes.
    package var requestsMissing = false
    private var highest: [UInt32: UInt16] = [:]
    private var missing: [UInt32: [UInt16: MediaTime]] = [:]

    /// - Parameter isPublishing: a sending leg, latched by its first packet; else a receiving one at `address`.
    package init(
        transport: TransportID, peer: PeerID, address: TransportAddress, socket: SocketID, isPublishing: Bool,
        profile: SRTPProfile = .aeadAES128GCM, seed: UInt64, silenceLimit: MediaDuration? = nil
    ) {
        self.address = address
        self.socket = socket
        var random = SeededRandom(seed: seed &* 7919 &+ transport.rawValue)
        func key() -> SRTPMasterKey {
            let bytes = (0..<profile.keyLength).map { _ in UInt8.random(in: 0...255, using: &random) }
            let salt = (0..<profile.saltLength).map { _ in UInt8.random(in: 0...255, using: &random) }
            guard let key = SRTPMasterKey(profile: profile, key: bytes, salt: salt) else {
                preconditionFailure("the lengths are the profile's own")
            }
            return key
        }
        let inbound = key()
        let outbound = key()
        spec = TransportSpec(
            id: transport, peer: peer, socket: socket, rtcpSocket: socket, inbound: inbound, outbound: outbound,
            remote: isPublishing ? .latched : .known(rtp: address, rtcp: address),
            localSSRC: UInt32.random(in: 1...UInt32.max, using: &random),
            cname: "node", silenceLimit: silenceLimit)
        guard let sealer = SRTPSealer(key: inbound), let opener = SRTPOpener(key: outbound, maximumSSRCs: 64) else {
            preconditionFailure("keys of the right length make a session")
        }
        self.sealer = sealer
        self.opener = opener
    }

    /// One whose keys were agreed by DTLS: `inbound` is what it seals with.
    package init(
        address: TransportAddress, socket: SocketID, transport: TransportID, peer: PeerID, inbound: SRTPMasterKey,
        outbound: SRTPMasterKey
    ) {
        self.address = address
        self.socket = socket
        spec = TransportSpec(
            id: transport, peer: peer, socket: socket, rtcpSocket: socket, inbound: inbound, outbound: outbound,
            remote: .known(rtp: address, rtcp: address), localSSRC: 1, cname: "")
        guard let sealer = SRTPSealer(key: inbound), let opener = SRTPOpener(key: outbound, maximumSSRCs: 64) else {
            preconditionFailure("keys of the right length make a session")
        }
        self.sealer = sealer
        self.opener = opener
    }

    // MARK: Sending

    /// A sealed RTP packet. `index` is the extended sequence number, so that the ROC is right over wraps.
    package func seal(
        ssrc: UInt32, index: UInt64, timestamp: UInt32, payloadType: UInt8, marker: Bool = false, payload: [UInt8],
        extensions: [(id: UInt8, bytes: [UInt8])] = [], padding: UInt8 = 0
    ) -> [UInt8] {
        var packet = [UInt8](repeating: 0, count: 12 + 300 + payload.count + Int(padding) + 16)
        let length = packet.withUnsafeMutableBytes { buffer -> Int in
            var writer = RTPHeaderWriter(
                into: buffer, marker: marker, payloadType: payloadType,
                sequenceNumber: UInt16(truncatingIfNeeded: index),
                timestamp: timestamp, ssrc: ssrc,
                twoByte: extensions.contains {
                    RTPHeaderWriter.needsTwoByteForm(id: $0.id, length: $0.bytes.count)
                })
            for element in extensions { _ = element.bytes.withUnsafeBytes { writer.append(id: element.id, bytes: $0) } }
            let header = writer.finish() ?? 12
            for (offset, byte) in payload.enumerated() { buffer[header + offset] = byte }
            var end = header + payload.count
            if padding > 0 {
                buffer[0] |= 0x20
                end += Int(padding)
                buffer[end - 1] = padding
            }
            guard let base = buffer.baseAddress else { return 0 }
            batch.append(sealer, packet: base, length: end, headerLength: header, ssrc: ssrc, index: index)
            batch.seal()
            return end + spec.inbound.profile.tagLength
        }
        packet.removeSubrange(length...)
        return packet
    }

    package func publish(
        _ network: VirtualNetwork, ssrc: UInt32, index: UInt64, timestamp: UInt32, payloadType: UInt8,
        marker: Bool = false, payload: [UInt8], extensions: [(id: UInt8, bytes: [UInt8])] = [], padding: UInt8 = 0
    ) {
        let packet = seal(
            ssrc: ssrc, index: index, timestamp: timestamp, payloadType: payloadType, marker: marker, payload: payload,
            extensions: extensions, padding: padding)
        sent[UInt16(truncatingIfNeeded: index)] = packet
        network.send(packet, from: address, to: socket)
    }

    /// RTCP, written by `body`, sealed and sent.
    package func sendRTCP(_ network: VirtualNetwork, _ body: (inout RTCPWriter) -> Bool) {
        network.send(sealRTCP(body), from: address, to: socket)
    }

    package func sealRTCP(_ body: (inout RTCPWriter) -> Bool) -> [UInt8] {
        var packet = [UInt8](repeating: 0, count: 1400)
        let length = packet.withUnsafeMutableBytes { buffer -> Int in
            var writer = RTCPWriter(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<1200]))
            precondition(body(&writer), "a test's RTCP fits")
            return sealer.sealRTCP(buffer, length: writer.count) ?? 0
        }
        packet.removeSubrange(length...)
        return packet
    }

    /// Any bytes, sealed as RTCP: what a peer with the right key and bad manners can send.
    package func sealRaw(_ bytes: [UInt8]) -> [UInt8] {
        var packet = bytes + [UInt8](repeating: 0, count: 32)
        let length = packet.withUnsafeMutableBytes { sealer.sealRTCP($0, length: bytes.count) ?? 0 }
        packet.removeSubrange(length...)
        return packet
    }

    // MARK: Receiving

    package func receive(_ datagram: [UInt8], from source: TransportAddress, network: VirtualNetwork) {
        var bytes = datagram
        bytes.withUnsafeMutableBytes { buffer in
            guard buffer.count >= 12 || (buffer.count >= 8 && buffer[1] >= 192) else { return }
            if buffer[1] & 0x7F >= 64, buffer[1] & 0x7F <= 95 {
                receiveRTCP(buffer, network)
            } else {
                receiveRTP(buffer, network)
            }
        }
    }

    private func receiveRTP(_ buffer: UnsafeMutableRawBufferPointer, _ network: VirtualNetwork) {
        var header = RTPHeader()
        guard case .header = RTPHeader.parse(UnsafeRawBufferPointer(buffer).bytes, into: &header) else {
            failures[.malformedHeader, default: 0] += 1
            return
        }
        switch opener.openRTP(
            buffer, ssrc: header.ssrc, sequenceNumber: header.sequenceNumber, headerLength: header.headerLength)
        {
        case .failed(let reason): failures[reason, default: 0] += 1
        case .opened(let length):
            receivedCount += 1
            noteMissing(header, network)
            guard keepsPackets else { return }
            var extensions: [UInt8: [UInt8]] = [:]
            var reader = HeaderExtensionReader(header)
            while let element = reader.next(UnsafeRawBufferPointer(buffer).bytes) {
                extensions[element.id] = Array(buffer[element.offset..<element.offset + element.length])
            }
            received.append(
                Received(
                    ssrc: header.ssrc, sequence: header.sequenceNumber, timestamp: header.timestamp,
                    payloadType: header.payloadType, marker: header.marker,
                    payload: Array(buffer[header.headerLength..<length]), extensions: extensions,
                    extensionProfile: header.extensionProfile, time: network.now))
        }
    }

    private func noteMissing(_ header: RTPHeader, _ network: VirtualNetwork) {
        guard requestsMissing else { return }
        let ssrc = header.ssrc
        missing[ssrc]?[header.sequenceNumber] = nil
        if let last = highest[ssrc] {
            let step = Int16(bitPattern: header.sequenceNumber &- last)
            if step > 1 {
                for offset in 1..<UInt16(step) { missing[ssrc, default: [:]][last &+ offset] = .zero }
            }
            if step > 0 { highest[ssrc] = header.sequenceNumber }
        } else {
            highest[ssrc] = header.sequenceNumber
        }
        let due = (missing[ssrc] ?? [:]).filter { network.now - $0.value > .milliseconds(60) }.keys.sorted()
        guard !due.isEmpty else { return }
        for sequence in due { missing[ssrc]?[sequence] = network.now }
        for sequence in due {
            sendRTCP(network) { writer in
                [sequence].withUnsafeBufferPointer { writer.nack(senderSSRC: 1, mediaSSRC: ssrc, sequences: $0) }
            }
        }
    }

    private func receiveRTCP(_ buffer: UnsafeMutableRawBufferPointer, _ network: VirtualNetwork) {
        guard case .opened(let length) = opener.openRTCP(buffer) else {
            failures[.authenticationFailed, default: 0] += 1
            return
        }
        let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<length]).bytes
        var reader = RTCPCompoundReader()
        while let block = reader.next(bytes) {
            if let request = RTCPPictureLossIndication.parse(bytes, block) {
                pictureLossIndications.append(network.now)
                keyFrameRequests.append(request.mediaSSRC)
            }
            if let estimate = RTCPReceiverEstimate.parse(bytes, block) { estimates.append(estimate.bitrate) }
            if let feedback = RTCPTransportFeedback.parse(bytes, block) { noteArrivals(feedback, bytes, block) }
            if RTCPFullIntraRequest.parse(bytes, block) != nil { pictureLossIndications.append(network.now) }
            if let report = RTCPSenderReport.parse(bytes, block) { senderReports.append((report, network.now)) }
            for index in 0..<RTCPReportBlock.count(block) {
                if let report = RTCPReportBlock.parse(bytes, block, index: index) { receiverReports.append(report) }
            }
            if let goodbye = RTCPGoodbye.parse(bytes, block) {
                for index in 0..<goodbye.count {
                    if let ssrc = RTCPGoodbye.ssrc(bytes, block, index: index) { goodbyes.append(ssrc) }
                }
            }
            guard RTCPNack.parse(bytes, block) != nil else { continue }
            var nacks = RTCPNackReader(block)
            while let sequence = nacks.next(bytes) {
                nackedSequences.append(sequence)
                if answersNacks, let packet = sent[sequence] { network.send(packet, from: address, to: socket) }
            }
        }
        if reader.malformed { failures[.malformedRTCP, default: 0] += 1 }
    }

    private func noteArrivals(_ feedback: RTCPTransportFeedback, _ bytes: RawSpan, _ block: RTCPBlock) {
        var reader = RTCPTransportFeedbackReader(feedback, block)
        while let arrival = reader.next(bytes) { reportedArrivals.append(arrival.sequence) }
    }

    package func forgetReceived() { received = [] }
}
