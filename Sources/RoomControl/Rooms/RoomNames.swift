/// A room by name: what tokens and the server API speak of. A later room of the same name is another instance.
package struct RoomKey: Hashable, Sendable, CustomStringConvertible {
    package var app: String
    package var room: String

    package init(app: String, room: String) {
        self.app = app
        self.room = room
    }

    package var description: String { "\(app)/\(room)" }
}

/// One life of a room, counted up by the directory. It is the upper half of every number that the room gives to the
/// media plane, so a report finds its room without a table, and no number is ever used twice.
package struct RoomInstance: Hashable, Sendable {
    package let rawValue: UInt32

    package init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// The instance in whose name the media plane's number was given.
    package init(of mediaNumber: UInt64) { rawValue = UInt32(truncatingIfNeeded: mediaNumber >> 32) }

    /// The room's n-th number for the media plane.
    func number(_ n: UInt32) -> UInt64 { UInt64(rawValue) << 32 | UInt64(n) }
}

/// Names one leg in its URL: the room's instance, then 128 random bits. Whoever knows it may read the leg's state.
package struct LegID: Hashable, Sendable, CustomStringConvertible {
    package let text: String
    package let room: RoomInstance

    package init(room: RoomInstance, using random: inout RandomSource) {
        self.room = room
        text = "\(room.rawValue)-\(Base64URL.encode(random.bytes(16), padded: false))"
    }

    /// Reads the last part of a leg's URL; `nil` if it cannot be one.
    package init?(text: some StringProtocol) {
        guard text.utf8.count <= 40, let dash = text.firstIndex(of: "-"), let room = UInt32(text[..<dash])
        else { return nil }
        self.text = String(text)
        self.room = RoomInstance(room)
    }

    package var description: String { "leg of room instance \(room.rawValue)" }
}
