package import MediaContract
package import MediaWire

/// The answer to a plain offer, and what the worker must be told for it. Step 3 of 3.
package struct PlainAnswer: Sendable {
    /// The session description. It holds keys: it goes to the client and nowhere else.
    package var text: String
    /// In the order of `PlainOffer.transports`.
    package var transports: [TransportSpec]
    /// Publishing: one for each accepted m-line, in their order.
    package var tracks: [TrackSpec]
    /// Playing: one for each accepted m-line, in their order.
    package var playLines: [PlayLine]

    /// What the node brings to an answer.
    package struct Terms: Sendable {
        package var peer: PeerID
        /// The address that the answer names; the port is not used.
        package var announced: TransportAddress
        /// The CNAME under which the node sends on this leg (RFC 3550, section 6.5.1): plain ASCII, no space.
        package var cname: String
        package var silenceLimit: MediaDuration?

        package init(peer: PeerID, announced: TransportAddress, cname: String, silenceLimit: MediaDuration? = nil) {
            self.peer = peer
            self.announced = announced
            self.cname = cname
            self.silenceLimit = silenceLimit
        }
    }
}

/// An accepted m-line of a playing leg: the numbers that the client was told, ready for a track.
package struct PlayLine: Sendable {
    /// The place of the m-line in the offer.
    package var index: Int
    package var kind: MediaKind
    package var transport: TransportID
    /// The payload types of the codecs that the client can play here, in its order.
    package var codecs: [PlainOffer.OfferedCodec]
    package var mid: String?
    package var extensions: [HeaderExtensionMapping]
    package var ssrc: UInt32

    init(index: Int, line: PlainOffer.AcceptedLine, transport: TransportID, ssrc: UInt32) {
        self.index = index
        kind = line.kind
        self.transport = transport
        codecs = line.codecs
        mid = line.mid
        extensions = line.extensions.map(\.mapping)
        self.ssrc = ssrc
    }
}

/// Random SSRCs (RFC 3550, section 8.1).
package enum SSRCPool {
    /// One that is neither 0 nor taken.
    package static func draw(besides taken: Set<UInt32>, using random: inout some RandomNumberGenerator) -> UInt32 {
        while true {
            let ssrc = UInt32.random(in: 1...UInt32.max, using: &random)
            if !taken.contains(ssrc) { return ssrc }
        }
    }
}

extension PlainAnswer {
    /// Makes the answer.
    ///
    /// - Parameters:
    ///   - ports: what was opened for each of `offer.transports`, in that order.
    ///   - nextID: gives a number that was never given before, for the identifiers of transports and tracks.
    ///   - random: keys come from it, so it must be the system's generator outside tests.
    package static func make(
        _ offer: PlainOffer, ports: [PlainPorts], terms: Terms, nextID: () -> UInt64,
        random: inout some RandomNumberGenerator
    ) -> PlainAnswer {
        precondition(ports.count == offer.transports.count, "one pair of ports for each transport of the offer")
        var taken = Set(offer.acceptedLines.flatMap(\.line.ssrcs))
        func freshSSRC(_ random: inout some RandomNumberGenerator) -> UInt32 {
            let ssrc = SSRCPool.draw(besides: taken, using: &random)
            taken.insert(ssrc)
            return ssrc
        }

        var specs: [TransportSpec] = []
        for (plan, port) in zip(offer.transports, ports) {
            guard let key = SRTPMasterKey.random(profile: plan.clientKey.profile, using: &random) else {
                preconditionFailure("a random key has the lengths of its profile")
            }
            specs.append(
                TransportSpec(
                    id: TransportID(nextID()), peer: terms.peer, socket: port.socket, rtcpSocket: port.rtcpSocket,
                    inbound: plan.clientKey, outbound: key, remote: plan.remote, localSSRC: freshSSRC(&random),
                    cname: terms.cname, silenceLimit: terms.silenceLimit, reducedSizeRTCP: plan.reducedSizeRTCP))
        }

        var tracks: [TrackSpec] = []
        var playLines: [PlayLine] = []
        for (index, line) in offer.acceptedLines {
            let transport = specs[line.transport].id
            switch offer.purpose {
            case .publish:
                guard let choice = line.codecs.first else { continue }
                tracks.append(
                    TrackSpec(
                        id: TrackID(nextID()), transport: transport, codec: choice.codec,
                        payloadType: choice.payloadType, ssrcs: line.ssrcs, mid: line.mid,
                        extensions: line.extensions.map(\.mapping), feedback: choice.feedback))
            case .play:
                playLines.append(
                    PlayLine(index: index, line: line, transport: transport, ssrc: freshSSRC(&random)))
            }
        }

        let writer = PlainAnswerWriter(
            offer: offer, ports: ports, specs: specs, playLines: playLines, terms: terms,
            // 62 bits, as RFC 8829, section 5.2.1 wishes the session id to be a positive 64-bit number.
            sessionID: UInt64.random(in: 0..<(1 << 62), using: &random))
        return PlainAnswer(text: writer.session.text, transports: specs, tracks: tracks, playLines: playLines)
    }
}
