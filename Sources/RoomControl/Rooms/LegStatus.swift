package import MediaContract
package import MediaWire

/// What a leg is doing, as its room knows it; the media plane's figures are joined to it by number.
package struct LegStatus: Sendable {
    package struct Line: Sendable {
        package var kind: MediaKind
        package var mid: String?
        package var codec: Codec?
        /// The public id of the track that is published or received.
        package var track: String?
        /// Whose track a receiving line gets.
        package var publisher: String?
        /// Media may flow: a sending line's first packet came, a receiving line has its track.
        package var isActive: Bool
        package var trackID: TrackID?
        package var subscriptionID: SubscriptionID?
    }

    package var kind: LegKind
    package var user: String
    package var lines: [Line]
    package var transports: [TransportID]
    /// Where the leg's packets come from, by the first authentic one of each transport.
    package var remotes: [TransportAddress]
    /// How long a receiving leg lives if nothing is heard of it.
    package var leaseRemaining: MediaDuration?

    /// Waiting legs have no line on which media may flow.
    package var isActive: Bool { lines.contains(where: \.isActive) }
}

extension RoomState {
    /// What the leg is doing. Asking renews its lease.
    package mutating func visitLeg(_ id: LegID, now: MediaTime, effects: inout [RoomEffect]) -> LegStatus? {
        settle(now, effects: &effects)
        renew(id, now: now)
        guard let leg = legs[id] else { return nil }
        let lines = leg.lines.map { line in
            let trackID = line.track ?? line.feed?.track
            let track = trackID.flatMap { id in tracks.first { $0.id == id } }
            return LegStatus.Line(
                kind: line.plan.kind, mid: line.plan.mid, codec: track?.codec, track: track?.publicID,
                publisher: leg.kind == .receiving ? track?.user : nil,
                isActive: leg.kind == .receiving ? line.feed != nil : track?.hasStarted == true,
                trackID: line.track, subscriptionID: line.feed?.subscription)
        }
        return LegStatus(
            kind: leg.kind, user: leg.user, lines: lines, transports: leg.transports.map(\.id),
            remotes: leg.transports.compactMap(\.remote), leaseRemaining: leg.leaseEnd.map { $0 - now })
    }

    /// Whose leg it is.
    package func owner(of id: LegID) -> (user: String, kind: LegKind)? { legs[id].map { ($0.user, $0.kind) } }
}
