import RoomProtocol
import Synchronization

extension ClientCore {
    func sendMessage(_ text: String, to users: [String], messageID: String) throws(RTCError) -> String {
        guard !text.isEmpty else { throw RTCError(.invalidParameter, "a message needs a text") }
        let (_, connection) = try usable()
        let id = messageID.isEmpty ? SignallingConnection.hexadecimal() : messageID
        do throws(SignallingError) { try connection.sendMessage(text, to: users, messageID: id) } catch {
            throw RTCError(error)
        }
        return id
    }

    func kick(_ userID: String) async throws(RTCError) {
        let (_, connection) = try usable()
        do throws(SignallingError) { try await connection.kick(userID) } catch { throw RTCError(error) }
    }

    func setRole(_ role: ClientRole) async throws(RTCError) {
        guard mode == .live else { throw RTCError(.wrongMode, "roles are of the mode live") }
        // In turn with publishing: the audience has no tracks.
        try await publishTurns.run { () async throws(RTCError) in
            let (hasTracks, isOut) = state.withLock { state in
                (state.session?.publishing.tracks.isEmpty == false, state.connectionState == .disconnected)
            }
            if role == .audience, hasTracks {
                throw RTCError(.wrongState, "unpublish all tracks before becoming audience")
            }
            // While joining or cut off the server would not hear of it, and keep to the role that it knows.
            if !isOut {
                let (_, connection) = try usable()
                do throws(SignallingError) {
                    try await connection.setPrivileges(role == .broadcaster ? [.subscribe, .publish] : [.subscribe])
                } catch { throw RTCError(error) }
            }
            state.withLock { $0.role = role }
        }
    }

    func setAutoSubscribe(_ isOn: Bool) {
        let life = state.withLock { state in
            state.autoSubscribe = isOn
            return state.session?.life
        }
        if isOn, let life { subscribeAutomatically(life) }
    }

    func loseConnection(_ loss: SignallingConnection.Loss) { state.withLock { $0.session?.connection }?.abort(loss) }
}
