import RoomProtocol

/// Session descriptions as a browser writes them, short: what a client can, and what it publishes.
enum SampleOffers {
    /// Opus, VP8 and H.264.
    static let capabilities = text(
        sections: [("0", .audio, 0, []), ("1", .video, 0, [])], direction: "sendrecv", videoPayloadType: 96)

    /// The same client without VP8.
    static let capabilitiesWithoutVP8 =
        capabilities.split(separator: "\r\n").filter { !$0.contains("VP8") }
        .joined(separator: "\r\n") + "\r\n"

    /// Audio in the sections "a0" to "a3", video in "v0" to "v3", of which v2 has two layers and v3 three.
    static let publish = text(
        sections: [
            ("a0", .audio, 100, []), ("a1", .audio, 101, []), ("a2", .audio, 102, []), ("a3", .audio, 103, []),
            ("v0", .video, 200, []), ("v1", .video, 201, []), ("v2", .video, 0, ["hi", "lo"]),
            ("v3", .video, 0, ["hi", "mid", "lo"]),
        ], direction: "sendonly", videoPayloadType: 96)

    /// The same under numbers that the client's capabilities do not have.
    static let publishUnderOtherNumbers = publish.replacing("rtpmap:96", with: "rtpmap:98")
        .replacing("SAVPF 96", with: "SAVPF 98").replacing("fb:96", with: "fb:98")

    static let mids = ["a0", "a1", "a2", "a3", "v0", "v1", "v2", "v3"]

    /// A track of the section with that mid.
    static func track(
        _ mid: String, localID: String? = nil, tag: String? = nil, master: Bool? = nil
    ) -> PublishedTrack {
        PublishedTrack(
            localID: localID ?? "local-\(mid)", localMid: mid, master: master,
            kind: mid.hasPrefix("a") ? .audio : .video,
            tag: tag)
    }

    private static func text(
        sections: [(mid: String, kind: TrackKind, ssrc: Int, rids: [String])], direction: String,
        videoPayloadType: Int
    ) -> String {
        var lines = [
            "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0",
            "a=group:BUNDLE " + sections.map(\.mid).joined(separator: " "),
        ]
        let fingerprint = (0..<32).map { _ in "AB" }.joined(separator: ":")
        for section in sections {
            lines += [
                "m=\(section.kind.rawValue) 9 UDP/TLS/RTP/SAVPF "
                    + (section.kind == .audio ? "111" : "\(videoPayloadType) 102"),
                "c=IN IP4 0.0.0.0", "a=mid:\(section.mid)", "a=ice-ufrag:abcd", "a=ice-pwd:0123456789abcdef01234567",
                "a=fingerprint:sha-256 \(fingerprint)", "a=setup:actpass", "a=\(direction)", "a=rtcp-mux",
                "a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid",
                "a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id",
            ]
            if section.kind == .audio {
                lines += ["a=rtpmap:111 opus/48000/2"]
            } else {
                lines += [
                    "a=rtpmap:\(videoPayloadType) VP8/90000", "a=rtcp-fb:\(videoPayloadType) nack pli",
                    "a=rtpmap:102 H264/90000",
                    "a=fmtp:102 packetization-mode=1;profile-level-id=42e01f;level-asymmetry-allowed=1",
                ]
            }
            lines += section.rids.map { "a=rid:\($0) send" }
            if !section.rids.isEmpty { lines.append("a=simulcast:send " + section.rids.joined(separator: ";")) }
            if section.ssrc > 0 { lines.append("a=ssrc:\(section.ssrc) cname:c") }
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }
}
