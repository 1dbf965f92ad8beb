package import RoomProtocol

/// A client's frame on its way to its room: decoded, and its SDP read, outside the room.
package enum SessionFrame: Sendable {
    case message(ClientMessage)
    /// pubpc or pub-tracks
    case publish(PublishRequest, PublishOffer, isNewConnection: Bool)
    /// The frame is refused as it stands.
    case refused(MalformedMessage)

    /// Reads a frame.
    package init(_ text: String) {
        let message: ClientMessage
        do { message = try ClientMessage(frame: text) } catch {
            self = .refused(error)
            return
        }
        switch message {
        case .publishConnection(let request): self = .publishing(request, "pubpc", isNewConnection: true)
        case .publishTracks(let request): self = .publishing(request, "pub-tracks", isNewConnection: false)
        default: self = .message(message)
        }
    }

    /// Reads a frame of somebody unknown: no SDP is looked at.
    init(withoutSDP text: String) {
        do { self = .message(try ClientMessage(frame: text)) } catch { self = .refused(error) }
    }

    private static func publishing(_ request: PublishRequest, _ type: String, isNewConnection: Bool) -> SessionFrame {
        do {
            let offer = try PublishOfferReader.read(sdp: request.sdp, tracks: request.tracks)
            return .publish(request, offer, isNewConnection: isNewConnection)
        } catch { return .refused(MalformedMessage(type: type, rpcid: request.rpcid, error.refused)) }
    }
}

extension SessionFrame {
    /// What an answer to it names.
    package var identity: (type: String?, rpcid: String?) {
        switch self {
        case .message(let message): (message.type, message.rpcid)
        case .publish(let request, _, let isNewConnection): (isNewConnection ? "pubpc" : "pub-tracks", request.rpcid)
        case .refused(let problem): (problem.type, problem.rpcid)
        }
    }

    /// The same of a text that is not looked at any further.
    static func identity(ofRefused text: String) -> (type: String?, rpcid: String?) {
        guard let frame = try? SignallingFrame(text) else { return (nil, nil) }
        return (frame.type, frame.rpcid)
    }
}

/// Answers in the form that clients can read even when refused.
package enum RefusalAnswer {
    /// The frame that refuses a message of that type: an answer if it has an rpcid by which it is known, else `error`.
    package static func frame(type: String?, rpcid: String?, messageID: String? = nil, _ refused: Refused) -> [UInt8] {
        // A type has at most 64 characters, that of an answer, too.
        guard let type, let rpcid, type.utf8.count <= 60 else {
            return Notification.frameError(FrameError(refused, type: type, messageID: messageID)).frame
        }
        let name = "\(type)-res"
        switch type {
        case "auth": return SignallingFrame.encode(name, AuthAnswer(rpcid: rpcid, refused))
        case "pubpc", "subpc":
            var answer = PublishConnectionAnswer(rpcid: rpcid, refused)
            answer.tracks = []
            return SignallingFrame.encode(name, answer)
        case "pub-tracks", "sub-tracks", "unpub-tracks", "unsub-tracks":
            return SignallingFrame.encode(name, TracksAnswer<TrackReference>(rpcid: rpcid, refused))
        default: return SignallingFrame.encode(name, Answer(rpcid: rpcid, refused))
        }
    }
}
