import Foundation

/// A plain leg that `parlor sdp … --json` joined: the tool's command line, and where the leg is.
struct Leg: Decodable, Sendable {
    var command: [String]
    var location: String
    var token: String
    /// The description that FFmpeg plays.
    var sdp: String?

    /// The node's ports that FFmpeg's line sends to: RTP and RTCP of each m-line.
    var nodePorts: [UInt16] {
        command.filter { $0.hasPrefix("srtp://") }.flatMap { text -> [UInt16] in
            let url = URLComponents(string: text)
            let rtcp = url?.queryItems?.first { $0.name == "rtcpport" }?.value
            return [url?.port.flatMap { UInt16(exactly: $0) }, rtcp.flatMap { UInt16($0) }].compactMap { $0 }
        }
    }

    /// The path of its Location.
    var target: String { URL(string: location)?.path ?? location }
}

/// What `GET` on a leg's Location answers, as far as the tests look at it.
struct LegState: Decodable, Sendable {
    struct Track: Decodable, Sendable {
        var kind: String
        var codec: String?
        var user: String?
        var state: String
        var packets: Int
    }
    var kind: String
    var room: String
    var user: String
    var state: String
    var tracks: [Track]
    var packetsIn: Int
    var packetsOut: Int

    /// Packets of the track of that kind; 0 while there is none.
    func packets(_ kind: String) -> Int { tracks.first { $0.kind == kind }?.packets ?? 0 }
}

extension NodeProcess {
    func publish(_ room: String, _ user: String, _ options: String...) async throws -> Leg {
        try await sdp("publish", room, user, options)
    }

    /// Joins to receive, on ports of its own: the first is returned too.
    func play(_ room: String, _ user: String, _ options: String...) async throws -> (leg: Leg, port: UInt16) {
        let port = try FreePorts.row(of: 4)
        return (try await sdp("play", room, user, ["--port", "\(port)"] + options), port)
    }

    func sdp(_ purpose: String, _ room: String, _ user: String, _ options: [String]) async throws -> Leg {
        let words = [Programs.parlor, "sdp", purpose, "--room", room, "--user", user, "--json"] + options
        let ended = try await RunningProcess.run(words, environment: environment, in: scratch)
        guard ended.code == 0 else { throw TimedOut(description: "\(words): \(ended.error)") }
        return try JSONDecoder().decode(Leg.self, from: Data(ended.output.utf8))
    }

    /// The leg's state; `nil` once there is no such leg.
    func state(of target: String) async throws -> LegState? {
        let answer = try await request("GET", target)
        if answer.status == 404 { return nil }
        return try JSONDecoder().decode(LegState.self, from: Data(answer.body.utf8))
    }
}

/// What a publishing FFmpeg shows and plays instead of the test picture: small, so that it costs little beside other tests.
struct Programme: Sendable {
    /// A lavfi filter behind the test picture.
    var tint: String
    /// Of the tone, in Hz.
    var hertz: Int

    static let red = Programme(tint: ",colorchannelmixer=.6:.3:.3:0:0:0:0:0:0:0:0:0", hertz: 440)
    static let blue = Programme(tint: ",colorchannelmixer=0:0:0:0:0:0:0:0:.3:.3:.6:0", hertz: 880)
    static let plain = Programme(tint: "", hertz: 440)

    /// The command line of `parlor sdp publish` with this programme in place of its own.
    func replacing(_ command: [String]) -> [String] {
        command.map { word in
            if word.hasPrefix("testsrc2=") { return "testsrc2=size=320x180:rate=15" + tint }
            if word.hasPrefix("sine=") { return "sine=frequency=\(hertz):sample_rate=48000" }
            // Frames between key frames: 1 s of these.
            return word == "60" ? "15" : word
        }
    }
}
