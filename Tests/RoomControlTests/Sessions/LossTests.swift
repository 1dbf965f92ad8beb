import MediaWire
import RoomControl
import RoomProtocol
import Testing

/// How the loss of a connection ends.
@Suite struct LossTests {
    /// Whatever ends a lost session: whoever was told of the loss is told of its end, over signalling and by notices.
    @Test(arguments: ["time", "newer join", "kick"])
    func `a loss has its end, also with a leg`(_ end: String) throws {
        var room = SignallingFixture()
        try room.join("watcher")
        try room.join("user")
        try room.fixture.join("user", .sending)
        let link = try #require(room.links["user"])
        room.fixture.run { $0.lost("user", link: link, now: $1, effects: &$2) }
        room.fixture.inbox[link] = nil
        #expect(room.fixture.notices.last == .reconnecting(user: "user"))
        room.fixture.now = MediaTime(nanoseconds: 29_999_999_999)
        let watcher = try #require(room.links["watcher"])
        _ = room.fixture.run { $0.heard("watcher", link: watcher, now: $1, effects: &$2) }
        switch end {
        case "time": room.fixture.advance(to: 30)
        case "newer join": try room.join("user")
        default: room.fixture.kick("user")
        }
        let isThere = end != "kick"
        let back = Notification.playerReconnected(PlayerReference("user"))
        #expect(room.fixture.inbox[watcher]?.filter { $0 == back }.count == (isThere ? 1 : 0))
        #expect(room.fixture.notices.filter { $0 == .reconnected(user: "user") }.count == (isThere ? 1 : 0))
        #expect(room.fixture.notices.contains(.left(user: "user", .kicked)) == !isThere)
    }
}
