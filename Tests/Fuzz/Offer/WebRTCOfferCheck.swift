import MediaContract
import MediaWire
import RoomControl
import RoomProtocol

/// What must hold for a WebRTC offer that was taken, and for the answer to it.
enum WebRTCOfferCheck {
    static let candidates = [
        ICECandidate(foundation: "udp1", priority: 2_130_706_431, ip: "198.51.100.1", protocol: "udp", port: 7882),
        ICECandidate(
            foundation: "tcp1", priority: 1_518_280_447, ip: "198.51.100.1", protocol: "tcp", port: 7882,
            tcpType: "passive"),
    ]
    static let fingerprint = [String](repeating: "AB", count: 32).joined(separator: ":")

    /// Answered as a room does it whose video is VP8.
    static func answer(_ offer: inout WebRTCOffer, codec: Codec = .vp8) -> WebRTCAnswer {
        for (index, line) in offer.acceptedLines {
            offer.settle(line.kind == .audio ? .opus : codec, forLine: index)
        }
        var random = RandomSource.seeded(1)
        let terms = WebRTCAnswer.Terms(
            credentials: ICECredentials(using: &random), fingerprint: fingerprint, candidates: candidates,
            cname: "node")
        return WebRTCAnswer.make(offer, terms: terms, random: &random)
    }

    /// The first broken promise, in words; `nil` if all were kept.
    static func check(_ taken: WebRTCOffer, of text: String) -> String? {
        guard let offered = try? SessionDescription(parsing: text) else { return "an offer that is no description" }
        var offer = taken
        let answer = answer(&offer)
        let accepted = offer.acceptedLines
        guard offer.lines.count == offered.media.count, (1...WebRTCOffer.maximumLines).contains(accepted.count),
            accepted.contains(where: { $0.index == offer.taggedLine })
        else { return "wrong number of lines" }
        guard !offer.transport.fingerprints.isEmpty,
            offer.transport.fingerprints.allSatisfy({ $0.bytes.count == $0.hash.length })
        else { return "no fingerprint" }
        guard let session = try? SessionDescription(parsing: answer.text), session.text == answer.text else {
            return "the answer does not read back"
        }
        guard session.media.count == offered.media.count, session.attributes.contains(where: { $0.name == "ice-lite" })
        else { return "m-lines lost or added, or no ICE-lite" }
        guard accepted.count == 1 || session.bundles.first?.mids.count == accepted.count else {
            return "accepted lines outside the bundle"
        }
        let publishes = offer.purpose == .publish
        for (index, media) in session.media.enumerated() {
            if let broken = check(media, offered.media[index], offer.lines[index].accepted, publishes) {
                return "m-line \(index): \(broken)"
            }
            let hasCandidates = !media.values("candidate").isEmpty
            if hasCandidates != (index == offer.taggedLine) { return "m-line \(index): candidates in the wrong place" }
        }
        let own = [answer.localSSRC] + answer.streams.flatMap { [$0.ssrc] + [$0.rtxSSRC].compactMap { $0 } }
        let theirs = accepted.flatMap { $0.line.encodings.flatMap { $0.ssrcs + [$0.rtxSSRC].compactMap { $0 } } }
        guard Set(own + theirs).count == own.count + theirs.count, !own.contains(0) else { return "an SSRC twice" }
        guard answer.streams.count == (publishes ? 0 : accepted.count) else { return "streams missing" }
        // Which end begins DTLS is settled by both descriptions together.
        let theirSetup = offered.media[offer.taggedLine].setup ?? "actpass"
        let ourSetup = session.media[offer.taggedLine].setup
        guard (ourSetup == "active") == (offer.transport.role == .client),
            (theirSetup, ourSetup) != ("active", "active"), (theirSetup, ourSetup) != ("passive", "passive")
        else { return "setup \(theirSetup) answered with \(ourSetup ?? "nothing")" }
        return nil
    }

    private static func check(
        _ media: MediaDescription, _ wanted: MediaDescription, _ accepted: WebRTCOffer.AcceptedLine?, _ publishes: Bool
    ) -> String? {
        guard media.media == wanted.media, media.transport == wanted.transport, media.mid == wanted.mid else {
            return "not the line that was offered"
        }
        guard (media.port == 0) == (accepted == nil) else { return "accepted without a port, or refused with one" }
        guard Set(media.formats).isSubset(of: wanted.formats), Set(media.formats).count == media.formats.count else {
            return "a format that was not offered, or one twice"
        }
        guard let accepted else { return media.direction == .inactive ? nil : "refused and not inactive" }
        guard media.direction == (publishes ? .recvonly : .sendonly), media.rtcpMux else {
            return "the wrong direction"
        }
        guard media.iceUfrag != nil, media.icePwd != nil, media.fingerprints.count == 1, media.setup != nil
        else {
            return "no transport"
        }
        for map in media.rtpMaps
        where !wanted.rtpMaps.contains(where: {
            $0.payloadType == map.payloadType && $0.clockRate == map.clockRate
                && $0.name.lowercased() == map.name.lowercased()
        }) { return "\(map.name) under \(map.payloadType), which was not offered" }
        for map in media.extensions
        where !wanted.extensions.contains(where: {
            $0.id == map.id && $0.uri == map.uri
        }) || !(1...14).contains(map.id) { return "an extension that was not offered" }
        for line in media.feedback
        where !wanted.feedback.contains(where: {
            $0.value.lowercased() == line.value && ($0.payloadType == nil || $0.payloadType == line.payloadType)
        }) { return "feedback \(line.value) that was not offered" }
        guard publishes ? accepted.codecs.count == 1 && (1...3).contains(accepted.encodings.count) : true else {
            return "not one codec and one to three streams"
        }
        guard Set(accepted.codecs.map(\.codec)).count == accepted.codecs.count else { return "a codec stands twice" }
        let layers = media.simulcast?.receive.flatMap(\.ids) ?? []
        guard layers == (publishes ? wanted.simulcast?.send.flatMap(\.ids) ?? [] : []) else { return "other layers" }
        return layers.isEmpty || Set(layers) == Set(accepted.encodings.compactMap(\.rid)) ? nil : "other rids"
    }
}
