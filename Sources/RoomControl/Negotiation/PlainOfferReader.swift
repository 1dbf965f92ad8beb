import MediaContract
package import MediaWire

// How an offer is read: first each m-line by itself (what it carries), then the bundles (who shares a transport), then the
// transports (keys and addresses). What is wrong with one m-line refuses that m-line; what is dangerous or contradictory
// refuses the offer.

extension PlainOffer {
    /// Reads a parsed description as a plain offer.
    package init(
        _ session: SessionDescription, purpose: LegPurpose, client: TransportAddress
    ) throws(NegotiationError) {
        self.init(
            purpose: purpose, lines: [], transports: [], isIPv6: !client.unmapped.isIPv4,
            allowsMixedExtensions: session.allowsMixedExtensions
                || session.media.contains { $0.allowsMixedExtensions })
        var reader = PlainOfferReader(session: session, purpose: purpose, client: client.unmapped)
        try reader.readLines()
        try reader.readBundles()
        try reader.readSingles()
        try reader.checkAnyAccepted()
        reader.finish(&self)
    }
}

private struct PlainOfferReader {
    /// What is known about an m-line so far.
    enum State {
        case refused(String)
        case usable(PlainOffer.AcceptedLine)
        /// Usable, and on the transport of that tagged m-line.
        case placed(PlainOffer.AcceptedLine, tagged: Int)
    }

    /// What the m-line's own transport attributes say.
    struct OwnTransport {
        var tag: Int
        var key: SRTPMasterKey
        var remote: TransportSpec.Remote
    }

    let session: SessionDescription
    let purpose: LegPurpose
    let client: TransportAddress
    var states: [State] = []
    /// By tagged m-line.
    var transports: [Int: (own: OwnTransport, bundle: [String])] = [:]

    // MARK: What an m-line carries

    mutating func readLines() throws(NegotiationError) {
        var usable = 0
        for media in session.media {
            var state = try readLine(media)
            if case .usable = state {
                usable += 1
                if usable > PlainOffer.maximumLines {
                    state = .refused("a leg has at most \(PlainOffer.maximumLines) m-lines")
                }
            }
            states.append(state)
        }
    }

    private func readLine(_ media: MediaDescription) throws(NegotiationError) -> State {
        guard !media.isRejected else { return .refused("its port is 0") }
        guard let kind = media.kind else { return .refused("only audio and video are carried on plain legs") }
        switch media.profile {
        case .secureRTP: break
        case .plainRTP:
            return .refused("\(media.transport) is not protected; RTP/SAVP or RTP/SAVPF with a=crypto is needed")
        case .dtlsRTP, .dtlsSCTP, .other:
            return .refused("its transport is neither RTP/SAVP nor RTP/SAVPF, as the others' are")
        }
        if let reason = purpose.objection(to: media.direction) { return .refused(reason) }
        let codecs = try readCodecs(media, kind: kind)
        guard !codecs.isEmpty else { return .refused(kind.noUsablePayloadType) }
        let extensions = try readExtensions(media)
        let ssrcs = primarySSRCs(media)
        guard ssrcs.count <= PlainOffer.maximumSSRCs else {
            return .refused("it declares \(ssrcs.count) SSRCs, and \(PlainOffer.maximumSSRCs) are the most")
        }
        return .usable(
            PlainOffer.AcceptedLine(
                kind: kind, codecs: codecs, transport: 0, mid: media.mid, ssrcs: ssrcs, extensions: extensions))
    }

    /// The usable payload types in the m-line's order: the first one for publishing, each codec once for playing.
    private func readCodecs(
        _ media: MediaDescription, kind: MediaKind
    ) throws(NegotiationError) -> [PlainOffer.OfferedCodec] {
        var maps: [UInt8: RTPMap] = [:]
        for map in media.rtpMaps {
            if let other = maps[map.payloadType], other != map {
                throw NegotiationError(
                    .malformed, line: media.line, reason: "payload type \(map.payloadType) has two a=rtpmap lines")
            }
            maps[map.payloadType] = map
        }
        let parameters = media.formatParameters
        // Without the F in RTP/SAVPF, a=rtcp-fb has no meaning (RFC 4585, section 4.2).
        let feedback = media.profile.hasFeedback ? media.feedback : []

        var result: [PlainOffer.OfferedCodec] = []
        var isBest: [Bool] = []
        var seen: Set<UInt8> = []
        for format in media.formats {
            // RFC 5761, section 4: with the marker bit, 64...95 read as RTCP packet types; the node looks for them on every socket.
            // "0111" is not the format that a=rtpmap:111 describes, and an answer would name another.
            guard let payloadType = UInt8(format), String(payloadType) == format, seen.insert(payloadType).inserted,
                let codec = maps[payloadType]?.codec, codec.kind == kind,
                !(64...95).contains(payloadType)
            else { continue }
            let own = parameters.first { $0.format == format }
            guard let fit = CodecFit(codec, own) else { continue }
            var set: FeedbackSet = []
            for line in feedback where line.payloadType == nil || line.payloadType == payloadType {
                set.formUnion(FeedbackSet(line: line.value))
            }
            let offered = PlainOffer.OfferedCodec(
                codec: codec, payloadType: payloadType, parameters: fit.answered, feedback: set)
            if purpose == .publish { return [offered] }
            if let place = result.firstIndex(where: { $0.codec == codec }) {
                guard fit.isBest, !isBest[place] else { continue }
                result[place] = offered
                isBest[place] = true
            } else {
                result.append(offered)
                isBest.append(fit.isBest)
            }
        }
        return result
    }

