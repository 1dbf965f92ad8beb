package import MediaContract
package import MediaWire

/// What a client's publish offer says about its transport and about the tracks that it publishes.
package struct PublishOffer: Sendable {
    package var transport: RemoteTransport
    /// In the order of the request.
    package var tracks: [Track]

    /// The client's end of the one transport that all sections share (RFC 9143).
    package struct RemoteTransport: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
        /// Digests of the certificate that the client will show in DTLS (RFC 8122, section 5), at least one.
        package var fingerprints: [DTLSFingerprint]
        package var iceUfrag: String
        /// A secret of client and node; an ICE-lite agent has no use for it.
        package var icePassword: String

        package var description: String { "\(iceUfrag), \(fingerprints.map(\.text).joined(separator: ", "))" }
        package var customMirror: Mirror {
            Mirror(self, children: ["fingerprints": fingerprints.map(\.text), "iceUfrag": iceUfrag])
        }
    }

    /// A track and its section.
    package struct Track: Hashable, Sendable {
        package var localID: String
        package var localMid: String
        package var kind: MediaKind
        /// The place of its section in the offer.
        package var section: Int
        package var streams: Streams
        /// Of its first SSRC; `nil`: none was declared.
        package var cname: String?
        /// The codecs of the section by payload type, as far as Parlor knows them.
        package var codecs: [UInt8: Codec]

        /// Its RTP streams as the media plane knows them, from the smallest picture to the largest.
        package var encodings: [EncodingSpec] { streams.encodings }
    }

    /// How the node knows the RTP streams of a track.
    package enum Streams: Hashable, Sendable {
        /// By declared SSRCs, from the smallest picture to the largest; without simulcast it is one.
        case ssrcs([Encoding])
        /// By the RTP stream id in their packets (RFC 8852), from the smallest picture to the largest.
        case rids([String])

        package var count: Int {
            switch self {
            case .ssrcs(let encodings): encodings.count
            case .rids(let names): names.count
            }
        }

        /// As the media plane knows them.
        package var encodings: [EncodingSpec] {
            switch self {
            case .ssrcs(let encodings): encodings.map { EncodingSpec(ssrcs: [$0.ssrc], rtxSSRC: $0.rtx) }
            case .rids(let names): names.map { EncodingSpec(rid: $0) }
            }
        }
    }

    /// One RTP stream with the one that repairs it.
    package struct Encoding: Hashable, Sendable {
        package var ssrc: UInt32
        /// Of the retransmission stream (RFC 4588); `nil`: there is none.
        package var rtx: UInt32?

        package init(ssrc: UInt32, rtx: UInt32? = nil) {
            self.ssrc = ssrc
            self.rtx = rtx
        }
    }

    /// More tracks in one request are refused. A user may not be allowed more at one time, either: whoever publishes anew does it
    /// in one request.
    package static let maximumTracks = 64
    /// Layers of one track: low, medium and high.
    package static let maximumLayers = 3
    /// The longest `localid`, in bytes; a browser's is a UUID of 36.
    package static let longestLocalID = 256
}

extension PublishOffer {
    /// Checks that each track's section has the codec under the number that the client's capabilities named: the client
    /// answers its own offer from these.
    ///
    /// - Throws: 10054, for the first track where it is not so.
    package func check(against profile: ClientMediaProfile) throws(NegotiationError) {
        for track in tracks {
            let wanted = track.kind == .audio ? profile.audio : profile.video
            guard track.codecs[wanted.payloadType] == wanted.codec else {
                throw NegotiationError(
                    .codecMissing,
                    reason:
                        "the section \(track.localMid.quoted) has no \(wanted.codec.name) under payload type"
                        + " \(wanted.payloadType), as the client's capabilities had")
            }
        }
    }
}

extension EncodingSpec {
    /// Every SSRC that it declares.
    var sources: [UInt32] { ssrcs + [rtxSSRC].compactMap { $0 } }
}
