import Foundation
import MediaWire
import Testing

@Suite struct SDPParserTests {
    private static let head = "v=0\no=- 1 1 IN IP4 192.0.2.1\ns=-\nt=0 0\n"

    @Test func lineEndsAndOrderHaveNoMeaning() throws {
        // c= before t=, c= only at session level, attributes before and behind others.
        let text = "v=0\ns=x\nc=IN IP4 192.0.2.9\nt=0 0\no=- 1 1 IN IP4 192.0.2.1\nm=audio 5000 RTP/SAVP 111\n\n"
        let first = try SessionDescription(parsing: text)
        let second = try SessionDescription(parsing: text.replacingOccurrences(of: "\n", with: "\r\n"))
        #expect(first == second)
        #expect(first.media[0].connection?.address(port: 5000) == TransportAddress(host: "192.0.2.9", port: 5000))
        #expect(first.media[0].ownConnection == nil)
        #expect(first.origin == "- 1 1 IN IP4 192.0.2.1")
        #expect(first.text.hasSuffix("c=IN IP4 192.0.2.9\r\nt=0 0\r\nm=audio 5000 RTP/SAVP 111\r\n"))
    }

    @Test(arguments: [
        ("", 0, "a session description begins with v=0"),
        ("s=-\nv=0\n", 1, "a session description begins with v=0"),
        ("v=1\n", 1, "v=0 stands once, and there is no other version"),
        ("v=0\nv=0\n", 2, "v=0 stands once, and there is no other version"),
        ("v=0\nnonsense\n", 2, "a line begins with a letter and =, not with \"nonsense\""),
        ("v=0\n=x\n", 2, "a line begins with a letter and =, not with \"=x\""),
        ("v=0\nA=x\n", 2, "a line begins with a letter and =, not with \"A=x\""),
        ("v=0\na=x\ry\n", 2, "a NUL or a lone CR inside the line"),
        ("v=0\na=x\0y\n", 2, "a NUL or a lone CR inside the line"),
        ("v=0\na=:x\n", 2, "\"\" is no name of an attribute"),
        ("v=0\na=b c:x\n", 2, "\"b c\" is no name of an attribute"),
        ("v=0\nc=IN IP4\n", 2, "an address is written as IN IP4 or IN IP6 and the address"),
        ("v=0\nc=IN IP5 x\n", 2, "the address type \"IP5\" is neither IP4 nor IP6"),
        ("v=0\nc=IN IP4 /127\n", 2, "\"/127\" is no address"),
        ("v=0\nc=IN IP4 1.2.3.4\nc=IN IP4 1.2.3.4\n", 3, "a second c= line in one section"),
        ("v=0\nm=audio 1 RTP/SAVP\n", 2, "an m-line is a media type, a port, a transport, and formats"),
        ("v=0\nm=audio 65536 RTP/SAVP 0\n", 2, "\"65536\" is no port"),
        ("v=0\nm=audio +1 RTP/SAVP 0\n", 2, "\"+1\" is no port"),
        ("v=0\nm=audio 1/x RTP/SAVP 0\n", 2, "\"1/x\" is no port"),
        ("v=0\nm=audio 1 RTP//SAVP 0\n", 2, "\"RTP//SAVP\" is no transport"),
        ("v=0\nm=audio 1 RTP/SAVP 0 (x)\n", 2, "a format is one word of plain characters"),
        ("v=0\nm=audio 1 X 0\na=mid:0\nm=audio 1 X 0\na=mid:0\n", 5, "the mid \"0\" stands twice"),
        ("v=0\nm=audio 1 X 0\na=mid:\n", 3, "a mid is one word of plain characters"),
        (
            "v=0\nm=audio 1 X 0\na=setup:actpass\na=setup:passive\n", 4,
            "a=setup contradicts a=setup on line 3, in the same section"
        ),
        (
            "v=0\nm=audio 1 X 0\na=sendonly\na=recvonly\n", 4,
            "a=recvonly contradicts a=sendonly on line 3, in the same section"
        ),
        (
            "v=0\na=ice-ufrag:abcd\na=ice-ufrag:abce\n", 3,
            "a=ice-ufrag contradicts a=ice-ufrag on line 2, in the same section"
        ),
        ("v=0\na=group:\n", 2, "a=group needs a kind and mids"),
        ("v=0\nm=audio 1 X 0\na=rtcp-fb:96\n", 3, "a=rtcp-fb is a payload type or *, a space, and the feedback"),
        ("v=0\nm=audio 1 X 0\na=rtcp-fb:128 nack\n", 3, "a=rtcp-fb has no payload type in \"128\""),
        ("v=0\nm=audio 1 X 0\na=extmap:1\n", 3, "a=extmap is an id, a space, and a URI, not \"1\""),
        ("v=0\nm=audio 1 X 0\na=extmap:1/x urn:a\n", 3, "a=extmap has no direction in \"x\""),
        ("v=0\nm=audio 1 X 0\na=ssrc:4294967296 cname:a\n", 3, "a=ssrc has no SSRC in \"4294967296\""),
        ("v=0\nm=audio 1 X 0\na=ssrc-group:FID 1 x\n", 3, "a=ssrc-group has no SSRC in \"x\""),
        ("v=0\nm=audio 1 X 0\na=rtcp:x\n", 3, "a=rtcp has no port in \"x\""),
        ("v=0\nm=audio 1 X 0\na=rtcp:1 IN\n", 3, "an address is written as IN IP4 or IN IP6 and the address"),
        ("v=0\na=setup:both\nm=audio 1 X 0\n", 2, "a=setup has no role in \"both\""),
        ("v=0\na=fingerprint:sha-256\n", 2, "a=fingerprint is a hash function, a space, and its value"),
        (
            "v=0\na=fingerprint:sha-256 A:BC\n", 2,
            "a=fingerprint is pairs of hexadecimal digits with : between"
        ),
        ("v=0\nm=video 1 X 0\na=rid:h\n", 3, "a=rid is an id, then send or recv, not \"h\""),
        ("v=0\nm=video 1 X 0\na=simulcast:send\n", 3, "a=simulcast is send or recv and a list of rids"),
    ])
    func malformed(text: String, line: Int, reason: String) {
        let error = #expect(throws: SDPError.self) { try SessionDescription(parsing: text) }
        #expect(error == SDPError(line: line, reason: reason))
    }

