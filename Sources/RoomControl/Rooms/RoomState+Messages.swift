package import MediaWire
package import RoomProtocol

extension RoomState {
    /// The serial of the room's last message.
    package var messageSerial: Int { messageLog.serial }

    /// send-message: to everybody else, or to those who are named. Users who are away for a moment get it when they are back.
    ///
    /// - Parameter unixMilliseconds: the time that the receivers are told.
    package mutating func sendMessage(
        _ user: String, link: LinkID, _ message: SendMessage, now: MediaTime, unixMilliseconds: Int64,
        effects: inout [RoomEffect]
    ) throws(Refused) {
        settle(now, effects: &effects)
        _ = try session(of: user, link: link)
        try check(message)
        try count(user, now: now)
        _ = distribute(
            message, shownAs: user, by: user, now: now, unixMilliseconds: unixMilliseconds, effects: &effects)
    }

    /// A message of the app's back end; `sender` is what receivers see, and may be empty. Gives its serial; `nil`: none of those
    /// it is for is there.
    package mutating func sendServerMessage(
        _ message: SendMessage, sender: String, now: MediaTime, unixMilliseconds: Int64, effects: inout [RoomEffect]
    ) throws(Refused) -> Int? {
        settle(now, effects: &effects)
        if isClosed { throw Refused(.roomNotExist, "the room is closed") }
        try check(message)
        return distribute(
            message, shownAs: sender, by: nil, now: now, unixMilliseconds: unixMilliseconds, effects: &effects)
    }

    /// send-qos-message: to those who subscribe to one of the user's tracks.
    package mutating func sendQoS(
        _ user: String, link: LinkID, _ qos: String, now: MediaTime, effects: inout [RoomEffect]
    ) throws(Refused) {
        settle(now, effects: &effects)
        _ = try session(of: user, link: link)
        if qos.utf8.count > limits.messageBytes {
            throw Refused(.invalidParameter, "qos has at most \(limits.messageBytes) bytes")
        }
        try count(user, now: now)
        let own = tracks.filter { $0.user == user }.map(\.publicID)
        guard !own.isEmpty else { return }
        // Clients take the serial here for that of the last message.
        let notification = Notification.qos(
            QoSMessages(messages: [.init(playerID: user, qos: qos, serial: messageLog.serial)]))
        for member in members.values.sorted(by: { $0.order < $1.order }) {
            guard let session = member.session, let link = session.link,
                let subscriptions = session.subscribing?.subscriptions,
                own.contains(where: { subscriptions[$0] != nil })
            else { continue }
            effects.append(.send(link, notification))
        }
    }

    /// - Parameter author: the user who sent it and does not get it; `nil`: the back end.
    /// - Returns: the message's serial; `nil`: it is for nobody who is there.
    private mutating func distribute(
        _ message: SendMessage, shownAs sender: String, by author: String?, now: MediaTime, unixMilliseconds: Int64,
        effects: inout [RoomEffect]
    ) -> Int? {
        // Of those who are named, those who are there: nobody else can ever get it.
        let targets = message.target.flatMap { named in
            named.isEmpty ? nil : Set(named).filter { $0 != author && members[$0]?.session != nil }
        }
        // To nobody: it leaves no trace.
        if let targets, targets.isEmpty { return nil }
        let sent = RoomMessage(
            messageID: message.messageID ?? "", serial: messageLog.nextSerial(), timestamp: unixMilliseconds,
            playerID: sender, type: message.type ?? "normal", text: message.text)
        messageLog.keep(sent, by: author, targets: targets, now: now, age: messageAge, limits: limits)
        let notification = Notification.messages(RoomMessages(messages: [sent]))
        guard let targets else {
            let link = author.flatMap { members[$0]?.session?.link }
            effects.append(.broadcast(notification, except: link))
            return sent.serial
        }
        for member in targets.compactMap({ members[$0] }).sorted(by: { $0.order < $1.order }) {
            if let link = member.session?.link { effects.append(.send(link, notification)) }
        }
        return sent.serial
    }

    private func check(_ message: SendMessage) throws(Refused) {
        if message.text.isEmpty { throw Refused(.invalidParameter, "a message has a text") }
        if message.text.utf8.count > limits.messageBytes {
            throw Refused(.invalidParameter, "a message's text has at most \(limits.messageBytes) bytes")
        }
        if (message.messageID ?? "").utf8.count > limits.messageIDBytes {
            throw Refused(.invalidParameter, "msgid has at most \(limits.messageIDBytes) bytes")
        }
        if let type = message.type, !(1...32).contains(type.utf8.count) {
            throw Refused(.invalidParameter, "type has 1 to 32 bytes, usually \"normal\"")
        }
        guard let target = message.target else { return }
        if target.count > limits.usersPerRoom {
            throw Refused(.invalidParameter, "target names at most \(limits.usersPerRoom) users")
        }
        if let strange = target.first(where: { !Names.isUserID($0) }) {
            throw Refused(.invalidParameter, "target has \(RoomState.quoted(strange)), which is not a user's name")
        }
    }

    /// One more message of this user.
    private mutating func count(_ user: String, now: MediaTime) throws(Refused) {
        guard members[user]?.session?.messageRate.admits(now: now) == true else {
            throw Refused(.tooManyOperations, "at most \(limits.messagesPerSecond) messages per second")
        }
    }
}
