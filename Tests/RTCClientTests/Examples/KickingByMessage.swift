import RTCClient

/// The text on which both sides have agreed.
let kickMessage = "kickOut"

/// The one who kicks: works with every token, if the other one's app plays along.
func askToLeave(_ client: RTCClient, _ userID: String) throws {
    try client.sendMessage(kickMessage, toUsers: [userID], messageID: "kick-1")
}

/// The one who is kicked: leaves when asked to.
final class Obedient: RTCClientDelegate {
    func rtcClient(_ client: RTCClient, didReceiveMessage message: MessageInfo) {
        if message.content == kickMessage { client.leave() }
    }
}
