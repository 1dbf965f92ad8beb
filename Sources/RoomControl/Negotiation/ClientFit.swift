import MediaWire
import RoomProtocol

/// Whether a payload type of a WebRTC client is one that everybody in a room has, and its parameters as rtpcaps names them.
///
/// In a room all clients share one video codec, and the node never decodes: so of each codec only the variant counts that
/// every browser sends and receives.
struct ClientFit {
    /// The higher the better.
    var rank: Int
    var parameters: [String: RTPCapabilities.Parameter]

    init?(_ codec: Codec, _ offered: FormatParameters?) {
        let names: [String]
        rank = 0
        switch codec {
        case .opus: names = ["minptime", "useinbandfec", "usedtx", "stereo", "maxaveragebitrate", "maxplaybackrate"]
        case .vp8: names = ["max-fr", "max-fs"]
        case .vp9:
            // RFC 9628, section 6: absent means profile 0, 8 bits and 4:2:0.
            guard offered?.value(of: "profile-id") ?? "0" == "0" else { return nil }
            names = ["profile-id", "max-fr", "max-fs"]
        case .h264:
            guard offered?.value(of: "packetization-mode") == "1",
                let level = offered?.value(of: "profile-level-id"), ClientFit.isConstrainedBaseline(level)
            else { return nil }
            rank = level.lowercased().hasPrefix("42e0") ? 1 : 0
            names = ["profile-level-id", "packetization-mode", "level-asymmetry-allowed"]
        case .av1:
            // AV1 RTP specification, section 7.2.1: absent means the main profile.
            guard offered?.value(of: "profile") ?? "0" == "0" else { return nil }
            names = ["profile", "level-idx", "tier"]
        }
        parameters = [:]
        for (name, value) in (offered?.parameters ?? []).prefix(32) {
            let name = name.lowercased()
            guard names.contains(name), parameters[name] == nil, (1...32).contains(value.utf8.count),
                value.utf8.allSatisfy({ CodecFit.isPlain($0) })
            else { continue }
            parameters[name] = ClientFit.parameter(name, value)
        }
    }

    private static func parameter(_ name: String, _ value: String) -> RTPCapabilities.Parameter {
        // Six hexadecimal digits, also when all of them are decimal ones.
        guard name != "profile-level-id", let number = Int(value), String(number) == value else { return .text(value) }
        return .number(number)
    }

    /// RFC 6184, section 8.1, table 5: the bytes are profile_idc, profile-iop and level_idc.
    private static func isConstrainedBaseline(_ text: String) -> Bool {
        guard text.utf8.count == 6, text.utf8.first != UInt8(ascii: "+"), let value = UInt32(text, radix: 16) else {
            return false
        }
        let flags = value >> 8 & 0xFF
        switch value >> 16 {
        case 0x42: return flags & 0x4F == 0x40
        case 0x4D: return flags & 0x8F == 0x80
        case 0x58: return flags & 0xCF == 0xC0
        default: return false
        }
    }
}
