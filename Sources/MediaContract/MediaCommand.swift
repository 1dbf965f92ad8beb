package import MediaWire

/// What the control plane asks of one worker. Commands are applied in the order they were posted, before any datagram
/// that arrived after them. A command that names something unknown does nothing (it was removed meanwhile).
package enum MediaCommand: Sendable {
    case addPeer(PeerID, isolation: IsolationKey)
    /// Ends everything of the peer: subscriptions, tracks, transports, waiting packets. Its plain transports say BYE first.
    /// Answered by `MediaEvent.removed`, also when the peer is unknown.
    case removePeer(PeerID, ticket: RemovalTicket)
    case addTransport(TransportSpec)
    /// A transport that ICE and DTLS bring up. `MediaEvent.transportConnected` says that its keys are agreed; tracks and
    /// subscriptions may be added before.
    case addWebRTCTransport(WebRTCTransportSpec)
    /// Checks with these credentials count as well from now on, and those with the ones before the last no more. Keys, addresses and
    /// media stay (RFC 8445, section 9).
    case restartICE(TransportID, ICECredentials)
    /// Ends the transport with its tracks and subscriptions, after an RTCP BYE if it is a plain one.
    case removeTransport(TransportID)
    case addTrack(TrackSpec)
    case removeTrack(TrackID)
    case subscribe(SubscriptionSpec)
    case unsubscribe(SubscriptionID)
    /// Another layer of a simulcast track, from its next key frame on; `MediaEvent.layerChanged` says when.
    case setLayer(SubscriptionID, LayerPreference)
    /// Asks for `MediaEvent.snapshot` with the same number.
    case snapshot(UInt64)
}

/// Which RTCP feedback was negotiated for an m-line (RFC 4585, section 4.2; RFC 5104, section 7).
package struct FeedbackSet: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let nack = FeedbackSet(rawValue: 1)
    package static let pli = FeedbackSet(rawValue: 2)
    package static let fir = FeedbackSet(rawValue: 4)
    /// Receiver Estimated Maximum Bitrate (draft-alvestrand-rmcat-remb-03).
    package static let remb = FeedbackSet(rawValue: 8)
    /// Transport-wide congestion control (draft-holmer-rmcat-transport-wide-cc-extensions-01).
    package static let transportCC = FeedbackSet(rawValue: 16)
    /// What plain legs can have.
    package static let all: FeedbackSet = [.nack, .pli, .fir]
}

/// A transport whose keys were exchanged in signalling (SDES, RFC 4568): a plain SRTP leg.
package struct TransportSpec: Sendable {
    /// How the transport learns where its peer is.
    package enum Remote: Sendable {
        /// A sending leg: the first address from which an authentic packet comes, for good.
        case latched
        /// A receiving leg: the given addresses, until an authentic packet comes from another port of the same host.
        case known(rtp: TransportAddress, rtcp: TransportAddress)
    }

    package var id: TransportID
    package var peer: PeerID
    /// Where RTP comes in and goes out.
    package var socket: SocketID
    /// Where RTCP comes in and goes out; the same as `socket` when muxed (RFC 5761).
    package var rtcpSocket: SocketID
    /// Opens what the peer sends.
    package var inbound: SRTPMasterKey
    /// Seals what we send.
    package var outbound: SRTPMasterKey
    package var remote: Remote
    /// The SSRC under which our receiver reports and feedback leave on this transport.
    package var localSSRC: UInt32
    /// The CNAME in our SDES (RFC 3550, section 6.5.1).
    package var cname: String
    /// After this long without an authentic packet: `MediaEvent.transportSilent`, once. `nil`: never.
    package var silenceLimit: MediaDuration?
    /// Reports are compound (RFC 3550, section 6.1) unless reduced size was negotiated (RFC 5506).
    package var reducedSizeRTCP: Bool

    package init(
        id: TransportID, peer: PeerID, socket: SocketID, rtcpSocket: SocketID, inbound: SRTPMasterKey,
        outbound: SRTPMasterKey, remote: Remote, localSSRC: UInt32, cname: String,
        silenceLimit: MediaDuration? = nil, reducedSizeRTCP: Bool = false
    ) {
        self.id = id
        self.peer = peer
        self.socket = socket
        self.rtcpSocket = rtcpSocket
        self.inbound = inbound
        self.outbound = outbound
        self.remote = remote
        self.localSSRC = localSSRC
        self.cname = cname
        self.silenceLimit = silenceLimit
        self.reducedSizeRTCP = reducedSizeRTCP
    }
}

/// One RTP stream of a track: the only one, or a layer of a simulcast track.
package struct EncodingSpec: Hashable, Sendable {
    /// SSRCs that signalling declared (`a=ssrc`); others are bound by MID and RID, else by payload type, and then stay.
    package var ssrcs: [UInt32]
    /// Of the stream that repairs it (RFC 4588), if signalling declared one.
    package var rtxSSRC: UInt32?
    /// Its RTP stream id (RFC 8852); `nil`: it has none.
    package var rid: String?

    package init(ssrcs: [UInt32] = [], rtxSSRC: UInt32? = nil, rid: String? = nil) {
        self.ssrcs = ssrcs
        self.rtxSSRC = rtxSSRC
        self.rid = rid
    }
}

