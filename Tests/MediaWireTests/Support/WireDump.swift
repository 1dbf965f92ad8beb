import MediaWire

/// What the parsers make of some bytes, as one line: the expected column of the files in Tests/Vectors.
enum WireDump {
    static func rtp(_ bytes: [UInt8]) -> String {
        let span = bytes.span.bytes
        var header = RTPHeader()
        switch RTPHeader.parse(span, into: &header) {
        case .tooShort: return "too short"
        case .badVersion: return "bad version"
        case .malformed: return "malformed"
        case .header: break
        }
        var parts = ["pt=\(header.payloadType)", "seq=\(header.sequenceNumber)", "header=\(header.headerLength)"]
        if header.marker { parts.append("marker") }
        if header.csrcCount > 0 { parts.append("csrc=\(header.csrcCount)") }
        if header.hasPadding {
            parts.append("padding=" + (header.paddingLength(in: span).map(String.init) ?? "malformed"))
        }
        if header.extensionProfile != 0 {
            var reader = HeaderExtensionReader(header)
            var elements: [String] = []
            while let element = reader.next(span) {
                elements.append("\(element.id):" + wireHex(bytes[element.offset..<(element.offset + element.length)]))
            }
            parts.append("[" + elements.joined(separator: " ") + "]")
        }
        return parts.joined(separator: " ")
    }

    static func rtcp(_ bytes: [UInt8]) -> String {
        let span = bytes.span.bytes
        var reader = RTCPCompoundReader()
        var parts: [String] = []
        while let block = reader.next(span) {
            parts.append(self.block(bytes, block) ?? "type \(block.type)/\(block.count) of \(block.length)")
        }
        if reader.malformed { parts.append("malformed") }
        return parts.joined(separator: " | ")
    }

    private static func block(_ bytes: [UInt8], _ block: RTCPBlock) -> String? {
        let span = bytes.span.bytes
        switch block.type {
        case RTCPType.senderReport:
            guard let r = RTCPSenderReport.parse(span, block) else { return nil }
            return "SR \(x(r.ssrc)) ntp=\(x(r.ntp.bits)) ts=\(r.rtpTimestamp) packets=\(r.packetCount) "
                + "octets=\(r.octetCount)" + reports(bytes, block)
        case RTCPType.receiverReport:
            guard let report = RTCPReceiverReport.parse(span, block) else { return nil }
            return "RR \(x(report.ssrc))" + reports(bytes, block)
        case RTCPType.sourceDescription:
            var reader = RTCPSourceDescriptionReader(block)
            var text = "SDES"
            while let item = reader.next(span) {
                let value = String(decoding: bytes[item.offset..<(item.offset + item.length)], as: UTF8.self)
                text += " \(x(item.ssrc)):\(item.type)=\(value)"
            }
            return text
        case RTCPType.goodbye:
            guard let goodbye = RTCPGoodbye.parse(span, block) else { return nil }
            var text = "BYE"
            for index in 0..<goodbye.count {
                text += " " + (RTCPGoodbye.ssrc(bytes.span.bytes, block, index: index).map(x) ?? "?")
            }
            return text
        case RTCPType.transportFeedback, RTCPType.payloadFeedback:
            return feedback(bytes, block)
        default:
            return nil
        }
    }

    private static func feedback(_ bytes: [UInt8], _ block: RTCPBlock) -> String? {
        let span = bytes.span.bytes
        if let nack = RTCPNack.parse(span, block) {
            var reader = RTCPNackReader(block)
            var text = "NACK \(x(nack.senderSSRC)) \(x(nack.mediaSSRC))"
            while let sequence = reader.next(span) { text += " \(sequence)" }
            return text
        }
        if let pli = RTCPPictureLossIndication.parse(span, block) {
            return "PLI \(x(pli.senderSSRC)) \(x(pli.mediaSSRC))"
        }
        if let request = RTCPFullIntraRequest.parse(span, block) {
            var text = "FIR \(x(request.senderSSRC))"
            for index in 0..<RTCPFullIntraRequest.entryCount(block) {
                let entry = RTCPFullIntraRequest.entry(bytes.span.bytes, block, index: index)
                text += entry.map { " \(x($0.ssrc))#\($0.sequence)" } ?? " ?"
            }
            return text
        }
        if let estimate = RTCPReceiverEstimate.parse(span, block) {
            var text = "REMB \(x(estimate.senderSSRC)) \(estimate.bitrate)"
            for index in 0..<estimate.ssrcCount {
                text += " " + (RTCPReceiverEstimate.ssrc(bytes.span.bytes, block, index: index).map(x) ?? "?")
            }
            return text
        }
        if let feedback = RTCPTransportFeedback.parse(span, block) {
            var reader = RTCPTransportFeedbackReader(feedback, block)
            var text = "TWCC \(x(feedback.senderSSRC)) \(x(feedback.mediaSSRC)) base=\(feedback.baseSequence) "
            text += "count=\(feedback.statusCount) time=\(feedback.referenceTime) fb=\(feedback.feedbackCount)"
            while let arrival = reader.next(span) { text += " \(arrival.sequence)@\(arrival.ticks)" }
            return text
        }
        return nil
    }

    private static func reports(_ bytes: [UInt8], _ block: RTCPBlock) -> String {
        (0..<RTCPReportBlock.count(block)).map { index in
            guard let r = RTCPReportBlock.parse(bytes.span.bytes, block, index: index) else { return " ?" }
            return " {\(x(r.ssrc)) \(r.fractionLost)/256 lost=\(r.cumulativeLost) highest=\(x(r.highestSequence)) "
                + "jitter=\(r.jitter) lsr=\(x(r.lastSenderReport)) dlsr=\(r.delaySinceLastSenderReport)}"
        }.joined()
    }

    /// `codec` is the encoding name in lower case; `+m` behind it sets the marker.
    static func payload(codec name: some StringProtocol, _ bytes: [UInt8]) -> String {
        let marker = name.hasSuffix("+m")
        guard let codec = Codec(name: name.split(separator: "+").first ?? "") else { return "no such codec" }
        let facts = PayloadFacts.read(codec: codec, payload: bytes.span.bytes, marker: marker)
        var parts: [String] = []
        if !facts.isParsed { parts.append("unreadable") }
        if facts.isKeyFrame { parts.append("key") }
        if facts.startsFrame { parts.append("start") }
        if facts.endsFrame { parts.append("end") }
        if facts.spatialLayer > 0 { parts.append("S\(facts.spatialLayer)") }
        if facts.temporalLayer > 0 { parts.append("T\(facts.temporalLayer)") }
        return parts.isEmpty ? "-" : parts.joined(separator: " ")
    }

    private static func x(_ value: some BinaryInteger) -> String { String(value, radix: 16, uppercase: true) }
}
