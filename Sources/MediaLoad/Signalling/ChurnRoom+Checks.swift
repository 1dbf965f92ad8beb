import RTCClient
import RoomProtocol

// Quiet points: nothing is under way, everything has arrived, and then everything must fit.

extension ChurnRoom {
    /// For what the node finds out by itself; shorter than what it waits before it gives users up.
    private static let lossPatience = 10

    /// Compares every client's view, the messages, and the server API's list with the truth. Call it when no action is
    /// under way.
    func check() async {
        let connected = clients.indices.filter { clients[$0].phase == .connected }
        guard await becomeQuiet(connected) else { return }
        tally.quietPoints += 1
        noteTheVanishing()
        for index in clients.indices where clients[index].phase == .connected {
            tally.viewsCompared += 1
            for difference in truth.differences(to: clients[index].view) {
                fault(.viewDiffers, "to \(clients[index].name): \(difference)")
            }
        }
        let absent = Set(clients.filter { $0.phase != .connected }.map(\.name))
        ledger.settle(absent: absent, faults: &tally.faults)
        do {
            let listed = try await common.list.users(in: name)
            noteTheVanishing()
            tally.listsCompared += 1
            for difference in truth.differences(toListed: listed) { fault(.listDiffers, difference) }
        } catch { fault(.listFailed, "\(error)") }
    }

    /// First each user's frames are taken: each gets an answer. Then one user's message to all has to arrive: what the
    /// node told before has arrived, too. Last, what the node finds out by itself: sockets that are gone.
    ///
    /// - Returns: false when it did not come to rest: then nothing can be said of what is under way.
    private func becomeQuiet(_ connected: [Int]) async -> Bool {
        await withDiscardingTaskGroup { group in
            for index in connected { group.addTask { await self.flush(index) } }
        }
        let still = connected.filter { clients[$0].phase == .connected }
        guard let speaker = still.randomElement(using: &random) else { return true }
        if let barrier = send(speaker, to: []) {
            let others = still.filter { $0 != speaker }
            let arrived = await wait(common.scenario.patience) {
                others.allSatisfy { self.clients[$0].phase != .connected || self.has($0, received: barrier) }
            }
            guard arrived else {
                fault(.notQuiet, "the message to everybody did not arrive everywhere")
                return false
            }
        }
        noteTheVanishing()
        _ = await wait(ChurnRoom.lossPatience) { self.lossesAreKnown }
        return true
    }

    private func has(_ index: Int, received message: String) -> Bool {
        ledger.has(clients[index].name, received: message)
    }

    private var lossesAreKnown: Bool {
        clients.allSatisfy { client in
            guard truth.users[client.name]?.presence == .away(isSilent: false) else { return true }
            return clients.allSatisfy { other in
                other.phase != .connected || other.view.players[client.name]?.isReconnecting ?? true
            }
        }
    }
}
