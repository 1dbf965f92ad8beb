import MediaContract
import MediaWire
import RoomProtocol

/// A validated request for a WebRTC leg, on its way to the room.
struct WebRTCLegRequest: Sendable {
    var user: String
    var kind: LegKind
    var offer: WebRTCOffer
    var picks: [LegPick]
    var layer: LayerPreference

    /// The leg with its keys, and the answer that says so.
    func settled(
        by state: RoomState, connections: ConnectionSettings, worker: Int, random: inout RandomSource
    ) throws(JoinRefusal) -> (plan: LegPlan, answer: String) {
        let candidates = connections.candidates(policy: .preferUDP, worker: worker)
        guard !candidates.isEmpty, !connections.fingerprint.isEmpty else { throw .noCandidates }
        var offer = offer
        for ((index, _), codec) in zip(offer.acceptedLines, codecs(by: state)) { offer.settle(codec, forLine: index) }
        let terms = WebRTCAnswer.Terms(
            credentials: ICECredentials(using: &random), fingerprint: connections.fingerprint, candidates: candidates,
            cname: Base64URL.encode(random.bytes(12), padded: false))
        let answer = WebRTCAnswer.make(offer, terms: terms, random: &random)
        var plan = LegPlan(kind: kind, transports: [], lines: lines(of: offer), picks: picks)
        plan.layer = layer
        plan.webRTC = LegPlan.WebRTC(
            credentials: terms.credentials, role: offer.transport.role, fingerprints: offer.transport.fingerprints,
            localSSRC: answer.localSSRC, cname: terms.cname, remoteFragment: offer.transport.iceUfrag,
            sections: sections(of: offer))
        for (index, stream) in answer.streams.enumerated() where plan.lines.indices.contains(index) {
            plan.lines[index].promisedSSRC = stream.ssrc
            plan.lines[index].promisedRTX = stream.rtxSSRC
        }
        return (plan, answer.text)
    }

    /// Publishing: the room's video codec, which all others in the room can take, if it is offered. Playing: that of the track
    /// which the line gets, if there is one already.
    private func codecs(by state: RoomState) -> [Codec?] {
        if kind == .receiving {
            return state.firstCodecs(
                of: LegPlan(kind: kind, transports: [], lines: lines(of: offer), picks: picks), for: user)
        }
        return offer.acceptedLines.map { $0.line.kind == .audio ? .opus : state.settings.videoCodec }
    }

    private func lines(of offer: WebRTCOffer) -> [LegPlan.Line] {
        offer.acceptedLines.map { _, line in
            var planned = LegPlan.Line(
                kind: line.kind, transport: 0, mid: line.mid,
                formats: line.codecs.map {
                    LegPlan.Format(
                        codec: $0.codec, payloadType: $0.payloadType, feedback: $0.feedback,
                        rtxPayloadType: $0.rtxPayloadType, redPayloadType: $0.redPayloadType)
                },
                extensions: line.extensions.map(\.mapping))
            planned.allowsMixedExtensions = offer.allowsMixedExtensions
            if !line.encodings.isEmpty { planned.encodings = line.encodings }
            return planned
        }
    }

    private func sections(of offer: WebRTCOffer) -> [TrickleFragment.Section] {
        let tagged = offer.acceptedLines.filter { $0.index == offer.taggedLine }
        let others = offer.acceptedLines.filter { $0.index != offer.taggedLine }
        return (tagged + others).map { index, line in
            TrickleFragment.Section(
                kind: line.kind, mid: line.mid, transport: offer.lines[index].media.transport,
                format: line.codecs.first.map { String($0.payloadType) } ?? "0")
        }
    }
}

/// A validated request for a leg of either kind.
enum LegRequest: Sendable {
    case plain(PlainLegRequest)
    case webRTC(WebRTCLegRequest)

    var user: String {
        switch self {
        case .plain(let request): request.user
        case .webRTC(let request): request.user
        }
    }

    var kind: LegKind {
        switch self {
        case .plain(let request): request.kind
        case .webRTC(let request): request.kind
        }
    }
}
