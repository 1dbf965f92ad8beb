import MediaWire

/// One point of the matrix: what is forwarded, and how.
struct Cell: Hashable {
    var fanOut: Int
    /// Bytes of the RTP packet before it is sealed.
    var size: Int
    var profile: SRTPProfile
    /// UDP_SEGMENT on the way out, UDP_GRO on the way in.
    var segmentation: Bool

    static let fanOuts = [1, 3, 10, 100, 1000]
    static let sizes = [120, 1200]
    static let profiles: [SRTPProfile] = [.aeadAES128GCM, .aesCM128HmacSHA1_80]

    /// How a profile is called in options, tables and files.
    static func name(_ profile: SRTPProfile) -> String { profile == .aesCM128HmacSHA1_80 ? "cm" : "gcm" }

    /// Names the cell in files of results and thresholds.
    var key: String { "\(size)/\(Self.name(profile))/\(segmentation ? "gso" : "plain")/\(fanOut)" }

    /// A message carries at most this many bytes, as `Switchboard.Configuration.messageBytes` has it.
    static let messageBytes = 20_000
    /// Datagrams that the feeder sends before each turn: one full recvmmsg.
    static let batch = 64
}

/// A benchmark's inputs are the same in every run.
extension SeededRandom {
    mutating func key(_ profile: SRTPProfile) -> SRTPMasterKey {
        let bytes = (0..<profile.keyLength).map { _ in UInt8.random(in: 0...255, using: &self) }
        let salt = (0..<profile.saltLength).map { _ in UInt8.random(in: 0...255, using: &self) }
        guard let key = SRTPMasterKey(profile: profile, key: bytes, salt: salt) else {
            preconditionFailure("the lengths are the profile's own")
        }
        return key
    }
}
