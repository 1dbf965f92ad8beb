package import MediaContract
package import MediaWire

/// The direction of a leg, seen from the client.
package enum LegKind: String, Hashable, Sendable {
    /// Publishes (WHIP).
    case sending
    /// Plays (WHEP).
    case receiving
}

/// What a receiving leg wants to hear or see.
package enum LegPick: Hashable, Sendable {
    /// Tracks of this user, in publishing order.
    case user(String)
    /// The track with this public id.
    case track(String)
}

/// A leg as negotiation has settled it: its ports are open and its answer is written, but nobody has been told yet.
package struct LegPlan: Sendable {
    /// A `TransportSpec` without the numbers that the room gives.
    package struct Transport: Sendable {
        package var ports: PlainPorts
        package var inbound: SRTPMasterKey
        package var outbound: SRTPMasterKey
        package var remote: TransportSpec.Remote
        package var localSSRC: UInt32
        package var cname: String
        package var reducedSizeRTCP: Bool

        package init(
            ports: PlainPorts, inbound: SRTPMasterKey, outbound: SRTPMasterKey, remote: TransportSpec.Remote,
            localSSRC: UInt32, cname: String, reducedSizeRTCP: Bool = false
        ) {
            self.ports = ports
            self.inbound = inbound
            self.outbound = outbound
            self.remote = remote
            self.localSSRC = localSSRC
            self.cname = cname
            self.reducedSizeRTCP = reducedSizeRTCP
        }
    }

    /// A codec under the payload type that the m-line gives it.
    package struct Format: Hashable, Sendable {
        package var codec: Codec
        package var payloadType: UInt8
        package var feedback: FeedbackSet
        package init(codec: Codec, payloadType: UInt8, feedback: FeedbackSet = []) {
            self.codec = codec
            self.payloadType = payloadType
            self.feedback = feedback
        }
    }

    /// One accepted m-line.
    package struct Line: Sendable {
        package var kind: MediaKind
        /// Index into `transports`; bundled lines share one.
        package var transport: Int
        package var mid: String?
        /// Sending: the one that is published. Receiving: all that the player takes, in its order.
        package var formats: [Format]
        /// Sending: those that the offer declared.
        package var ssrcs: [UInt32]
        package var extensions: [HeaderExtensionMapping]
        /// Receiving: the SSRC that the answer names for the line's first stream.
        package var promisedSSRC: UInt32?

        package init(
            kind: MediaKind, transport: Int, mid: String? = nil, formats: [Format], ssrcs: [UInt32] = [],
            extensions: [HeaderExtensionMapping] = [], promisedSSRC: UInt32? = nil
        ) {
            self.kind = kind
            self.transport = transport
            self.mid = mid
            self.formats = formats
            self.ssrcs = ssrcs
            self.extensions = extensions
            self.promisedSSRC = promisedSSRC
        }
    }

    package var kind: LegKind
    package var transports: [Transport]
    package var lines: [Line]
    /// For a receiving leg; empty: whatever others publish, first come first.
    package var picks: [LegPick]

    package init(kind: LegKind, transports: [Transport], lines: [Line], picks: [LegPick] = []) {
        self.kind = kind
        self.transports = transports
        self.lines = lines
        self.picks = picks
    }
}
