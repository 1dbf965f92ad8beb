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
    package var isWebRTC: Bool
    /// WebRTC: keys are agreed. Plain: an authentic packet came.
    package var isConnected: Bool
    package var transports: [TransportID]
    /// Where the leg's packets come from, by the first authentic one of each transport.
    package var remotes: [TransportAddress]
    /// How long a receiving leg lives if nothing is heard of it.
    package var leaseRemaining: MediaDuration?

    /// Waiting legs have no line on which media may flow.
    package var isActive: Bool { lines.contains(where: \.isActive) }
}

/// The present ICE session of a leg.
package struct LegICESession: Hashable, Sendable {
    package var credentials: ICECredentials
    package var remoteFragment: String

    /// A strong entity tag (RFC 9110, section 8.8.3), another one for each ICE session.
    package var entityTag: String { "\"\(credentials.usernameFragment)\"" }
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
            kind: leg.kind, user: leg.user, lines: lines, isWebRTC: leg.webRTC != nil,
            isConnected: leg.transports.allSatisfy(\.isConnected), transports: leg.transports.map(\.id),
            remotes: leg.transports.compactMap(\.remote), leaseRemaining: leg.leaseEnd.map { $0 - now })
    }

    /// What a PATCH has to know of a WebRTC leg (RFC 9725, section 4.3); `nil`: there is none, or it is a plain one.
    package func iceSession(of id: LegID) -> LegICESession? {
        legs[id]?.webRTC.map { LegICESession(credentials: $0.credentials, remoteFragment: $0.remoteFragment) }
    }

    /// New ICE credentials for a WebRTC leg; everything else stays. `nil`: there is no such leg.
    ///
    /// - Parameter remoteFragment: the client's new one.
    package mutating func restartLeg(
        _ id: LegID, remoteFragment: String, now: MediaTime, effects: inout [RoomEffect]
    ) -> LegPlan.WebRTC? {
        settle(now, effects: &effects)
        guard let transport = legs[id]?.transports.first?.id, legs[id]?.webRTC != nil else { return nil }
        let credentials = ICECredentials(using: &random)
        legs[id]?.webRTC?.credentials = credentials
        legs[id]?.webRTC?.remoteFragment = remoteFragment
        effects.append(.post(.restartICE(transport, credentials)))
        return legs[id]?.webRTC
    }

    /// Whose leg it is.
    package func owner(of id: LegID) -> (user: String, kind: LegKind)? { legs[id].map { ($0.user, $0.kind) } }
}
