import MediaWire

/// Whether the parameters of a payload type (`a=fmtp`) suit Parlor, and which of them the answer repeats.
///
/// The node forwards and never decodes, so profile and level do not matter to it; the answer repeats them because both
/// sides must say the same (RFC 6184, section 8.2.2). What matters is what it reads: the packetization.
struct CodecFit {
    /// For the answer's `a=fmtp`; empty: none.
    var answered: String
    /// Of several payload types of one codec, the one that most publishers' streams fit.
    var isBest: Bool

    init?(_ codec: Codec, _ offered: FormatParameters?) {
        let names: Set<String>
        switch codec {
        case .opus:
            names = ["minptime", "useinbandfec", "usedtx", "stereo", "maxaveragebitrate", "maxplaybackrate", "cbr"]
            isBest = true
        case .vp8:
            names = ["max-fr", "max-fs"]
            isBest = true
        case .vp9:
            names = ["profile-id", "max-fr", "max-fs"]
            isBest = (offered?.value(of: "profile-id") ?? "0") == "0"
        case .h264:
            names = ["profile-level-id", "packetization-mode", "level-asymmetry-allowed"]
            let mode = offered?.value(of: "packetization-mode") ?? "0"
            // The interleaved mode (RFC 6184, section 5.4) is not read.
            guard mode == "0" || mode == "1" else { return nil }
            isBest = mode == "1"
        case .av1:
            names = ["profile", "level-idx", "tier"]
            isBest = (offered?.value(of: "profile") ?? "0") == "0"
        }
        // Only words of plain characters are repeated: everything in an answer is understood.
        let kept = (offered?.parameters ?? []).prefix(32).filter { parameter in
            names.contains(parameter.name.lowercased())
                && (1...32).contains(parameter.value.utf8.count)
                && parameter.value.utf8.allSatisfy { CodecFit.isPlain($0) }
        }
        answered = kept.map { "\($0.name)=\($0.value)" }.joined(separator: ";")
    }

    static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x2D, 0x2E, 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}
