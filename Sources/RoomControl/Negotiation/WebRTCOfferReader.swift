import MediaContract
package import MediaWire

// How a WebRTC offer is read: first each m-line by itself, then the bundle, then its transport. What is wrong with one m-line
// refuses that m-line; what is contradictory, or would lose media without a word, refuses the offer.

extension WebRTCOffer {
    /// Reads a parsed description as a WebRTC offer.
    package init(_ session: SessionDescription, purpose: LegPurpose) throws(NegotiationError) {
        var reader = WebRTCOfferReader(session: session, purpose: purpose)
        try reader.readLines()
        let members = try reader.readBundle()
        let tagged = try reader.taggedLine(of: members)
        try reader.checkShared(members)
        self.init(
            purpose: purpose, lines: reader.lines, transport: try reader.readTransport(session.media[tagged]),
            bundle: session.bundles.isEmpty ? [] : members.compactMap { session.media[$0].mid }, taggedLine: tagged,
            allowsMixedExtensions: session.allowsMixedExtensions
                || session.media.contains { $0.allowsMixedExtensions },
            trickles: session.media[tagged].inherited("ice-options")?.value?.split(separator: " ").contains("trickle")
                ?? false)
    }
}

private struct WebRTCOfferReader {
    let session: SessionDescription
    let purpose: LegPurpose
    var lines: [WebRTCOffer.Line] = []

    // MARK: What an m-line carries

    mutating func readLines() throws(NegotiationError) {
        var usable = 0
        for media in session.media {
            var outcome = try readLine(media)
            if case .accepted = outcome {
                usable += 1
                if usable > WebRTCOffer.maximumLines {
                    outcome = .refused("a leg has at most \(WebRTCOffer.maximumLines) m-lines")
                }
            }
            lines.append(WebRTCOffer.Line(media: media, outcome: outcome))
        }
        if usable == 0 { throw nothingUsable() }
    }

    private func nothingUsable() -> NegotiationError {
        .noUsableLine(
            lines.compactMap { line in
                guard case .refused(let reason) = line.outcome else { return nil }
                return (line.media, reason)
            })
    }

    private func readLine(_ media: MediaDescription) throws(NegotiationError) -> WebRTCOffer.Line.Outcome {
        guard !media.isRejected else { return .refused("its port is 0") }
        guard let kind = media.kind else { return .refused("only audio and video are carried on legs") }
        switch media.profile {
        case .dtlsRTP: break
        case .secureRTP where !media.has("crypto"): break  // as older clients wrote it (RFC 5763, section 5)
        default: return .refused("its transport is \(media.transport.quoted), and UDP/TLS/RTP/SAVPF is needed")
        }
        if let reason = purpose.objection(to: media.direction) { return .refused(reason) }
        guard media.rtcpMux else { return .refused("it has no a=rtcp-mux; RTCP has no port of its own here") }
        let codecs = try WebRTCCodecReader(media, kind: kind, purpose: purpose).codecs
        guard !codecs.isEmpty else { return .refused(kind.noUsablePayloadType) }
        return .accepted(
            WebRTCOffer.AcceptedLine(
                kind: kind, codecs: codecs, mid: media.mid, encodings: try encodings(media, kind),
                layers: purpose == .publish ? media.simulcast?.send.flatMap(\.ids) ?? [] : [],
                extensions: try readExtensions(media)))
    }

    /// Without `a=ssrc` and rids the m-line is one stream, which its MID or its payload type tells.
    private func encodings(_ media: MediaDescription, _ kind: MediaKind) throws(NegotiationError) -> [EncodingSpec] {
        guard purpose == .publish else { return [] }
        if PublishedStreams.sources(of: media).isEmpty, media.simulcast == nil, !media.rids.contains(where: \.isSend) {
            return [EncodingSpec()]
        }
        return try PublishedStreams.read(media, kind: kind).encodings
    }

    private func isUsed(_ kind: HeaderExtensionKind) -> Bool {
        switch kind {
        case .mid: true
        case .rid, .repairedRid, .transportWideCC, .absoluteSendTime: purpose == .publish
        // Browsers then turn their pictures themselves, and players need not know how.
        case .videoOrientation: purpose == .play
        case .audioLevel, .playoutDelay, .absoluteCaptureTime, .dependencyDescriptor: true
        case .transmissionOffset: false
        }
    }

    private func readExtensions(_ media: MediaDescription) throws(NegotiationError) -> [PlainOffer.OfferedExtension] {
        var uris: [UInt16: String] = [:]
        var result: [PlainOffer.OfferedExtension] = []
        for map in media.extensions {
            if let other = uris.updateValue(map.uri, forKey: map.id), other != map.uri {
                throw NegotiationError(
                    .malformed, line: map.line, reason: "the header extension id \(map.id) has two meanings")
            }
            let direction = map.direction ?? media.direction
            // 1 to 14 is what the one-byte form has (RFC 8285, section 4.2).
            guard let kind = map.kind, isUsed(kind), purpose.uses(direction),
                (1...14).contains(map.id), let id = UInt8(exactly: map.id),
                !result.contains(where: { $0.mapping.kind == kind })
            else { continue }
            if kind == .mid, !(1...16).contains(media.mid?.utf8.count ?? 0) { continue }
            // Its descriptors are above 16 bytes where they matter most, and then need the two-byte form.
            if kind == .dependencyDescriptor, !media.allowsMixedExtensions { continue }
            result.append(
                PlainOffer.OfferedExtension(
                    mapping: HeaderExtensionMapping(id: id, kind: kind), direction: map.direction))
        }
        return result
    }

