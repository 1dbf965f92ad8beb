// The attributes that Parlor reads, one type each. An initialiser answers `nil` for an attribute of another name, and throws
// for one of its name that is malformed.

/// `a=rtpmap:96 VP8/90000` (RFC 8866, section 6.6).
package struct RTPMap: Hashable, Sendable {
    package var payloadType: UInt8
    package var name: String
    /// In Hz.
    package var clockRate: UInt32
    /// `nil`: not written, which means 1.
    package var channels: UInt8?

    package init(payloadType: UInt8, codec: Codec) {
        self.payloadType = payloadType
        name = codec.name
        clockRate = codec.clockRate
        channels = codec == .opus ? 2 : nil  // RFC 7587, section 7: always 2
    }

    /// The codec that Parlor knows, if name, clock rate and channels are those of its payload format. Opus without its
    /// `/2` is taken, as people write it by hand.
    package var codec: Codec? {
        guard let codec = Codec(name: name), codec.clockRate == clockRate else { return nil }
        return codec == .opus && channels != nil && channels != 2 ? nil : codec
    }

    package var attribute: SDPAttribute {
        SDPAttribute("rtpmap", "\(payloadType) \(name)/\(clockRate)" + (channels.map { "/\($0)" } ?? ""))
    }

    init?(_ attribute: SDPAttribute) throws(SDPError) {
        guard attribute.name == "rtpmap" else { return nil }
        let words = attribute.text.words
        let parts = words.count == 2 ? words[1].parts(at: SDPText.slash) : []
        guard (2...3).contains(parts.count), let payloadType = words[0].decimal(as: UInt8.self), payloadType < 128,
            parts[0].isToken, let clockRate = parts[1].decimal(as: UInt32.self), clockRate > 0
        else {
            throw SDPError(
                line: attribute.line,
                reason:
                    "a=rtpmap is a payload type of 0 to 127, a space, and NAME/CLOCKRATE, not \(attribute.text.quoted)")
        }
        if parts.count == 3 {
            guard let channels = parts[2].decimal(as: UInt8.self) else {
                throw SDPError(line: attribute.line, reason: "a=rtpmap has no number of channels in \(parts[2].quoted)")
            }
            self.channels = channels
        }
        self.payloadType = payloadType
        self.clockRate = clockRate
        name = String(parts[0])
    }
}

/// `a=fmtp:96 profile-id=0` (RFC 8866, section 6.15).
package struct FormatParameters: Hashable, Sendable {
    package var format: String
    package var text: String

    package init(payloadType: UInt8, text: String) {
        format = String(payloadType)
        self.text = text
    }

    package var attribute: SDPAttribute { SDPAttribute("fmtp", "\(format) \(text)") }

    /// Names and values in their order; a parameter without `=` has an empty value.
    package var parameters: [(name: String, value: String)] {
        Substring(text).parts(at: SDPText.semicolon).compactMap { part in
            let (name, value) = part.trimmed.cut(at: SDPText.equals)
            return name.isEmpty ? nil : (String(name.trimmed), String((value ?? "").trimmed))
        }
    }

    /// Parameter names compare without case (RFC 4855, section 4.3).
    package func value(of name: String) -> String? {
        parameters.first { $0.name.lowercased() == name }?.value
    }

    init?(_ attribute: SDPAttribute) throws(SDPError) {
        guard attribute.name == "fmtp" else { return nil }
        let (format, rest) = attribute.text.cut(at: SDPText.space)
        guard format.isToken else {
            throw SDPError(line: attribute.line, reason: "a=fmtp is a format, a space, and parameters")
        }
        self.format = String(format)
        text = String((rest ?? "").trimmed)
    }
}

/// `a=rtcp-fb:96 nack pli` (RFC 4585, section 4.2).
package struct RTCPFeedbackLine: Hashable, Sendable {
    /// `nil`: `*`, every payload type of the m-line.
    package var payloadType: UInt8?
    /// What follows, single spaces between the words.
    package var value: String

    package init(payloadType: UInt8?, value: String) {
        self.payloadType = payloadType
        self.value = value
    }

    package var attribute: SDPAttribute {
        SDPAttribute("rtcp-fb", "\(payloadType.map { String($0) } ?? "*") \(value)")
    }

    init?(_ attribute: SDPAttribute) throws(SDPError) {
        guard attribute.name == "rtcp-fb" else { return nil }
        let words = attribute.text.words
        guard words.count >= 2 else {
            throw SDPError(line: attribute.line, reason: "a=rtcp-fb is a payload type or *, a space, and the feedback")
        }
        if words[0] != "*" {
            guard let number = words[0].decimal(as: UInt8.self), number < 128 else {
                throw SDPError(line: attribute.line, reason: "a=rtcp-fb has no payload type in \(words[0].quoted)")
            }
            payloadType = number
        }
        value = words.dropFirst().joined(separator: " ")
    }
}

