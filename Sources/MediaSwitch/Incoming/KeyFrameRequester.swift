import MediaWire

/// Decides when the publisher is asked for a key frame: at once, at most once in half a second, and again with growing pauses until
/// one comes, whoever asks and however often.
struct KeyFrameRequester {
    enum Decision {
        case send
        /// A request is under way, or will be sent when the half second after the last one is over.
        case wait
    }

    /// A browser's encoder passes over requests within 300 ms of the last one; other relays leave 500 ms to 1 s.
    static var spacing: MediaDuration { .milliseconds(500) }

    /// When to ask again; `nil`: nobody waits for a key frame.
    private(set) var due: MediaTime?
    private var lastSent: MediaTime?
    private var attempts = 0

    /// Somebody cannot go on without a key frame.
    mutating func want(now: MediaTime) -> Decision {
        if due != nil { return .wait }
        guard let lastSent, now < lastSent + Self.spacing else { return sent(now) }
        due = lastSent + Self.spacing
        return .wait
    }

    /// True when a request is to be sent now.
    mutating func fire(now: MediaTime) -> Bool {
        guard let due, due <= now else { return false }
        _ = sent(now)
        return true
    }

    private mutating func sent(_ now: MediaTime) -> Decision {
        lastSent = now
        // A key frame may be under way for longer than the spacing, behind a full queue: after 1, 2, 4, 4 s.
        attempts = min(attempts + 1, 3)
        due = now + MediaDuration(nanoseconds: Self.spacing.nanoseconds << Int64(attempts))
        return .send
    }

    /// A key frame came, or nobody is left who waits for one.
    mutating func settle() {
        due = nil
        attempts = 0
    }
}
