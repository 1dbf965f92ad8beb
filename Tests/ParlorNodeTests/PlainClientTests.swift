import Glibc
import MediaWire
import ParlorNode
import Testing

struct PlainClientTests {
    private func stream(_ codec: Codec, _ profile: SRTPProfile = .aesCM128HmacSHA1_80) throws -> PlainStream {
        let key = try #require(
            SRTPMasterKey(
                profile: profile, key: (0..<profile.keyLength).map { UInt8($0) },
                salt: (0..<profile.saltLength).map { UInt8($0 + 0xF0) }))
        let node = try #require(TransportAddress(host: "::1", port: 8000))
        return PlainStream(
            codec: codec, payloadType: 96, ssrc: 0xFFFF_FFFE, key: key, rtp: node, rtcp: node.with(port: 8001))
    }

    @Test func fFmpegPublishes() throws {
        let command = try FFmpegCommand.publish([stream(.opus), stream(.vp8)])
        let arguments = command.arguments
        #expect(arguments.first == "ffmpeg")
        // One input, one output for each; the key as RFC 4568 writes it; the SSRC as the signed number that the option is.
        #expect(arguments.filter { $0 == "-re" }.count == 2)
        #expect(arguments.filter { $0 == "AAECAwQFBgcICQoLDA0OD/Dx8vP09fb3+Pn6+/z9" }.count == 2)
        #expect(arguments.filter { $0 == "-2" }.count == 2)
        #expect(arguments.filter { $0 == "srtp://[::1]:8000?rtcpport=8001&pkt_size=1200" }.count == 2)
        #expect(arguments.contains("libopus") && arguments.contains("libvpx"))
        #expect(throws: ToolLimit.self) { try FFmpegCommand.publish([stream(.vp8, .aeadAES128GCM)]) }
        #expect(throws: ToolLimit.self) { try FFmpegCommand.publish([stream(.av1)]) }
    }

    @Test(arguments: [SRTPProfile.aesCM128HmacSHA1_80, .aeadAES128GCM, .aeadAES256GCM])
    func gStreamerPublishesAndPlays(profile: SRTPProfile) throws {
        let hex = try stream(.vp8, profile).key
        let digits = (hex.key + hex.salt).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let publish = try GStreamerCommand.publish([stream(.opus, profile), stream(.vp8, profile)])
        #expect(publish.arguments.filter { $0 == "key=\(digits)" }.count == 2)
        #expect(publish.arguments.filter { $0 == "port=8000" }.count == 2)
        let play = try GStreamerCommand.play([stream(.vp8, profile)], record: "a b.mkv")
        #expect(play.arguments.contains("bin.recv_rtp_src_0_4294967294_96"))
        #expect(play.text.contains("'location=a b.mkv'"))
        #expect(
            play.arguments.contains {
                $0.hasPrefix("caps=application/x-srtp,") && $0.contains("srtp-key=(buffer)\(digits),")
            })
    }

    @Test(arguments: [Codec.opus, .vp8, .vp9, .h264])
    func everyCodecHasItsPipeline(codec: Codec) throws {
        #expect(throws: Never.self) { try FFmpegCommand.publish([stream(codec)]) }
        #expect(throws: Never.self) { try GStreamerCommand.publish([stream(codec)]) }
        #expect(throws: Never.self) { try GStreamerCommand.play([stream(codec)], record: nil) }
    }

    /// What a shell makes of the printed text is what was meant.
    @Test func theTextIsTheCommandForAShell() throws {
        let odd = [
            "plain", "two words", "it's", "$HOME", "a;b", "x*?[y]", "", "\"q\"", "!", "back\\slash", "(buffer)", "&",
            "é",
        ]
        let command = ToolCommand([["printf", "%s\\n"], odd])
        let file = try #require(popen(command.text, "r"))
        defer { pclose(file) }
        var bytes: [UInt8] = []
        while case let byte = fgetc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.dropLast().map(String.init) == odd)
    }
}
