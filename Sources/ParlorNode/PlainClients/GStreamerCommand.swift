import MediaWire

/// Pipelines for gst-launch-1.0 (GStreamer 1.22) for plain SRTP legs: all three profiles, RTCP on a port of its own.
package enum GStreamerCommand {
    /// Sends the test picture and the test tone along the streams.
    package static func publish(_ streams: [PlainStream]) throws(ToolLimit) -> ToolCommand {
        var groups = [["gst-launch-1.0", "rtpbin", "name=bin"]]
        for (index, stream) in streams.enumerated() {
            groups += try source(stream)
            groups[groups.count - 1] += ["!", "bin.send_rtp_sink_\(index)"]
            groups.append(["bin.send_rtp_src_\(index)", "!", "srtpenc", "name=seal\(index)"] + sealing(stream.key))
            groups.append(["!"] + sink(stream.rtp))
            groups.append(["bin.send_rtcp_src_\(index)", "!", "seal\(index).rtcp_sink_0"])
            // Reports must not wait for the pipeline to play, nor be held for their time.
            groups.append(
                ["seal\(index).rtcp_src_0", "!"] + sink(stream.rtcp) + ["sync=false", "async=false"])
        }
        return ToolCommand(groups)
    }

    /// Plays the streams: on screen and loudspeaker, or into a Matroska file with `record`.
    package static func play(_ streams: [PlainStream], record: String?) throws(ToolLimit) -> ToolCommand {
        // -e: an interrupt lets the file be finished.
        var groups = [["gst-launch-1.0", "-e", "rtpbin", "name=bin", "latency=200"]]
        if let record { groups.append(["matroskamux", "name=mux", "!", "filesink", "location=\(record)"]) }
        for (index, stream) in streams.enumerated() {
            let receive = ["udpsrc", "address=\(stream.rtp.host)"]
            groups.append(receive + ["port=\(stream.rtp.port)", "caps=\(capabilities(stream, rtcp: false))"])
            groups.append(["!", "srtpdec", "name=open\(index)", "!", "bin.recv_rtp_sink_\(index)"])
            groups.append(receive + ["port=\(stream.rtcp.port)", "caps=\(capabilities(stream, rtcp: true))"])
            groups.append(
                ["!", "open\(index).rtcp_sink", "open\(index).rtcp_src", "!", "bin.recv_rtcp_sink_\(index)"])
            // rtpbin makes this pad when it knows the stream: session, SSRC, payload type.
            groups.append(
                ["bin.recv_rtp_src_\(index)_\(stream.ssrc)_\(stream.payloadType)", "!", "queue", "!"]
                    + (try sinkChain(stream.codec, recording: record != nil)))
        }
        return ToolCommand(groups)
    }

    private static func source(_ stream: PlainStream) throws(ToolLimit) -> [[String]] {
        let picture = [
            "videotestsrc", "is-live=true", "pattern=ball", "!", "video/x-raw,width=640,height=360,framerate=30/1",
        ]
        let payload = ["pt=\(stream.payloadType)", "ssrc=\(stream.ssrc)", "mtu=1200"]
        let vpx = ["deadline=1", "cpu-used=8", "target-bitrate=1000000", "keyframe-max-dist=60", "!"]
        switch stream.codec {
        case .opus:
            return [
                ["audiotestsrc", "is-live=true", "freq=440", "!", "audioconvert", "!", "audioresample"],
                ["!", "opusenc", "bitrate=64000", "!", "rtpopuspay"] + payload,
            ]
        case .vp8: return [picture, ["!", "vp8enc"] + vpx + ["rtpvp8pay", "picture-id-mode=15-bit"] + payload]
        case .vp9: return [picture, ["!", "vp9enc"] + vpx + ["rtpvp9pay", "picture-id-mode=15-bit"] + payload]
        case .h264:
            return [
                picture,
                ["!", "openh264enc", "bitrate=1000000", "gop-size=60", "!", "h264parse", "config-interval=-1"],
                ["!", "rtph264pay", "aggregate-mode=zero-latency"] + payload,
            ]
        case .av1: throw ToolLimit(description: "GStreamer 1.22 cannot send AV1 by RTP")
        }
    }

    private static func sinkChain(_ codec: Codec, recording: Bool) throws(ToolLimit) -> [String] {
        switch (codec, recording) {
        case (.opus, true): ["rtpopusdepay", "!", "opusparse", "!", "mux."]
        case (.opus, false):
            ["rtpopusdepay", "!", "opusdec", "!", "audioconvert", "!", "audioresample", "!", "autoaudiosink"]
        case (.vp8, true): ["rtpvp8depay", "!", "mux."]
        case (.vp8, false): ["rtpvp8depay", "!", "vp8dec", "!", "videoconvert", "!", "autovideosink"]
        case (.vp9, true): ["rtpvp9depay", "!", "mux."]
        case (.vp9, false): ["rtpvp9depay", "!", "vp9dec", "!", "videoconvert", "!", "autovideosink"]
        case (.h264, true): ["rtph264depay", "!", "h264parse", "!", "mux."]
        case (.h264, false): ["rtph264depay", "!", "openh264dec", "!", "videoconvert", "!", "autovideosink"]
        case (.av1, _): throw ToolLimit(description: "GStreamer 1.22 cannot receive AV1 by RTP")
        }
    }

    private static func sink(_ address: TransportAddress) -> [String] {
        ["udpsink", "host=\(address.host)", "port=\(address.port)"]
    }

    private static func sealing(_ key: SRTPMasterKey) -> [String] {
        let (cipher, authentication) = names(key.profile)
        return ["key=\(hex(key))"]
            + [
                "rtp-cipher=\(cipher)", "rtp-auth=\(authentication)", "rtcp-cipher=\(cipher)",
                "rtcp-auth=\(authentication)",
            ]
    }

    private static func capabilities(_ stream: PlainStream, rtcp: Bool) -> String {
        let (cipher, authentication) = names(stream.key.profile)
        let kind = rtcp ? "application/x-srtcp" : "application/x-srtp"
        return "\(kind),media=(string)\(stream.codec.kind.name),clock-rate=(int)\(stream.codec.clockRate),"
            + "encoding-name=(string)\(stream.codec.name.uppercased()),payload=(int)\(stream.payloadType),"
            + "ssrc=(uint)\(stream.ssrc),srtp-key=(buffer)\(hex(stream.key)),"
            + "srtp-cipher=(string)\(cipher),srtp-auth=(string)\(authentication),"
            + "srtcp-cipher=(string)\(cipher),srtcp-auth=(string)\(authentication),roc=(uint)0"
    }

    private static func names(_ profile: SRTPProfile) -> (cipher: String, authentication: String) {
        switch profile {
        case .aesCM128HmacSHA1_80: ("aes-128-icm", "hmac-sha1-80")
        case .aeadAES128GCM: ("aes-128-gcm", "null")
        case .aeadAES256GCM: ("aes-256-gcm", "null")
        }
    }

    private static func hex(_ key: SRTPMasterKey) -> String {
        (key.key + key.salt).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }
}
