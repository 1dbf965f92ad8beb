package import MediaWire

/// What one worker reports to the control plane. The events of a batch go out together, in order.
package enum MediaEvent: Sendable {
    /// The removal is done: nothing of or to that peer leaves any more.
    case removed(RemovalTicket)
    /// Media can flow. A plain leg: the first authentic packet came, from this address; a sending one is latched to it. WebRTC: the
    /// keys are agreed, with the peer at this address.
    case transportConnected(TransportID, TransportAddress)
    /// Something authentic was heard; at most once in five seconds for each transport, and at once after `transportQuiet`.
    case transportHeard(TransportID)
    /// Nothing authentic was heard of a connected WebRTC transport for its `quietLimit`, well before `transportSilent`: its path is
    /// probably gone, and an ICE restart may bring it back. Once for each silence; `transportHeard` ends it.
    case transportQuiet(TransportID)
    /// Nothing authentic was heard for the transport's silence limit.
    case transportSilent(TransportID)
    /// The network said that nobody listens there (ICMP port unreachable).
    case transportUnreachable(TransportID)
    /// A WebRTC transport will carry nothing (any more); it waits to be removed.
    case transportFailed(TransportID, TransportFailure)
    /// The track's first packet was accepted.
    case trackStarted(TrackID)
    /// A subscription could not be made: unknown track or transport, or another room.
    case subscriptionRefused(SubscriptionID)
    /// From here on the subscriber gets this layer of a simulcast track: its first one, or another.
    case layerChanged(SubscriptionID, LayerPreference)
    case snapshot(UInt64, MediaSnapshot)
}

/// Why a packet went no further. Every drop has a name, is counted, and is exported under `name`.
package enum DropReason: UInt8, CaseIterable, Hashable, Sendable {
    // Coming in, before authentication
    case notMedia, tooShort, tooLong, unknownSocket, unknownSource, wrongSource, badVersion, malformedHeader,
        unknownSSRC, tooManySSRCs, unknownPayloadType, ambiguousPayloadType, wrongDirection
    // ICE and DTLS: no check came from there, or not one that counts; no keys yet; more than is worked off
    case malformedCheck, unknownCheck, unauthenticCheck, unverifiedSource, noKeysYet, unexpectedHandshake,
        handshakeQueueFull
    // Opening; a check that was sent again from elsewhere is replayed, too
    case replayed, tooOld, authenticationFailed
    // After authentication
    case badPadding, malformedRTCP, paddingOnly, duplicate, implausibleSequence, malformedRetransmission,
        unknownRetransmission, malformedRedundancy
    // On the way to a subscriber
    case awaitingKeyFrame, overwritten, lateForSubscriber, noDestination, headerTooLarge, outboxFull, sealFailed
    // Feedback
    case retransmissionGone, retransmissionLimited, keyFrameRequestLimited, unnegotiatedFeedback
    // The kernel's part
    case sendFailed, unreachable, truncated, streamFull

    package var name: String {
        // notMedia -> not_media, unknownSSRC -> unknown_ssrc
        var result = ""
        var previousWasLower = false
        for character in String(describing: self) {
            if character.isUppercase, previousWasLower { result.append("_") }
            previousWasLower = character.isLowercase
            result.append(contentsOf: character.lowercased())
        }
        return result
    }
}

/// A copy of a worker's figures at one moment.
package struct MediaSnapshot: Sendable {
    package struct Transport: Sendable {
        package var id: TransportID
        package var remote: TransportAddress?
        package var packetsIn: UInt64 = 0
        package var bytesIn: UInt64 = 0
        package var packetsOut: UInt64 = 0
        package var bytesOut: UInt64 = 0
        /// When the last authentic packet or connectivity check came; `nil` if none did.
        package var lastHeard: MediaTime?
        package init(id: TransportID) { self.id = id }
    }

    package struct Track: Sendable {
        package var id: TrackID
        package var packets: UInt64 = 0
        package var bytes: UInt64 = 0
        /// Packets that never came, by RFC 3550 A.3; negative when duplicates outnumber losses.
        package var lost: Int64 = 0
        /// Interarrival jitter in seconds (RFC 3550, section 6.4.1).
        package var jitter: Double = 0
        package var keyFrames: UInt64 = 0
        package var nacksSent: UInt64 = 0
        package var keyFrameRequestsSent: UInt64 = 0
        package init(id: TrackID) { self.id = id }
    }

    package struct Subscription: Sendable {
        package var id: SubscriptionID
        package var packets: UInt64 = 0
        package var bytes: UInt64 = 0
        package var retransmitted: UInt64 = 0
        /// As the subscriber's last receiver report has it, 0...1.
        package var fractionLost: Double = 0
        /// Round trip to the subscriber, if its reports allowed to measure it.
        package var roundTrip: MediaDuration?
        package var awaitingKeyFrame = false
        /// The layer that is sent now, of a simulcast track.
        package var layer: LayerPreference?
        package init(id: SubscriptionID) { self.id = id }
    }

    package var time: MediaTime
    package var packetsIn: UInt64 = 0
    package var bytesIn: UInt64 = 0
    package var packetsOut: UInt64 = 0
    package var bytesOut: UInt64 = 0
    package var batchesIn: UInt64 = 0
    package var batchesOut: UInt64 = 0
    /// How busy the worker's thread has lately been, 0...1.
    package var load = 0.0
    /// TCP connections that clients have to the worker for media (ICE-TCP), those that carry nobody yet among them.
    package var tcpConnections = 0
    /// Indexed by `DropReason.rawValue`.
    package var drops: [UInt64]
    package var transports: [Transport] = []
    package var tracks: [Track] = []
    package var subscriptions: [Subscription] = []

    package init(time: MediaTime) {
        self.time = time
        drops = [UInt64](repeating: 0, count: DropReason.allCases.count)
    }

    package func drops(_ reason: DropReason) -> UInt64 { drops[Int(reason.rawValue)] }
}