    /// The same said again, or said for all and otherwise for one m-line, is no contradiction.
    @Test func repeatedAttributes() throws {
        let session = try SessionDescription(
            parsing: "v=0\na=setup:actpass\na=sendonly\nm=audio 1 X 0\na=setup:passive\na=setup:passive\na=recvonly\n")
        #expect(session.media[0].setup == "passive" && session.media[0].direction == .recvonly)
    }

    @Test(arguments: [
        "", "96", "96 VP8", "128 VP8/90000", "-1 VP8/90000", "96 VP8/0", "96 VP8/x", "96 a/1/2/3", "96 /1",
    ])
    func malformedRTPMap(value: String) {
        let error = #expect(throws: SDPError.self) {
            try SessionDescription(parsing: Self.head + "m=video 9 RTP/SAVP 96\na=rtpmap:\(value)\n")
        }
        #expect(error?.line == 6)
    }

    /// A090: lengths and characters of RFC 8839, section 5.4.
    @Test func iceUserFragments() throws {
        func parse(_ ufrag: String) throws(SDPError) -> String? {
            let text = Self.head + "a=ice-ufrag:\(ufrag)\nm=audio 9 UDP/TLS/RTP/SAVPF 111\n"
            return try SessionDescription(parsing: text).media[0].iceUfrag
        }
        for length in [4, 5, 255, 256] {
            let ufrag = String(repeating: "a", count: length)
            #expect(try parse(ufrag) == ufrag)
        }
        for length in [1, 3, 257] {
            let error = #expect(throws: SDPError.self) { try parse(String(repeating: "a", count: length)) }
            #expect(error == SDPError(line: 5, reason: "a=ice-ufrag has 4 to 256 characters, not \(length)"))
        }
        let error = #expect(throws: SDPError.self) { try parse("ab:cd") }
        #expect(error == SDPError(line: 5, reason: "a=ice-ufrag may hold letters, digits, + and / only"))
    }

    @Test func bounds() {
        let long = Self.head + "a=" + String(repeating: "x", count: SDPLimits.text)
        #expect(throws: SDPError(line: 0, reason: "a session description may have 65536 bytes at most")) {
            try SessionDescription(parsing: long)
        }
        let tall = Self.head + String(repeating: "a=x\n", count: SDPLimits.lines)
        #expect(throws: SDPError(line: 4097, reason: "a session description may have 4096 lines at most")) {
            try SessionDescription(parsing: tall)
        }
        let wide = Self.head + String(repeating: "m=audio 0 RTP/SAVP 0\n", count: SDPLimits.media + 1)
        #expect(throws: SDPError(line: 69, reason: "a session description may have 64 m-lines at most")) {
            try SessionDescription(parsing: wide)
        }
    }

    @Test func inheritedAttributesAreBounded() throws {
        let line = "a=extmap:1 urn:a\n"
        let media = "m=audio 1 RTP/SAVP 0\n"
        let most = try SessionDescription(
            parsing: Self.head + String(repeating: line, count: SDPLimits.inherited) + media)
        #expect(most.media[0].extensions.count == SDPLimits.inherited)
        let reason = "the session may have 64 attributes at most that go for all m-lines"
        #expect(throws: SDPError(line: 69, reason: reason)) {
            try SessionDescription(
                parsing: Self.head + String(repeating: line, count: SDPLimits.inherited + 1) + media)
        }
    }

    @Test func viewsOfAnMLine() throws {
        let text =
            Self.head + """
                a=group:BUNDLE 0 1
                a=inactive
                m=video 5004/2 RTP/SAVPF 96 97 109
                c=IN IP6 2001:db8::7
                b=AS:500
                a=sendonly
                a=mid:1
                a=rtcp:6000 IN IP4 192.0.2.4
                a=rtcp-mux
                a=rtcp-rsize
                a=rtpmap:96 vp8/90000
                a=rtpmap:97 rtx/90000
                a=rtpmap:109 opus/48000/2
                a=fmtp:97 apt=96; Rtx-Time = 200
                a=rtcp-fb:96 nack  pli
                a=rtcp-fb:* ccm fir
                a=extmap:4/sendonly urn:ietf:params:rtp-hdrext:sdes:mid
                a=ssrc:7 cname:a:b c
                a=ssrc:8
                a=ssrc:7 msid:x
                a=ssrc-group:FID 7 8
                a=who-knows:this one
                m=audio 0 RTP/SAVP 0
                """
        let session = try SessionDescription(parsing: text)
        #expect(session.bundles == [SDPGroup(semantics: "BUNDLE", mids: ["0", "1"])])
        let video = session.media[0]
        #expect(video.kind == .video)
        #expect(video.port == 5004)
        #expect(video.profile == .secureRTP(feedback: true))
        #expect(video.direction == .sendonly)
        #expect(session.media[1].direction == .inactive)
        #expect(session.media[1].isRejected)
        #expect(video.mid == "1")
        #expect(video.connection?.address(port: 1)?.host == "2001:db8::7")
        #expect(video.rtcp?.port == 6000)
        #expect(video.rtcp?.connection?.host == "192.0.2.4")
        #expect(video.rtcpMux && video.rtcpReducedSize && !video.isBundleOnly)
        #expect(video.rtpMaps.map(\.codec) == [.vp8, nil, .opus])
        #expect(video.formatParameters[0].value(of: "apt") == "96")
        #expect(video.formatParameters[0].value(of: "rtx-time") == "200")
        #expect(video.feedback.map(\.payloadType) == [96, nil])
        #expect(video.feedback.map(\.value) == ["nack pli", "ccm fir"])
        #expect(video.extensions.map(\.kind) == [.mid])
        #expect(video.extensions[0].direction == .sendonly)
        #expect(video.ssrcs == [DeclaredSSRC(ssrc: 7, cname: "a:b c"), DeclaredSSRC(ssrc: 8, cname: nil)])
        #expect(video.ssrcGroups.map(\.ssrcs) == [[7, 8]])
        #expect(video.values("who-knows") == ["this one"])
        #expect(video.line == 7)
        #expect(video.own("mid")?.line == 11)
    }

    /// Firefox: fingerprint and setup at session level, directions behind ids, simulcast in its own order (A084).
    @Test func webRTCAttributesAreKept() throws {
        let session = try SessionDescription(parsing: Self.corpusFile { $0.contains("SDPARTA") })
        let video = session.media[1]
        #expect(video.fingerprints.first?.hash == "sha-256")
        #expect(video.fingerprints.first?.bytes.count == 32)
        #expect(video.iceUfrag == "7b2e11aa")
        #expect(video.setup == "actpass")
        #expect(video.rids.map(\.id) == ["l", "m", "h"])
        #expect(video.simulcast?.send.map(\.ids) == [["h"], ["m"], ["l"]])
        #expect(video.simulcast?.send.map(\.isPaused) == [false, false, true])
        #expect(session.media[0].values("candidate").count == 2)
        #expect(video.extensions.map(\.direction) == [.sendonly, nil, .recvonly])
        #expect(session.media[0].direction == .sendrecv)
    }

    /// A082: what an m-line says stays with it, whatever follows.
    @Test func dataChannelChangesNothing() throws {
        let session = try SessionDescription(parsing: Self.corpusFile { $0.contains("webrtc-datachannel") })
        #expect(session.media.map(\.profile) == [.dtlsRTP(feedback: true), .dtlsRTP(feedback: true), .dtlsSCTP])
        #expect(session.media[1].simulcast?.send.count == 3)
        #expect(session.media[2].simulcast == nil)
        #expect(session.media[2].values("sctp-port") == ["5000"])
        #expect(session.allowsMixedExtensions && session.media[1].allowsMixedExtensions)
    }

    @Test func corpusIsReadOrRefused() throws {
        var read = 0
        for text in try Self.corpus() {
            let session: SessionDescription
            do {
                session = try SessionDescription(parsing: text)
            } catch {
                #expect((0...text.utf8.count(where: { $0 == 10 }) + 1).contains(error.line))
                continue
            }
            let again = try SessionDescription(parsing: session.text)
            #expect(again.text == session.text)
            #expect(again.attributes == session.attributes)
            #expect(again.media.map(\.attributes) == session.media.map(\.attributes))
            read += 1
        }
        #expect(read >= 6)
    }

    private static func corpus() throws -> [String] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Fuzz/SDP/corpus")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count >= 18)
        return try files.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
    }

    private static func corpusFile(where matches: (String) -> Bool) throws -> String {
        try #require(try corpus().first(where: matches))
    }
}