    private func readExtensions(_ media: MediaDescription) throws(NegotiationError) -> [PlainOffer.OfferedExtension] {
        var uris: [UInt16: String] = [:]
        var result: [PlainOffer.OfferedExtension] = []
        // By id, so that the order of lines has no meaning; of two ids for one URI the lower is taken.
        for map in media.extensions.sorted(by: { $0.id < $1.id }) {
            if map.id < 256, let other = uris[map.id], other != map.uri {
                throw NegotiationError(
                    .malformed, line: map.line, reason: "the header extension id \(map.id) has two meanings")
            }
            uris[map.id] = map.uri
            let direction = map.direction ?? media.direction
            guard let kind = map.kind, kind == .mid || kind.isEndToEnd,
                purpose.uses(direction),
                !result.contains(where: { $0.mapping.kind == kind || UInt16($0.mapping.id) == map.id }),
                let id = UInt8(exactly: map.id), isUsableID(id, media)
            else { continue }
            // The MID must fit into the one-byte form (RFC 8285, section 4.2).
            if kind == .mid, !(1...16).contains(media.mid?.utf8.count ?? 0) { continue }
            // Its descriptors are above 16 bytes where they matter most, and then need the two-byte form.
            if kind == .dependencyDescriptor, !media.allowsMixedExtensions { continue }
            result.append(
                PlainOffer.OfferedExtension(
                    mapping: HeaderExtensionMapping(id: id, kind: kind), direction: map.direction))
        }
        return result
    }

    /// RFC 8285, section 4.2 and 4.3: 1...14 in the one-byte form; higher ones need the two-byte form.
    private func isUsableID(_ id: UInt8, _ media: MediaDescription) -> Bool {
        (1...14).contains(id) || (id > 15 && media.allowsMixedExtensions)
    }

    /// The declared SSRCs, without those that only repair another one (RFC 5576, section 4.2; RFC 5956, section 4.3).
    private func primarySSRCs(_ media: MediaDescription) -> [UInt32] {
        guard purpose == .publish else { return [] }
        var repair: Set<UInt32> = []
        for group in media.ssrcGroups where ["FID", "FEC", "FEC-FR"].contains(group.semantics) {
            repair.formUnion(group.ssrcs.dropFirst())
        }
        return media.ssrcs.map(\.ssrc).filter { !repair.contains($0) }
    }

    // MARK: Who shares a transport

    /// RFC 9143, section 7.3. A bundle needs muxed RTCP (section 9.3) and a tagged m-line with keys; without them its
    /// m-lines stand alone.
    mutating func readBundles() throws(NegotiationError) {
        var indices: [String: Int] = [:]
        for (index, media) in session.media.enumerated() {
            if let mid = media.mid { indices[mid] = index }
        }
        var seen: Set<String> = []
        for group in session.bundles {
            var members: [Int] = []
            for mid in group.mids {
                guard seen.insert(mid).inserted else {
                    throw NegotiationError(
                        .malformed, line: session.attributes.first { $0.name == "group" }?.line,
                        reason: "the mid \"\(mid.prefix(40))\" stands twice in a=group:BUNDLE")
                }
                if let index = indices[mid], case .usable = states[index] { members.append(index) }
            }
            try place(members)
        }
    }

    private mutating func place(_ members: [Int]) throws(NegotiationError) {
        for tagged in members {
            let media = session.media[tagged]
            guard media.port != 0, media.rtcpMux, case .success(let own) = try ownTransport(media) else { continue }
            try checkShared(members)
            transports[tagged] = (own, members.compactMap { session.media[$0].mid })
            for index in members {
                if case .usable(let line) = states[index] { states[index] = .placed(line, tagged: tagged) }
            }
            return
        }
    }

    /// On one transport, a payload type, an extension id and an SSRC mean the same for all (RFC 9143, section 9.1 and 10).
    private func checkShared(_ members: [Int]) throws(NegotiationError) {
        var codecs: [UInt8: Codec] = [:]
        var uris: [UInt16: String] = [:]
        var ssrcs: Set<UInt32> = []
        for index in members {
            guard case .usable(let line) = states[index] else { continue }
            let media = session.media[index]
            for choice in line.codecs {
                if let other = codecs[choice.payloadType], other != choice.codec {
                    throw NegotiationError(
                        .malformed, line: media.line,
                        reason: "payload type \(choice.payloadType) means two codecs in one bundle")
                }
                codecs[choice.payloadType] = choice.codec
            }
            for map in media.extensions where map.id < 256 {
                if let other = uris[map.id], other != map.uri {
                    throw NegotiationError(
                        .malformed, line: map.line,
                        reason: "the header extension id \(map.id) has two meanings in one bundle")
                }
                uris[map.id] = map.uri
            }
            for ssrc in line.ssrcs where !ssrcs.insert(ssrc).inserted {
                throw NegotiationError(
                    .malformed, line: media.line, reason: "the SSRC \(ssrc) is declared by two m-lines of one bundle")
            }
        }
    }

