import MediaWire

/// Command lines of FFmpeg 5.1 for plain SRTP legs. Its SRTP knows AES-CM only, and it sends RTCP from a socket of its own, so
/// its legs are offered without rtcp-mux.
package enum FFmpegCommand {
    /// Frames between key frames of the test picture: 2 s at 30 fps. FFmpeg does not hear requests for one.
    private static let keyFrameInterval = "60"
    /// RTP packet size that passes every common path with headers and tag: 1200 bytes.
    private static let packetSize = "1200"

    /// Sends the test picture and the test tone along the streams.
    package static func publish(_ streams: [PlainStream]) throws(ToolLimit) -> ToolCommand {
        var groups = [["ffmpeg", "-hide_banner", "-loglevel", "warning"]]
        for stream in streams {
            // -re: in real time, as a camera would.
            let source =
                stream.codec.kind == .video
                ? "testsrc2=size=640x360:rate=30" : "sine=frequency=440:sample_rate=48000"
            groups.append(["-re", "-f", "lavfi", "-i", source])
        }
        for (index, stream) in streams.enumerated() {
            guard stream.key.profile == .aesCM128HmacSHA1_80 else {
                throw ToolLimit(description: "FFmpeg knows no \(stream.key.profile.name); use --profile cm, or --gst")
            }
            groups.append(
                ["-map", "\(index):\(stream.codec.kind == .video ? "v" : "a")"] + (try encoder(stream.codec)))
            // The option is a signed number.
            let ssrc = Int32(bitPattern: stream.ssrc)
            groups.append(["-payload_type", "\(stream.payloadType)", "-ssrc", "\(ssrc)"])
            let key = Base64.encode(stream.key.key + stream.key.salt)
            groups.append(["-srtp_out_suite", stream.key.profile.name, "-srtp_out_params", key])
            groups.append(
                ["-f", "rtp", "srtp://\(stream.rtp)?rtcpport=\(stream.rtcp.port)&pkt_size=\(packetSize)"])
        }
        return ToolCommand(groups)
    }

    /// Shows what the description in the file says, or writes it to a file as it comes.
    package static func play(file: String, record: String?) -> ToolCommand {
        let input = ["-protocol_whitelist", "file,rtp,srtp,udp", "-i", file]
        guard let record else { return ToolCommand([["ffplay", "-hide_banner"] + input]) }
        // Its VP9 depacketizer marks no key frames, so copying would wait for one for ever; the node begins with one anyway.
        return ToolCommand([["ffmpeg", "-hide_banner"] + input, ["-c", "copy", "-copyinkf", record]])
    }

    private static func encoder(_ codec: Codec) throws(ToolLimit) -> [String] {
        switch codec {
        case .opus: ["-c:a", "libopus", "-ac", "2", "-b:a", "64k"]
        case .vp8: ["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "1M", "-g", keyFrameInterval]
        case .vp9:
            // FFmpeg calls its VP9 packetizer experimental and wants to be told that we know.
            [
                "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "1M", "-g", keyFrameInterval,
                "-strict", "experimental",
            ]
        case .h264:
            [
                "-c:v", "libx264", "-profile:v", "baseline", "-pix_fmt", "yuv420p", "-preset", "ultrafast", "-tune",
                "zerolatency", "-b:v", "1M", "-g", keyFrameInterval,
            ]
        case .av1: throw ToolLimit(description: "FFmpeg 5.1 cannot send AV1 by RTP")
        }
    }
}
