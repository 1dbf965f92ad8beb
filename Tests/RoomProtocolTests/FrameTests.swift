import RoomProtocol
import Testing

@Suite struct FrameTests {
    @Test func aFrameIsCutAtItsFirstEqualsSign() throws {
        let message = try ClientMessage(frame: #"send-message={"msgid":"m1","type":"normal","text":"a = b = c"}"#)
        #expect(message == .sendMessage(SendMessage(messageID: "m1", text: "a = b = c")))
    }

    @Test func whatIsWrongIsSaid() {
        func refusal(_ frame: String) -> MalformedMessage? {
            do { _ = try ClientMessage(frame: frame) } catch { return error }
            return nil
        }
        #expect(refusal("pubpc")?.refused.code == .invalidParameter)
        #expect(refusal(#"pubpc={"sdp":"v=0","rpcid":"ab"}"#)?.rpcid == "ab")
        #expect(refusal(#"pubpc={"sdp":"v=0","rpcid":"ab"}"#)?.refused.text == "pubpc: tracks is missing")
        #expect(
            refusal(#"unpub-tracks={"tracks":[{"trackid":7}]}"#)?.refused.text
                == "unpub-tracks: tracks[0].trackid has the wrong type, expected a text")
        #expect(refusal("auth=[[[[")?.refused.text == "auth: the body is not JSON")
        #expect(refusal(#"dance={"rpcid":"x"}"#)?.rpcid == "x")
    }

    /// A wish that the server does not need is no reason to refuse a track, whatever number a client reckoned.
    @Test(arguments: [
        ("64", 64), ("64.5", 64.5), ("1e2", 100), ("-0.25", -0.25),
        ("1180591620717411303424", 1_180_591_620_717_411_303_424),
        ("null", nil),
    ])
    func aBitrateIsAnyNumber(_ text: String, _ kbps: Double?) throws {
        let message = try ClientMessage(
            frame: #"pubpc={"sdp":"v=0","tracks":[{"localid":"x","kind":"audio","kbps":\#(text)}],"rpcid":"1"}"#)
        guard case .publishConnection(let request) = message else {
            Issue.record("\(message)")
            return
        }
        #expect(request.tracks.map(\.kbps) == [kbps])
        let again = String(decoding: SignallingFrame.encode("pubpc", request), as: UTF8.self)
        #expect(text != "64" || again.contains(#""kbps":64,"#) || again.contains(#""kbps":64}"#), "\(again)")
    }
}