    // MARK: The bundle

    /// The usable m-lines, all of which share one transport, in the order of their group.
    func readBundle() throws(NegotiationError) -> [Int] {
        let usable = lines.indices.filter { lines[$0].accepted != nil }
        let groupLine = session.attributes.first { $0.name == "group" }?.line
        var seen: Set<String> = []
        for mid in session.bundles.flatMap(\.mids) where !seen.insert(mid).inserted {
            throw NegotiationError(
                .malformed, line: groupLine, reason: "the mid \(mid.quoted) stands twice in a=group:BUNDLE")
        }
        guard let first = usable.first else { return [] }
        guard
            let group = session.bundles.first(where: { group in
                session.media[first].mid.map(group.mids.contains) ?? false
            })
        else {
            if usable.count == 1, session.media[first].port != 0 { return usable }
            throw NegotiationError(
                .notAcceptable, line: session.media[first].line,
                reason: "there is one transport for all m-lines: a=group:BUNDLE with the mids of all is needed")
        }
        if let alone = usable.first(where: { index in
            session.media[index].mid.map { !group.mids.contains($0) } ?? true
        }) {
            throw NegotiationError(
                .notAcceptable, line: session.media[alone].line,
                reason: "there is one transport for all m-lines, and this one is not in the bundle of the others")
        }
        // Read once for each line: a group may have thousands of mids, and a section as many attributes.
        let indices = Dictionary(
            usable.compactMap { index in session.media[index].mid.map { ($0, index) } },
            uniquingKeysWith: { first, _ in first })
        return group.mids.compactMap { indices[$0] }
    }

    /// The first of the bundle that is no bundle-only one: its transport is the bundle's (RFC 9143, section 7.1.1).
    func taggedLine(of members: [Int]) throws(NegotiationError) -> Int {
        guard let tagged = members.first(where: { session.media[$0].port != 0 }) ?? members.first else {
            throw nothingUsable()
        }
        return tagged
    }

    /// On one transport, a payload type, an extension id and an SSRC mean the same for all (RFC 9143, sections 9.1 and 10).
    func checkShared(_ members: [Int]) throws(NegotiationError) {
        var types: [UInt8: String] = [:]
        var uses: [UInt8: HeaderExtensionKind] = [:]
        var ssrcs: Set<UInt32> = []
        for index in members {
            guard let line = lines[index].accepted else { continue }
            func malformed(_ reason: String) -> NegotiationError {
                NegotiationError(.malformed, line: session.media[index].line, reason: reason)
            }
            for codec in line.codecs {
                for (type, meaning) in codec.meanings
                where types.updateValue(meaning, forKey: type) ?? meaning != meaning {
                    throw malformed("payload type \(type) means two codecs in one bundle")
                }
            }
            for used in line.extensions.map(\.mapping)
            where uses.updateValue(used.kind, forKey: used.id) ?? used.kind != used.kind {
                throw malformed("the header extension id \(used.id) has two meanings in one bundle")
            }
            for ssrc in line.encodings.flatMap(\.sources) where !ssrcs.insert(ssrc).inserted {
                throw malformed("the SSRC \(ssrc) is declared by two m-lines of one bundle")
            }
        }
    }

    // MARK: The transport

    func readTransport(_ media: MediaDescription) throws(NegotiationError) -> WebRTCOffer.RemoteTransport {
        func refused(_ kind: NegotiationError.Kind, _ reason: String) -> NegotiationError {
            NegotiationError(kind, line: media.line, reason: reason)
        }
        if session.attributes.contains(where: { $0.name == "ice-lite" }) || media.has("ice-lite") {
            throw refused(
                .notAcceptable, "the client is an ICE-lite agent, and so is the node: nobody would send checks")
        }
        let fingerprints = try ClientFingerprints.read(media)
        guard !fingerprints.isEmpty else {
            throw refused(.malformed, "the m-line has no a=fingerprint; one of sha-256 is needed")
        }
        guard let ufrag = media.iceUfrag, let password = media.icePwd else {
            throw refused(.malformed, "the m-line has no \(media.iceUfrag == nil ? "a=ice-ufrag" : "a=ice-pwd")")
        }
        let role: DTLSRole
        switch media.setup {
        // Left to us, we wait: the client knows first when its checks came through (RFC 5763, section 5).
        case "active", "actpass", nil: role = .server
        case "passive": role = .client
        case let other: throw refused(.notAcceptable, "a=setup is \((other ?? "").quoted); actpass is usual")
        }
        return WebRTCOffer.RemoteTransport(
            fingerprints: fingerprints, role: role, iceUfrag: ufrag, icePassword: password)
    }
}

extension WebRTCOffer.OfferedCodec {
    /// What its payload types stand for.
    fileprivate var meanings: [(UInt8, String)] {
        [(payloadType, codec.name)] + (rtxPayloadType.map { [($0, "rtx of \(payloadType)")] } ?? [])
            + (redPayloadType.map { [($0, "red of \(payloadType)")] } ?? [])
    }
}