    mutating func readSingles() throws(NegotiationError) {
        for index in states.indices {
            guard case .usable(let line) = states[index] else { continue }
            let media = session.media[index]
            if media.port == 0 {
                states[index] = .refused(
                    "it is bundle-only, and no m-line of its bundle has a=rtcp-mux and a usable key")
                continue
            }
            switch try ownTransport(media) {
            case .success(let own):
                transports[index] = (own, [])
                states[index] = .placed(line, tagged: index)
            case .failure(let refusal):
                states[index] = .refused(refusal.reason)
            }
        }
    }

    // MARK: Keys and addresses

    struct Refusal: Error { var reason: String }

    /// AEAD costs least and protects best; AES-CM is what FFmpeg has.
    private static let preference: [SRTPProfile] = [.aeadAES128GCM, .aeadAES256GCM, .aesCM128HmacSHA1_80]

    private func ownTransport(_ media: MediaDescription) throws(NegotiationError) -> Result<OwnTransport, Refusal> {
        let cryptos = media.cryptos.sorted { $0.tag < $1.tag }
        for profile in PlainOfferReader.preference {
            for crypto in cryptos where crypto.profile == profile {
                guard let key = crypto.masterKey else { continue }
                let remote = try remote(media)
                return .success(OwnTransport(tag: crypto.tag, key: key, remote: remote))
            }
        }
        for crypto in cryptos {
            if case .unusable(let reason) = crypto.key {
                return .failure(Refusal(reason: "its a=crypto of line \(crypto.line) cannot be used: \(reason)"))
            }
        }
        return .failure(Refusal(reason: "it has no a=crypto line"))
    }

    private func remote(_ media: MediaDescription) throws(NegotiationError) -> TransportSpec.Remote {
        guard purpose == .play else { return .latched }
        guard let connection = media.connection else {
            throw NegotiationError(.malformed, line: media.line, reason: "the m-line has no c= line")
        }
        let rtp = try destination(connection, port: media.port, line: media.line)
        if media.rtcpMux { return .known(rtp: rtp, rtcp: rtp) }
        guard let rtcp = media.rtcp else {
            guard let port = UInt16(exactly: Int(media.port) + 1) else {
                throw NegotiationError(
                    .notAcceptable, line: media.line, reason: "there is no port next to 65535 for RTCP")
            }
            return .known(rtp: rtp, rtcp: rtp.with(port: port))
        }
        return .known(
            rtp: rtp, rtcp: try destination(rtcp.connection ?? connection, port: rtcp.port, line: rtcp.line))
    }

    /// Media goes to the host that asked for it and to nobody else.
    private func destination(
        _ connection: SDPConnection, port: UInt16, line: Int
    ) throws(NegotiationError) -> TransportAddress {
        guard let address = connection.address(port: port)?.unmapped else {
            throw NegotiationError(
                .notAcceptable, line: connection.line, reason: "the address must be a literal IP address of its type")
        }
        guard address.isSameHost(as: client) else {
            throw NegotiationError(
                .notAcceptable, line: connection.line,
                reason: "media is sent only to the address that the request came from, and \(address.host) is another")
        }
        guard port != 0, port != 9 else {
            throw NegotiationError(
                .notAcceptable, line: line, reason: "port \(port) is a placeholder; the port that receives is needed")
        }
        return address
    }

    // MARK: The result

    func checkAnyAccepted() throws(NegotiationError) {
        var refused: [(media: MediaDescription, reason: String)] = []
        for (media, state) in zip(session.media, states) {
            guard case .refused(let reason) = state else { return }
            refused.append((media, reason))
        }
        throw .noUsableLine(refused)
    }

    func finish(_ offer: inout PlainOffer) {
        var places: [Int: Int] = [:]
        for (index, state) in states.enumerated() {
            let media = session.media[index]
            guard case .placed(var line, let tagged) = state, let (own, bundle) = transports[tagged] else {
                let reason = if case .refused(let reason) = state { reason } else { "it has no transport" }
                offer.lines.append(PlainOffer.Line(media: media, outcome: .refused(reason)))
                continue
            }
            let place = places[tagged] ?? offer.transports.count
            if place == offer.transports.count {
                places[tagged] = place
                let taggedMedia = session.media[tagged]
                offer.transports.append(
                    PlainOffer.PlannedTransport(
                        lines: [], taggedLine: tagged, bundle: bundle, rtcpMux: taggedMedia.rtcpMux,
                        reducedSizeRTCP: taggedMedia.rtcpReducedSize && taggedMedia.profile.hasFeedback,
                        cryptoTag: own.tag, clientKey: own.key, remote: own.remote))
            }
            offer.transports[place].lines.append(index)
            line.transport = place
            offer.lines.append(PlainOffer.Line(media: media, outcome: .accepted(line)))
        }
    }
}
