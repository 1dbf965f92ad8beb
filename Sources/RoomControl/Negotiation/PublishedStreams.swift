import MediaWire

/// Which RTP streams a published section declares: one, or the layers of a simulcast track.
enum PublishedStreams {
    /// More SSRCs in one section are refused: three layers with retransmission and forward error correction have nine.
    static let maximumSources = 16

    static func read(_ media: MediaDescription, kind: MediaKind) throws(NegotiationError) -> PublishOffer.Streams {
        // Firefox declares the SSRCs of the layers, too, and not which is which.
        if let layers = media.simulcast?.send, !layers.isEmpty { return .rids(try rids(layers, media, kind)) }
        let sources = sources(of: media)
        if sources.isEmpty {
            let own = media.rids.filter(\.isSend)
            guard own.count == 1, let rid = own.first else {
                throw mismatch(
                    media, "declares no SSRC and no simulcast: a=ssrc, or a=rid with a=simulcast:send is needed")
            }
            try checkNames([rid.id], media)
            return .rids([rid.id])
        }
        return .ssrcs(try encodings(sources, media, kind))
    }

    /// Every SSRC that `a=ssrc` and `a=ssrc-group` name, each once (RFC 5576).
    static func sources(of media: MediaDescription) -> [UInt32] {
        var seen: Set<UInt32> = []
        return (media.ssrcs.map(\.ssrc) + media.ssrcGroups.flatMap(\.ssrcs)).filter { seen.insert($0).inserted }
    }

    // MARK: By SSRC

    private static func encodings(
        _ sources: [UInt32], _ media: MediaDescription, _ kind: MediaKind
    ) throws(NegotiationError) -> [PublishOffer.Encoding] {
        guard sources.count <= maximumSources else {
            throw mismatch(media, "declares \(sources.count) SSRCs, and \(maximumSources) are the most")
        }
        guard !sources.contains(0) else { throw malformed(media, "declares the SSRC 0") }
        let groups = media.ssrcGroups
        // RFC 5576, section 4.2: the stream, then the one that repairs it (RFC 4588).
        var rtx: [UInt32: UInt32] = [:]
        for group in groups where group.semantics == "FID" {
            guard group.ssrcs.count == 2, group.ssrcs[0] != group.ssrcs[1],
                rtx.updateValue(group.ssrcs[1], forKey: group.ssrcs[0]) == nil
            else { throw malformed(media, "has a group FID that is not one stream and its one retransmission stream") }
        }
        var repairs = Set(rtx.values)
        guard repairs.count == rtx.count, repairs.isDisjoint(with: rtx.keys) else {
            throw malformed(media, "has a retransmission stream of two streams, or of another retransmission stream")
        }
        // Forward error correction is not in rtpcaps; nothing will come of it.
        for group in groups where group.semantics == "FEC" || group.semantics == "FEC-FR" {
            repairs.formUnion(group.ssrcs.dropFirst())
        }
        let primary = sources.filter { !repairs.contains($0) }

        let layers = groups.filter { $0.semantics == "SIM" }
        guard let ladder = layers.first?.ssrcs else {
            guard primary.count == 1 else {
                throw mismatch(
                    media, "has \(primary.count) streams, and one is right, or a group SIM of all of them")
            }
            return primary.map { PublishOffer.Encoding(ssrc: $0, rtx: rtx[$0]) }
        }
        guard kind == .video else { throw mismatch(media, "has a group SIM, and only video has layers") }
        guard layers.count == 1, (2...PublishOffer.maximumLayers).contains(ladder.count),
            Set(ladder).count == ladder.count
        else {
            throw malformed(media, "has a group SIM that is not of 2 or \(PublishOffer.maximumLayers) streams")
        }
        guard Set(ladder) == Set(primary) else {
            throw mismatch(media, "has a group SIM that does not hold just the streams of the section")
        }
        guard rtx.isEmpty || ladder.allSatisfy({ rtx[$0] != nil }) else {
            throw malformed(media, "has a group FID for some layers and not for all")
        }
        // The vendor's SDK writes the smallest picture first, as Chromium always did.
        return ladder.map { PublishOffer.Encoding(ssrc: $0, rtx: rtx[$0]) }
    }

    // MARK: By RTP stream id

    private static func rids(
        _ layers: [Simulcast.Stream], _ media: MediaDescription, _ kind: MediaKind
    ) throws(NegotiationError) -> [String] {
        guard kind == .video else { throw mismatch(media, "has a=simulcast, and only video has layers") }
        guard layers.count <= PublishOffer.maximumLayers else {
            throw mismatch(media, "sends \(layers.count) layers, and \(PublishOffer.maximumLayers) are the most")
        }
        guard layers.allSatisfy({ $0.ids.count == 1 }) else {
            throw mismatch(media, "has alternatives in a=simulcast, and each layer is one rid")
        }
        let names = layers.flatMap(\.ids)
        let declared = media.rids.filter(\.isSend).map(\.id)
        guard Set(names).count == names.count, declared.count == names.count, Set(declared) == Set(names) else {
            throw malformed(media, "has not one a=rid with send for each layer of a=simulcast:send")
        }
        try checkNames(names, media)
        if let ladder = ladders.first(where: { Set(names).isSubset(of: $0) }) {
            return ladder.filter(names.contains)
        }
        // RFC 8853, section 5.1: the preferred one first, which is the largest.
        return names.reversed()
    }

    /// Names that say which layer is the smaller one, from the smallest on. Browsers list layers as the page's script does, and
    /// many scripts begin with the smallest.
    private static let ladders = [
        ["q", "h", "f"], ["l", "m", "h"], ["lo", "mid", "hi"], ["low", "medium", "high"], ["low", "mid", "high"],
    ]

    /// RFC 8851, section 10, and what fits into the header extension's one-byte form (RFC 8285, section 4.2).
    private static func checkNames(_ names: [String], _ media: MediaDescription) throws(NegotiationError) {
        for name in names {
            let isPlain = name.utf8.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
                default: false
                }
            }
            guard isPlain, (1...16).contains(name.utf8.count) else {
                throw malformed(media, "has the rid \(name.quoted); 1 to 16 letters, digits, - and _ are right")
            }
        }
        for kind in [HeaderExtensionKind.mid, .rid] {
            let isOffered = media.extensions.contains {
                $0.kind == kind && (1...14).contains($0.id) && ($0.direction ?? .sendrecv).sends
            }
            guard isOffered else {
                throw mismatch(media, "has rids without the header extension \(kind.uri) that tells the streams apart")
            }
        }
    }

    private static func mismatch(_ media: MediaDescription, _ reason: String) -> NegotiationError {
        NegotiationError(
            .tracksMismatch, line: media.line, reason: "the section \((media.mid ?? "").quoted) \(reason)")
    }

    private static func malformed(_ media: MediaDescription, _ reason: String) -> NegotiationError {
        NegotiationError(.malformed, line: media.line, reason: "the section \((media.mid ?? "").quoted) \(reason)")
    }
}