/// `a=extmap:4/sendonly URI` (RFC 8285, section 8).
package struct ExtensionMap: Hashable, Sendable {
    /// 1...255 are ids on the wire; the grammar allows more in offers.
    package var id: UInt16
    package var direction: SDPDirection?
    package var uri: String
    package var line: Int

    package init(id: UInt8, direction: SDPDirection? = nil, kind: HeaderExtensionKind) {
        self.id = UInt16(id)
        self.direction = direction
        uri = kind.uri
        line = 0
    }

    package var kind: HeaderExtensionKind? { HeaderExtensionKind(uri: uri) }

    package var attribute: SDPAttribute {
        SDPAttribute("extmap", "\(id)\(direction.map { "/\($0.rawValue)" } ?? "") \(uri)")
    }

    init?(_ attribute: SDPAttribute) throws(SDPError) {
        guard attribute.name == "extmap" else { return nil }
        let words = attribute.text.words
        let (number, way) = (words.first ?? "").cut(at: SDPText.slash)
        guard words.count >= 2, let id = number.decimal(as: UInt16.self) else {
            throw SDPError(
                line: attribute.line, reason: "a=extmap is an id, a space, and a URI, not \(attribute.text.quoted)")
        }
        if let way {
            guard let direction = SDPDirection(rawValue: String(way)) else {
                throw SDPError(line: attribute.line, reason: "a=extmap has no direction in \(way.quoted)")
            }
            self.direction = direction
        }
        self.id = id
        uri = String(words[1])
        line = attribute.line
    }
}

/// An SSRC that `a=ssrc` lines declare.
package struct DeclaredSSRC: Hashable, Sendable {
    package var ssrc: UInt32
    package var cname: String?

    package init(ssrc: UInt32, cname: String?) {
        self.ssrc = ssrc
        self.cname = cname
    }

    package var attribute: SDPAttribute {
        SDPAttribute("ssrc", cname.map { "\(ssrc) cname:\($0)" } ?? "\(ssrc)")
    }
}

/// One `a=ssrc:NUMBER name:value` line (RFC 5576, section 4.1).
struct SSRCLine {
    var ssrc: UInt32
    var name: String
    var value: String?

    init?(_ attribute: SDPAttribute) throws(SDPError) {
        guard attribute.name == "ssrc" else { return nil }
        let (number, rest) = attribute.text.cut(at: SDPText.space)
        guard let ssrc = number.decimal(as: UInt32.self) else {
            throw SDPError(line: attribute.line, reason: "a=ssrc has no SSRC in \(number.quoted)")
        }
        self.ssrc = ssrc
        let (name, value) = (rest ?? "").trimmed.cut(at: SDPText.colon)
        self.name = String(name)
        self.value = value.map { String($0) }
    }
}

/// `a=ssrc-group:FID 1 2` (RFC 5576, section 4.2).
package struct SSRCGroup: Hashable, Sendable {
    package var semantics: String
    package var ssrcs: [UInt32]

    init?(_ attribute: SDPAttribute) throws(SDPError) {
        guard attribute.name == "ssrc-group" else { return nil }
        let words = attribute.text.words
        guard let first = words.first, first.isToken else {
            throw SDPError(line: attribute.line, reason: "a=ssrc-group needs a kind")
        }
        semantics = String(first)
        ssrcs = []
        for word in words.dropFirst() {
            guard let ssrc = word.decimal(as: UInt32.self) else {
                throw SDPError(line: attribute.line, reason: "a=ssrc-group has no SSRC in \(word.quoted)")
            }
            ssrcs.append(ssrc)
        }
    }
}

