import RoomControl
import RoomProtocol

/// What must hold for any text that comes over a signalling connection, at the server and at a client. Run by the fuzzer, and
/// by the unit tests on the corpus.
enum SignallingExercise {
    /// The first broken promise, in words; `nil` if all were kept.
    static func run(_ bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        return checkClientMessage(text) ?? checkSessionFrame(text) ?? checkServerMessage(text)
    }

    /// Whether it is a message that a client may send.
    static func isClientMessage(_ bytes: [UInt8]) -> Bool {
        (try? ClientMessage(frame: String(decoding: bytes, as: UTF8.self))) != nil
    }

    // MARK: At the server

    private static func checkClientMessage(_ text: String) -> String? {
        do throws(MalformedMessage) {
            let message = try ClientMessage(frame: text)
            guard let again = encoded(message) else { return nil }
            guard (try? ClientMessage(frame: String(decoding: again, as: UTF8.self))) == message else {
                return "what is written reads as something else: \(message)"
            }
            return nil
        } catch { return check(error, of: text) }
    }

    private static func checkSessionFrame(_ text: String) -> String? {
        switch SessionFrame(text) {
        case .message: return nil
        case .publish(let request, let offer, _):
            return request.tracks.map(\.localID) == offer.tracks.map(\.localID) ? nil : "another offer's tracks"
        case .refused(let problem): return check(problem, of: text)
        }
    }

    /// A refusal says what it is about, and its answer can be read.
    private static func check(_ problem: MalformedMessage, of text: String) -> String? {
        if let type = problem.type, !text.hasPrefix("\(type)=") { return "refused as \(type)" }
        guard !problem.refused.text.isEmpty, problem.refused.text.utf8.count <= 1000 else { return "no short sentence" }
        guard (10030...10055).contains(problem.refused.code.rawValue) else { return "code \(problem.refused.code)" }
        let frame = RefusalAnswer.frame(type: problem.type, rpcid: problem.rpcid, problem.refused)
        switch try? ServerMessage(frame: String(decoding: frame, as: UTF8.self)) {
        case .answer(let type, let rpcid, let frame)?:
            let answer: Answer? = try? frame.decode()
            guard type == problem.type, rpcid == problem.rpcid, answer?.code == problem.refused.code else {
                return "the answer to \(type) is another one"
            }
            return answer?.error == problem.refused.text ? nil : "the answer's sentence is another one"
        case .notification(.frameError(let error))?:
            guard problem.rpcid == nil || problem.type?.utf8.count ?? 64 > 60 else { return "no answer" }
            return error.type == problem.type && error.code == problem.refused.code ? nil : "another error"
        default: return "an answer that no client reads"
        }
    }

    /// `nil`: it has no body, or one that is not looked at.
    private static func encoded(_ message: ClientMessage) -> [UInt8]? {
        func frame(_ body: some Encodable) -> [UInt8] { SignallingFrame.encode(message.type, body) }
        return switch message {
        case .pong, .disconnect, .unsupported: nil
        case .auth(let body): frame(body)
        case .publishConnection(let body), .publishTracks(let body): frame(body)
        case .subscribeConnection(let body), .subscribeTracks(let body): frame(body)
        case .unpublishTracks(let body), .unsubscribeTracks(let body): frame(body)
        case .restartPublishConnection(let body), .restartSubscribeConnection(let body),
            .closePublishConnection(let body), .closeSubscribeConnection(let body):
            frame(body)
        case .muteTracks(let body): frame(body)
        case .setSubscribeProfile(let body): frame(body)
        case .sendMessage(let body): frame(body)
        case .sendQoSMessage(let body): frame(body)
        case .control(let body): frame(body)
        case .setPrivileges(let body): frame(body)
        }
    }

    // MARK: At a client

    private static func checkServerMessage(_ text: String) -> String? {
        do throws(MalformedMessage) {
            switch try ServerMessage(frame: text) {
            case .notification(let notification):
                let again = String(decoding: notification.frame, as: UTF8.self)
                guard (try? ServerMessage(frame: again)) == .notification(notification) else {
                    return "a notification reads as something else: \(notification)"
                }
                var view = RoomView(ownID: "me")
                _ = view.apply(.playerJoined(PlayerInfo(playerID: "bob")))
                _ = view.apply(notification)
                _ = view.apply(notification)
            case .answer(let type, _, let frame):
                guard text.hasPrefix("\(type)-res=") else { return "an answer to \(type)" }
                return checkAnswers(frame)
            case .unknown(let type):
                if !text.hasPrefix("\(type)=") { return "an unknown \(type)" }
            }
            return nil
        } catch { return error.refused.text.isEmpty ? "no sentence" : nil }
    }

    private static func checkAnswers(_ frame: SignallingFrame) -> String? {
        func isStable<Body: Codable & Equatable>(_ type: Body.Type) -> Bool {
            guard let body: Body = try? frame.decode() else { return true }
            let again = try? SignallingFrame(String(decoding: SignallingFrame.encode("x", body), as: UTF8.self))
            return (try? again?.decode(Body.self)) == body
        }
        let all = [
            isStable(Answer.self), isStable(AuthAnswer.self), isStable(PublishConnectionAnswer.self),
            isStable(SubscribeConnectionAnswer.self), isStable(TracksAnswer<PublishedTrackResult>.self),
            isStable(TracksAnswer<SubscribedTrackResult>.self), isStable(TracksAnswer<TrackReference>.self),
        ]
        return all.allSatisfy { $0 } ? nil : "an answer reads as something else"
    }
}
