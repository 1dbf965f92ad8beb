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
}