/// `a=rtcp:53020` or `a=rtcp:53020 IN IP4 192.0.2.1` (RFC 3605, section 2.1).
package struct RTCPAttribute: Equatable, Sendable {
    package var port: UInt16
    package var connection: SDPConnection?
    package var line: Int

    package init(port: UInt16, connection: SDPConnection? = nil) {
        self.port = port
        self.connection = connection
        line = 0
    }

    package var attribute: SDPAttribute {
        SDPAttribute("rtcp", connection.map { "\(port) \($0.text)" } ?? "\(port)")
    }

    init?(_ attribute: SDPAttribute) throws(SDPError) {
        guard attribute.name == "rtcp" else { return nil }
        let words = attribute.text.words
        guard let port = words.first?.decimal(as: UInt16.self) else {
            throw SDPError(line: attribute.line, reason: "a=rtcp has no port in \(attribute.text.quoted)")
        }
        self.port = port
        line = attribute.line
        if words.count > 1 { connection = try SDPConnection(words: Array(words.dropFirst()), line: attribute.line) }
    }
}

/// `a=fingerprint:sha-256 AB:CD…` (RFC 8122, section 5).
package struct Fingerprint: Hashable, Sendable {
    /// The hash function's name in lower case.
    package var hash: String
    package var bytes: [UInt8]

    init?(_ attribute: SDPAttribute) throws(SDPError) {
        guard attribute.name == "fingerprint" else { return nil }
        let words = attribute.text.words
        guard words.count == 2, words[0].isToken else {
            throw SDPError(line: attribute.line, reason: "a=fingerprint is a hash function, a space, and its value")
        }
        hash = words[0].lowercased()
        bytes = []
        for part in words[1].parts(at: SDPText.colon) {
            guard part.utf8.count == 2, part.isToken, let byte = UInt8(part, radix: 16), part.utf8.first != 0x2B else {
                throw SDPError(
                    line: attribute.line, reason: "a=fingerprint is pairs of hexadecimal digits with : between")
            }
            bytes.append(byte)
        }
    }
}

/// `a=rid:h send pt=97;max-width=1280` (RFC 8851, section 10).
package struct RestrictionID: Hashable, Sendable {
    package var id: String
    /// True: the writer of the description sends it.
    package var isSend: Bool
    package var restrictions: String

    init?(_ attribute: SDPAttribute) throws(SDPError) {
        guard attribute.name == "rid" else { return nil }
        let words = attribute.text.words
        guard words.count >= 2, words[0].isToken, words[1] == "send" || words[1] == "recv" else {
            throw SDPError(
                line: attribute.line, reason: "a=rid is an id, then send or recv, not \(attribute.text.quoted)")
        }
        id = String(words[0])
        isSend = words[1] == "send"
        restrictions = words.dropFirst(2).joined(separator: " ")
    }
}

/// `a=simulcast:send h;m;~l` (RFC 8853, section 5.1): the order here, not that of `a=rid`, is the order of preference.
package struct Simulcast: Hashable, Sendable {
    package struct Stream: Hashable, Sendable {
        /// Alternatives, the preferred one first; usually one.
        package var ids: [String]
        /// Begins paused (`~`).
        package var isPaused: Bool
    }

    package var send: [Stream] = []
    package var receive: [Stream] = []

    init?(_ attribute: SDPAttribute) throws(SDPError) {
        guard attribute.name == "simulcast" else { return nil }
        let words = attribute.text.words
        guard !words.isEmpty, words.count % 2 == 0 else {
            throw SDPError(line: attribute.line, reason: "a=simulcast is send or recv and a list of rids")
        }
        for index in stride(from: 0, to: words.count, by: 2) {
            // Early Firefox versions wrote "send rid=h;m;l".
            let list = words[index + 1].hasPrefix("rid=") ? words[index + 1].dropFirst(4) : words[index + 1]
            let streams = list.parts(at: SDPText.semicolon).map { part -> Stream in
                let alternatives = part.parts(at: UInt8(ascii: ","))
                let paused = alternatives.first?.utf8.first == UInt8(ascii: "~")
                let ids = alternatives.map { String($0.utf8.first == UInt8(ascii: "~") ? $0.dropFirst() : $0) }
                return Stream(ids: ids, isPaused: paused)
            }
            switch words[index] {
            case "send": send = streams
            case "recv": receive = streams
            default:
                throw SDPError(
                    line: attribute.line, reason: "a=simulcast has neither send nor recv in \(words[index].quoted)")
            }
        }
    }
}
