import RoomProtocol

extension ClientCore {
    /// Takes what the server says, until the connection ends.
    func serve(_ connection: SignallingConnection, _ life: Int) async {
        for await notification in connection.notifications {
            await delivery.room()
            guard isAlive(life) else { return }
            switch notification {
            case .disconnect(let notice):
                if case .over(let info) = EndingRules.verdict(notice: notice) {
                    end(life, info)
                } else {
                    connection.close()
                }
                return
            case .messages(let messages): receive(messages.messages, life)
            case .qos(let messages):
                let serial = messages.messages.map(\.serial).max()
                _ = withSession(life) { $0.messageMark = max($0.messageMark ?? 0, serial ?? 0) }
            case .publishDisconnected(let notice):
                Task { await self.renewPublishing(life, after: notice.connectionID) }
            case .subscribeDisconnected(let notice):
                Task { await self.renewSubscribing(life, after: notice.connectionID) }
            case .publishRestart(let notice):
                Task { await self.restartMedia(life, .publishing, notice.connectionID) }
            case .subscribeRestart(let notice):
                Task { await self.restartMedia(life, .subscribing, notice.connectionID) }
            case .subscribeProfileChanged(let change):
                _ = withSession(life) { session in
                    guard let profile = TrackProfile(rawValue: change.profile),
                        let track = session.room.remoteTrack(change.trackID)
                    else { return }
                    session.sentProfiles[change.trackID] = profile
                    emit([.profileChanged(track, profile)])
                }
            case .playerJoined, .playerLeft, .playerReconnecting, .playerReconnected, .tracksAdded, .tracksRemoved,
                .tracksMuted:
                _ = withSession(life) { session in
                    if case .tracksMuted(let body) = notification { takeMutes(body.tracks, &session) }
                    tell(session.room.apply(notification), &session)
                }
                if case .tracksAdded = notification { subscribeAutomatically(life) }
            default: break
            }
        }
    }

    /// Each message once: a replay after a loss may overlap with what came before.
    private func receive(_ messages: [RoomMessage], _ life: Int) {
        _ = withSession(life) { session in
            for message in messages.sorted(by: { $0.serial < $1.serial }) {
                guard message.serial > session.lastMessage ?? Int.min else { continue }
                session.lastMessage = message.serial
                session.messageMark = max(session.messageMark ?? 0, message.serial)
                emit([
                    .messageReceived(
                        MessageInfo(
                            identifier: message.messageID, userID: message.playerID, content: message.text,
                            timestamp: message.timestamp))
                ])
            }
        }
    }
}
