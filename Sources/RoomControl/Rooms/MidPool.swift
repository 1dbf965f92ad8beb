import MediaWire

/// Hands out the `a=mid` values of a room's tracks: unique among those that live, and used again by a track of the same
/// kind only, which keeps the subscribers' SDP from growing.
struct MidPool: Sendable {
    private var free: [MediaKind: [Int]] = [:]
    private var last = 0

    mutating func take(_ kind: MediaKind) -> String {
        if let number = free[kind]?.popLast() { return MidPool.text(number, kind) }
        last += 1
        return MidPool.text(last, kind)
    }

    mutating func giveBack(_ mid: String, _ kind: MediaKind) {
        guard let number = Int(mid.dropFirst()) else { return }
        free[kind, default: []].append(number)
    }

    private static func text(_ number: Int, _ kind: MediaKind) -> String { (kind == .audio ? "a" : "v") + "\(number)" }
}
