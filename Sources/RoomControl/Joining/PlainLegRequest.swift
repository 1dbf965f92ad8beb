import MediaContract
import MediaWire

/// A validated request for a plain leg, on its way to the room.
struct PlainLegRequest: Sendable {
    var user: String
    var kind: LegKind
    var offer: PlainOffer
    var picks: [LegPick]
    /// The address that the answer names.
    var announced: TransportAddress

    /// The leg with its ports and keys, and the answer that says so.
    ///
    /// Where the room already has the track for a playing line, the answer names its codec alone: players that take the
    /// first format of an m-line, as FFmpeg does, then take the right one.
    func settled(
        by state: RoomState, ports: [PlainPorts], random: inout RandomSource
    ) throws(JoinRefusal) -> (plan: LegPlan, answer: String) {
        var offer = offer
        if kind == .receiving {
            let wanted = LegPlan(kind: kind, transports: [], lines: lines(of: offer), picks: picks)
            let codecs = state.firstCodecs(of: wanted, for: user)
            for ((index, _), codec) in zip(offer.acceptedLines, codecs) {
                guard let codec else { continue }
                do { try offer.pick(codec, forLine: index) } catch { throw .offer(error) }
            }
        }
        var number: UInt64 = 0
        let answer = PlainAnswer.make(
            offer, ports: ports,
            terms: PlainAnswer.Terms(
                // The room gives its own numbers to everything below; see `LegPlan`.
                peer: PeerID(0), announced: announced, cname: Base64URL.encode(random.bytes(12), padded: false)),
            nextID: {
                number += 1
                return number
            }, random: &random)
        var plan = LegPlan(kind: kind, transports: [], lines: lines(of: offer), picks: picks)
        plan.transports = zip(answer.transports, ports).map { spec, ports in
            LegPlan.Transport(
                ports: ports, inbound: spec.inbound, outbound: spec.outbound, remote: spec.remote,
                localSSRC: spec.localSSRC, cname: spec.cname, reducedSizeRTCP: spec.reducedSizeRTCP)
        }
        for (index, line) in answer.playLines.enumerated() where plan.lines.indices.contains(index) {
            plan.lines[index].promisedSSRC = line.ssrc
        }
        return (plan, answer.text)
    }

    private func lines(of offer: PlainOffer) -> [LegPlan.Line] {
        offer.acceptedLines.map { _, line in
            var planned = LegPlan.Line(
                kind: line.kind, transport: line.transport, mid: line.mid,
                formats: line.codecs.map {
                    LegPlan.Format(codec: $0.codec, payloadType: $0.payloadType, feedback: $0.feedback)
                },
                ssrcs: line.ssrcs, extensions: line.extensions.map(\.mapping))
            planned.allowsMixedExtensions = offer.allowsMixedExtensions
            return planned
        }
    }
}
