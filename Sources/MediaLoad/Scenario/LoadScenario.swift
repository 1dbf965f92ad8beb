package import MediaCodecs
package import MediaWire

/// What to do: who joins which rooms, what they send, for how long.
package struct LoadScenario: Sendable, Equatable {
    package var url = "http://127.0.0.1:7880"
    package var app = "demo"
    package var key = "devkey"
    package var secret = "devsecret"
    package var rooms = 1
    /// Of each room, as are `subscribers`.
    package var publishers = 1
    package var subscribers = 1
    package var roomPrefix = "load"
    /// Seconds.
    package var duration = 10
    package var isLive = false
    /// Joins a second; `nil`: as fast as the node answers.
    package var ramp: Double?
    /// Packets that each publisher has sent before subscribers join.
    package var lateAfter = 0
    package var codec = VPXCodec.vp8
    /// `nil`: GCM-128 for plain legs; what the node likes best by WebRTC.
    package var profile: SRTPProfile?
    /// How users get to the node.
    package var way = Way.webRTC
    /// Instead of the load: so many users who come, see the first picture, and leave, one after the other.
    package var joins: Int?
    /// Joins a second of users who come, connect and leave, while the load goes on.
    package var storm: Double?
    package var framesPerSecond = 25
    package var width = 320
    package var height = 240
    /// In kbit/s.
    package var bitrate = 300
    package var isAudioOnly = false
    /// Small packets in place of sound; `nil`: sound.
    package var packetsPerSecond: Int?
    /// Of the small packets, in bytes.
    package var payloadSize = 20
    /// `nil`: with more than 4 publishers.
    package var share: Bool?
    /// Subscribers that decode; `nil`: all, up to 20.
    package var decode: Int?
    /// Receiving threads; `nil`: processors less one.
    package var threads: Int?

    /// A second, of each stream that a storm is measured by: as many as of sound.
    private static let stormPackets = 50

    package init() {}

    package enum Way: Sendable, Equatable {
        /// As clients of the room: signalling, ICE, DTLS.
        case webRTC
        /// By plain SRTP legs of WHIP and WHEP.
        case plain
    }

    package var publisherCount: Int { rooms * publishers }
    package var subscriberCount: Int { rooms * subscribers }
    package var sharesEncoders: Bool { share ?? (publisherCount > 4) }
    package var decodingSubscribers: Int { min(decode ?? 20, subscriberCount) }

    /// Encoders of each kind. A shared one serves many publishers, but never two of one room if that can be, nor those in the same
    /// place of neighbouring rooms: so a picture in the wrong place still shows.
    package var sourceCount: Int { sharesEncoders ? min(8, max(4, publishers + 1)) : publisherCount }

    /// Which source a publisher sends: its name in the pictures.
    package func source(room: Int, publisher: Int) -> UInt16 {
        UInt16(truncatingIfNeeded: sharesEncoders ? (room + publisher) % sourceCount : room * publishers + publisher)
    }

    /// The kinds that each publisher sends, in the order of its streams.
    package var kinds: [MediaKind] { isAudioOnly ? [.audio] : [.audio, .video] }

    package func roomName(_ room: Int) -> String { "\(roomPrefix)-\(room + 1)" }
    package func publisherName(_ publisher: Int) -> String { "pub-\(publisher + 1)" }
    package func subscriberName(_ subscriber: Int) -> String { "sub-\(subscriber + 1)" }

    /// Reads what `LoadOptions.parse` gave.
    package init(options: [String: String]) throws(LoadUsageError) {
        let read = OptionReader(options: options)
        try read.refuseOptions(of: .signalling, "goes with --signalling")
        url = try read.url() ?? url
        app = try read.name("app") ?? app
        key = try read.name("key") ?? key
        secret = options["secret"] ?? secret
        rooms = try read.number("rooms", 1...10_000) ?? rooms
        publishers = try read.number("publishers", 1...1000) ?? publishers
        subscribers = try read.number("subscribers", 0...100_000) ?? subscribers
        roomPrefix = try read.name("room-prefix") ?? roomPrefix
        duration = try read.number("duration", 1...1_000_000) ?? duration
        isLive = options["live"] != nil
        if isLive, options["duration"] != nil { throw LoadUsageError("--live runs until Ctrl-C; leave --duration out") }
        if let joins = try read.number("ramp", 1...100_000) { ramp = Double(joins) }
        lateAfter = try read.number("late-after", 0...1_000_000_000) ?? lateAfter
        codec = try read.choice("codec", [("vp8", .vp8), ("vp9", .vp9)]) ?? codec
        profile =
            try read.choice(
                "profile", [("gcm128", .aeadAES128GCM), ("gcm256", .aeadAES256GCM), ("cm", .aesCM128HmacSHA1_80)])
            ?? profile
        way = try read.choice("via", [("webrtc", .webRTC), ("plain", .plain)]) ?? way
        joins = try read.number("joins", 1...100_000)
        if joins != nil {
            guard way == .webRTC else { throw LoadUsageError("--joins goes with --via webrtc") }
            for name in ["subscribers", "duration", "live", "late-after"] where options[name] != nil {
                throw LoadUsageError("--joins says who subscribes, and how long; leave --\(name) out")
            }
            subscribers = 0
        }
        storm = try read.decimal("storm", 1...10_000)
        if storm != nil {
            guard way == .webRTC else { throw LoadUsageError("--storm goes with --via webrtc") }
            for name in ["joins", "live", "late-after", "codec", "fps", "size", "bitrate", "decode"]
            where options[name] != nil {
                throw LoadUsageError("--storm measures small packets for --duration; leave --\(name) out")
            }
            guard subscribers > 0 else {
                throw LoadUsageError("--storm measures what subscribers get: --subscribers 1 or more")
            }
        }
        framesPerSecond = try read.number("fps", 1...60) ?? framesPerSecond
        bitrate = try read.number("bitrate", 30...100_000) ?? bitrate
        if let size = options["size"] { (width, height) = try Self.size(size) }
        isAudioOnly = options["audio-only"] != nil || storm != nil
        packetsPerSecond =
            try read.number("packets-per-second", 1...1_000_000) ?? (storm == nil ? nil : Self.stormPackets)
        payloadSize =
            try read.number("payload", ProbePayload.smallestSize...RTPPayload.defaultMaximumSize) ?? payloadSize
        if options["payload"] != nil, packetsPerSecond == nil {
            throw LoadUsageError("--payload goes with --packets-per-second")
        }
        share = try read.choice("share", [("yes", true), ("no", false)])
        decode = try read.number("decode", 0...1_000_000)
        threads = try read.number("threads", 1...256)
        // The picture tells publishers apart by 16 bits.
        if !sharesEncoders, publisherCount > 65_536 {
            throw LoadUsageError("more than 65,536 publishers need --share yes")
        }
        // A transport has at most 64 streams.
        if publishers * kinds.count > 64 {
            throw LoadUsageError("a subscriber receives at most 64 streams: fewer --publishers, or --audio-only")
        }
    }

    private static func size(_ text: String) throws(LoadUsageError) -> (Int, Int) {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = Int(parts[0]), let height = Int(parts[1]),
            TestPicture.fits(width: width, height: height), width <= 4096, height <= 4096
        else {
            throw LoadUsageError("--size \(text): WIDTHxHEIGHT, from 160x120 to 4096x4096")
        }
        return (width, height)
    }
}
