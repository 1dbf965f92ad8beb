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

    /// A `WebRTCTransportSpec` without the numbers that the room gives.
    package struct WebRTC: Sendable {
        package var credentials: ICECredentials
        package var role: DTLSRole
        package var fingerprints: [DTLSFingerprint]
        package var localSSRC: UInt32
        package var cname: String
        /// The client's own fragment: another one in a later fragment means another ICE session.
        package var remoteFragment: String
        /// The mids of the bundle, the one that stands for the transport first, with the kind of each m-line.
        package var sections: [TrickleFragment.Section]

        package init(
            credentials: ICECredentials, role: DTLSRole, fingerprints: [DTLSFingerprint], localSSRC: UInt32,
            cname: String, remoteFragment: String = "", sections: [TrickleFragment.Section] = []
        ) {
            self.credentials = credentials
            self.role = role
            self.fingerprints = fingerprints
            self.localSSRC = localSSRC
            self.cname = cname
            self.remoteFragment = remoteFragment
            self.sections = sections
        }
    }

    /// A codec under the payload types that the m-line gives it.
    package struct Format: Hashable, Sendable {
        package var codec: Codec
        package var payloadType: UInt8
        package var feedback: FeedbackSet
        /// Of retransmissions (RFC 4588), and of redundancy (RFC 2198).
        package var rtxPayloadType: UInt8?
        package var redPayloadType: UInt8?

        package init(
            codec: Codec, payloadType: UInt8, feedback: FeedbackSet = [], rtxPayloadType: UInt8? = nil,
            redPayloadType: UInt8? = nil
        ) {
            self.codec = codec
            self.payloadType = payloadType
            self.feedback = feedback
            self.rtxPayloadType = rtxPayloadType
            self.redPayloadType = redPayloadType
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
        /// Sending: the streams that the offer declared, from the smallest picture to the largest.
        package var encodings: [EncodingSpec]
        package var extensions: [HeaderExtensionMapping]
        /// Of one-byte and two-byte forms (RFC 8285, section 6).
        package var allowsMixedExtensions = false
        /// Receiving: the SSRC that the answer names for the line's first stream.
        package var promisedSSRC: UInt32?
        /// Receiving: the SSRC of retransmissions that the answer names.
        package var promisedRTX: UInt32?

        package init(
            kind: MediaKind, transport: Int, mid: String? = nil, formats: [Format], ssrcs: [UInt32] = [],
            extensions: [HeaderExtensionMapping] = [], promisedSSRC: UInt32? = nil
        ) {
            self.kind = kind
            self.transport = transport
            self.mid = mid
            self.formats = formats
            encodings = [EncodingSpec(ssrcs: ssrcs)]
            self.extensions = extensions
            self.promisedSSRC = promisedSSRC
        }
    }

    package var kind: LegKind
    package var transports: [Transport]
    /// The one transport of all lines, in place of `transports`.
    package var webRTC: WebRTC?
    package var lines: [Line]
    /// For a receiving leg; empty: whatever others publish, first come first.
    package var picks: [LegPick]
    /// For a receiving leg: of simulcast tracks.
    package var layer = LayerPreference.high

    package init(kind: LegKind, transports: [Transport], lines: [Line], picks: [LegPick] = []) {
        self.kind = kind
        self.transports = transports
        self.lines = lines
        self.picks = picks
    }
}
