/// A point in monotonic time, in nanoseconds since an arbitrary origin.
///
/// Nothing below MediaEngine reads a clock: time comes in as an argument, so the whole media plane runs in virtual time.
/// Arithmetic saturates at both ends; a clock that steps backwards can therefore never trap.
package struct MediaTime: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    @inlinable package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static let zero = MediaTime(nanoseconds: 0)
    package static let distantFuture = MediaTime(nanoseconds: .max)

    @inlinable package static func < (a: MediaTime, b: MediaTime) -> Bool { a.nanoseconds < b.nanoseconds }

    @inlinable package static func + (a: MediaTime, b: MediaDuration) -> MediaTime {
        let (sum, overflow) = a.nanoseconds.addingReportingOverflow(b.nanoseconds)
        return MediaTime(nanoseconds: overflow ? (b.nanoseconds > 0 ? .max : .min) : sum)
    }

    @inlinable package static func - (a: MediaTime, b: MediaTime) -> MediaDuration {
        let (difference, overflow) = a.nanoseconds.subtractingReportingOverflow(b.nanoseconds)
        return MediaDuration(nanoseconds: overflow ? (a.nanoseconds > b.nanoseconds ? .max : .min) : difference)
    }
}

/// A signed span of monotonic time, in nanoseconds.
package struct MediaDuration: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    @inlinable package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static let zero = MediaDuration(nanoseconds: 0)
    @inlinable package static func microseconds(_ n: Int64) -> MediaDuration { MediaDuration(nanoseconds: n &* 1_000) }
    @inlinable package static func milliseconds(_ n: Int64) -> MediaDuration {
        MediaDuration(nanoseconds: n &* 1_000_000)
    }
    @inlinable package static func seconds(_ n: Int64) -> MediaDuration {
        MediaDuration(nanoseconds: n &* 1_000_000_000)
    }

    @inlinable package var seconds: Double { Double(nanoseconds) / 1e9 }

    /// The same span in ticks of an RTP clock, rounded towards zero.
    @inlinable package func ticks(at clockRate: UInt32) -> Int64 {
        (nanoseconds / 1_000_000_000) &* Int64(clockRate)
            &+ (nanoseconds % 1_000_000_000) &* Int64(clockRate) / 1_000_000_000
    }

    @inlinable package static func < (a: MediaDuration, b: MediaDuration) -> Bool { a.nanoseconds < b.nanoseconds }
}

/// Wall-clock time as RTCP sender reports carry it: seconds since 1900 in 32.32 fixed point (RFC 3550, section 4).
package struct NTPTime: Hashable, Sendable {
    package var bits: UInt64

    @inlinable package init(bits: UInt64) { self.bits = bits }

    /// From nanoseconds since 1970.
    @inlinable package init(unixNanoseconds: Int64) {
        let nanoseconds = UInt64(clamping: unixNanoseconds)
        let seconds = nanoseconds / 1_000_000_000 &+ 2_208_988_800
        let fraction = (nanoseconds % 1_000_000_000) << 32 / 1_000_000_000
        bits = seconds << 32 | fraction
    }

    /// The middle 32 bits, as receiver reports return them in LSR (RFC 3550, section 6.4.1).
    @inlinable package var compact: UInt32 { UInt32(truncatingIfNeeded: bits >> 16) }

    @inlinable package func advanced(by duration: MediaDuration) -> NTPTime {
        let negative = duration.nanoseconds < 0
        let magnitude = duration.nanoseconds.magnitude
        let delta = (magnitude / 1_000_000_000) << 32 &+ (magnitude % 1_000_000_000) << 32 / 1_000_000_000
        return NTPTime(bits: negative ? bits &- delta : bits &+ delta)
    }
}