/// A track that a transport publishes: how its packets are recognised, and what they carry.
package struct TrackSpec: Sendable {
    /// The most layers of one track.
    package static let maximumEncodings = 3

    package var id: TrackID
    package var transport: TransportID
    package var codec: Codec
    package var payloadType: UInt8
    /// Of retransmissions (RFC 4588).
    package var rtxPayloadType: UInt8?
    /// Of Opus with redundancy (RFC 2198).
    package var redPayloadType: UInt8?
    /// One to three, from the smallest picture to the largest.
    package var encodings: [EncodingSpec]
    package var mid: String?
    package var extensions: [HeaderExtensionMapping]
    package var feedback: FeedbackSet

    package init(
        id: TrackID, transport: TransportID, codec: Codec, payloadType: UInt8, rtxPayloadType: UInt8? = nil,
        redPayloadType: UInt8? = nil, encodings: [EncodingSpec], mid: String? = nil,
        extensions: [HeaderExtensionMapping] = [], feedback: FeedbackSet = []
    ) {
        self.id = id
        self.transport = transport
        self.codec = codec
        self.payloadType = payloadType
        self.rtxPayloadType = rtxPayloadType
        self.redPayloadType = redPayloadType
        self.encodings = encodings
        self.mid = mid
        self.extensions = extensions
        self.feedback = feedback
    }

    /// All that signalling declared, without those of repair.
    package var ssrcs: [UInt32] { encodings.flatMap(\.ssrcs) }

    /// A track of one encoding.
    package init(
        id: TrackID, transport: TransportID, codec: Codec, payloadType: UInt8, ssrcs: [UInt32] = [],
        mid: String? = nil, extensions: [HeaderExtensionMapping] = [], feedback: FeedbackSet = []
    ) {
        self.init(
            id: id, transport: transport, codec: codec, payloadType: payloadType,
            encodings: [EncodingSpec(ssrcs: ssrcs)], mid: mid, extensions: extensions, feedback: feedback)
    }
}

/// A track on its way to a transport, with the numbers that the subscriber was told.
package struct SubscriptionSpec: Sendable {
    package var id: SubscriptionID
    package var track: TrackID
    package var transport: TransportID
    /// One stream at a time. A stream that comes after another under the same SSRC of a transport continues its numbers and its
    /// time, whatever `firstSequence` and `timestampOffset` say: none may be used twice under one key.
    package var ssrc: UInt32
    package var payloadType: UInt8
    /// The stream that repairs it (RFC 4588): SSRC and payload type; `nil`: packets are sent again as they were.
    package var rtx: Retransmission?
    /// Of Opus with redundancy (RFC 2198); `nil`: the subscriber gets the primary encoding alone.
    package var redPayloadType: UInt8?
    /// The first sequence number sent: 0...32767, so that the rollover counter is 0 for certain (RFC 3711, section 3.3.1).
    package var firstSequence: UInt16
    /// Added to the publisher's timestamps.
    package var timestampOffset: UInt32
    package var extensions: [HeaderExtensionMapping]
    /// The subscriber takes one-byte and two-byte forms of header extensions in one stream (`a=extmap-allow-mixed`; RFC 8285,
    /// section 6). Without it elements above 16 bytes cannot be written, and the dependency descriptor, whose first one mostly
    /// is so long and without which the others say nothing, is not written at all.
    package var allowsMixedExtensions: Bool
    /// Written into the MID extension where `extensions` has one.
    package var mid: String?
    package var feedback: FeedbackSet
    /// Which layer of a simulcast track.
    package var layer: LayerPreference

    package struct Retransmission: Hashable, Sendable {
        package var ssrc: UInt32
        package var payloadType: UInt8

        package init(ssrc: UInt32, payloadType: UInt8) {
            self.ssrc = ssrc
            self.payloadType = payloadType
        }
    }

    package init(
        id: SubscriptionID, track: TrackID, transport: TransportID, ssrc: UInt32, payloadType: UInt8,
        rtx: Retransmission? = nil, redPayloadType: UInt8? = nil, firstSequence: UInt16, timestampOffset: UInt32,
        extensions: [HeaderExtensionMapping] = [], allowsMixedExtensions: Bool = false, mid: String? = nil,
        feedback: FeedbackSet = [], layer: LayerPreference = .high
    ) {
        self.id = id
        self.track = track
        self.transport = transport
        self.ssrc = ssrc
        self.payloadType = payloadType
        self.rtx = rtx
        self.redPayloadType = redPayloadType
        self.firstSequence = firstSequence
        self.timestampOffset = timestampOffset
        self.extensions = extensions
        self.allowsMixedExtensions = allowsMixedExtensions
        self.mid = mid
        self.feedback = feedback
        self.layer = layer
    }
}
