import MediaContract
import MediaWire
package import RoomProtocol

/// Reads the offers of pubpc and pub-tracks (RFC 8829): sections with ICE, DTLS and SRTP that share one transport.
package enum PublishOfferReader {
    /// Everything that the offer must say is checked; of sections that belong to none of the tracks, only what goes for
    /// the whole transport.
    ///
    /// - Parameters:
    ///   - sdp: at most 1 MiB, 256 m-sections.
    ///   - tracks: at most 64. Each names its section by mid.
    /// - Throws: 10053 for a text that is no offer or contradicts itself, 10032 for a track that does not fit its section,
    ///   10035 for no tracks at all, 10055 for too many.
    package static func read(sdp: String, tracks: [PublishedTrack]) throws(NegotiationError) -> PublishOffer {
        guard !tracks.isEmpty else {
            throw NegotiationError(.nothingPublished, reason: "tracks is empty: one at least must be published")
        }
        guard tracks.count <= PublishOffer.maximumTracks else {
            throw NegotiationError(
                .tooMany,
                reason: "\(tracks.count) tracks in one request, and \(PublishOffer.maximumTracks) are the most")
        }
        let session: SessionDescription
        do { session = try SessionDescription(parsing: sdp, bounds: .webRTC) } catch { throw NegotiationError(error) }

        let sections = try place(tracks, in: session)
        let transport = try readTransport(session)
        try checkBundle(sections.map { session.media[$0] }, session)
        try checkSources(session)
        var result = PublishOffer(transport: transport, tracks: [])
        for (track, section) in zip(tracks, sections) {
            let media = session.media[section]
            let kind: MediaKind = track.kind == .audio ? .audio : .video
            result.tracks.append(
                PublishOffer.Track(
                    localID: track.localID, localMid: track.localMid ?? "", kind: kind, section: section,
                    streams: try PublishedStreams.read(media, kind: kind), cname: media.ssrcs.first?.cname,
                    codecs: codecs(media, kind: kind)))
        }
        return result
    }

    // MARK: The tracks and their sections

    /// The section of each track. Its m-line must be usable.
    private static func place(
        _ tracks: [PublishedTrack], in session: SessionDescription
    ) throws(NegotiationError) -> [Int] {
        var sections: [String: Int] = [:]
        for (index, media) in session.media.enumerated() {
            if let mid = media.mid { sections[mid] = index }
        }
        var names: Set<String> = []
        var used: Set<Int> = []
        var result: [Int] = []
        for (index, track) in tracks.enumerated() {
            guard (1...PublishOffer.longestLocalID).contains(track.localID.utf8.count) else {
                throw NegotiationError(
                    .malformed,
                    reason: "tracks[\(index)].localid has 1 to \(PublishOffer.longestLocalID) bytes, not"
                        + " \(track.localID.utf8.count)")
            }
            guard names.insert(track.localID).inserted else {
                throw NegotiationError(.malformed, reason: "tracks[\(index)].localid stands twice in one request")
            }
            guard let mid = track.localMid, !mid.isEmpty else {
                throw NegotiationError(
                    .malformed, reason: "tracks[\(index)].localmid is missing: it is the mid of the track's m-section")
            }
            guard let section = sections[mid] else {
                throw NegotiationError(
                    .tracksMismatch,
                    reason: "tracks[\(index)].localmid \(mid.quoted) is the mid of no section in the offer")
            }
            guard used.insert(section).inserted else {
                throw NegotiationError(
                    .tracksMismatch, line: session.media[section].line,
                    reason: "tracks[\(index)].localmid \(mid.quoted) is that of another track, too")
            }
            try checkUsable(session.media[section], for: track, index: index)
            result.append(section)
        }
        return result
    }

    private static func checkUsable(
        _ media: MediaDescription, for track: PublishedTrack, index: Int
    ) throws(NegotiationError) {
        func mismatch(_ reason: String) -> NegotiationError {
            NegotiationError(
                .tracksMismatch, line: media.line,
                reason: "the section \((media.mid ?? "").quoted) of tracks[\(index)] \(reason)")
        }
        guard media.media == track.kind.rawValue else {
            throw mismatch("is \(media.media.quoted), and the track is \(track.kind.rawValue)")
        }
        guard !media.isRejected else { throw mismatch("is switched off with port 0") }
        guard media.direction.sends else {
            throw mismatch("is \(media.direction.rawValue); sendonly or sendrecv is needed")
        }
        switch media.profile {
        case .dtlsRTP: break
        case .secureRTP where !media.has("crypto"): break  // as older clients wrote it (RFC 5763, section 5)
        default: throw mismatch("has the transport \(media.transport.quoted); UDP/TLS/RTP/SAVPF is needed")
        }
        guard media.rtcpMux else { throw mismatch("has no a=rtcp-mux; RTCP has no port of its own here") }
    }

    private static func codecs(_ media: MediaDescription, kind: MediaKind) -> [UInt8: Codec] {
        var result: [UInt8: Codec] = [:]
        let formats = Set(media.formats)
        for map in media.rtpMaps where formats.contains(String(map.payloadType)) {
            if let codec = map.codec, codec.kind == kind { result[map.payloadType] = codec }
        }
        return result
    }

    // MARK: The transport

    /// What the sections that are in use say about it, which must be the same everywhere. In a bundle, a section may say
    /// nothing and mean what the others say (RFC 9143, section 7.1.3).
    private static func readTransport(
        _ session: SessionDescription
    ) throws(NegotiationError) -> PublishOffer.RemoteTransport {
        var fingerprints: [DTLSFingerprint] = []
        var ufrag: String?
        var password: String?
        for media in session.media where !media.isRejected {
            func malformed(_ reason: String) -> NegotiationError {
                NegotiationError(.malformed, line: media.line, reason: reason)
            }
            let own = try ClientFingerprints.read(media)
            if !own.isEmpty {
                guard fingerprints.isEmpty || fingerprints == own else {
                    throw malformed("the sections have different fingerprints; all share one DTLS association")
                }
                fingerprints = own
            }
            if let value = media.iceUfrag {
                guard ufrag ?? value == value else {
                    throw malformed("the sections have different values of ice-ufrag")
                }
                ufrag = value
            }
            if let value = media.icePwd {
                guard password ?? value == value else {
                    throw malformed("the sections have different values of ice-pwd")
                }
                password = value
            }
            // The node is the DTLS client on a publishing connection.
            guard let setup = media.setup, setup != "actpass", setup != "passive" else { continue }
            throw malformed("a=setup is \(setup), and the node begins DTLS: actpass or passive is needed")
        }
        guard !fingerprints.isEmpty else {
            throw NegotiationError(.malformed, reason: "the offer has no a=fingerprint; one of sha-256 is needed")
        }
        guard let ufrag, let password else {
            throw NegotiationError(
                .malformed, reason: "the offer has no \(ufrag == nil ? "a=ice-ufrag" : "a=ice-pwd") in any section")
        }
        return PublishOffer.RemoteTransport(fingerprints: fingerprints, iceUfrag: ufrag, icePassword: password)
    }

    /// There is one transport, so the published sections are in one bundle (RFC 9143); one section alone needs none.
    private static func checkBundle(
        _ published: [MediaDescription], _ session: SessionDescription
    ) throws(NegotiationError) {
        guard session.media.count(where: { !$0.isRejected }) > 1 else { return }
        let mids = Set(published.compactMap(\.mid))
        guard session.bundles.contains(where: { mids.isSubset(of: $0.mids) }) else {
            throw NegotiationError(
                .malformed, line: session.attributes.first { $0.name == "group" }?.line,
                reason: "the sections of the tracks are not in one a=group:BUNDLE")
        }
    }

    /// An SSRC has one meaning on a transport.
    private static func checkSources(_ session: SessionDescription) throws(NegotiationError) {
        var owners: [UInt32: Int] = [:]
        for (index, media) in session.media.enumerated() where !media.isRejected && media.direction.sends {
            for ssrc in PublishedStreams.sources(of: media)
            where owners.updateValue(index, forKey: ssrc) ?? index != index {
                throw NegotiationError(
                    .malformed, line: media.line, reason: "the SSRC \(ssrc) is declared by two sections")
            }
        }
    }
}
