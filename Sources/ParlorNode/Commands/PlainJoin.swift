import MediaWire
import RoomControl
import WebTransport

/// Joins a room with a plain SRTP leg: makes the offer, posts it, and reads the answer.
struct PlainJoin: Sendable {
    /// What the leg came to.
    struct Result: Sendable {
        var streams: [PlainStream]
        /// For a player that opens a description: its text.
        var playerSDP: String
        /// Absolute URL that ends the leg (DELETE) or tells its state (GET).
        var location: String
        var token: String
    }

    var purpose: PlainOfferBuilder.Purpose
    var identity: SigningIdentity
    var room: String
    var user: String
    /// One m-line for each element, of one kind, the preferred codec first.
    var lines: [[Codec]]
    var profile: SRTPProfile
    /// Which user's or track's media a player wants, as query items; empty: whoever publishes.
    var picks: [(name: String, value: String)] = []
    /// The first port where a player listens; `nil`: free ones from 5004 on.
    var port: UInt16?

    /// The port that RFC 3551, section 8 names for RTP.
    private static let firstPort: UInt16 = 5004

    func run(lifetime: Duration) async throws -> Result {
        let url: WebURL
        do { url = try WebURL(identity.url) } catch { throw UsageError("--url: \(error)") }
        let route = try LocalNetwork.route(to: url.host, port: url.port)
        let offer = try offer(from: route.own.with(port: 0))
        let token = identity.token(
            room: room, user: user, admin: false, lifetime: lifetime, unixTime: SigningIdentity.now())

        // To the address that the route was found for: a name may have several, and the offer names ours on this way.
        var base = identity.url
        var headers: HTTPFields = ["Authorization": "Bearer \(token)", "Content-Type": "application/sdp"]
        if !url.isTLS {
            base = "http://\(route.node)"
            headers["Host"] = url.hostField
        }
        let query = picks.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        let path = (purpose == .publish ? "/whip" : "/whep") + (query.isEmpty ? "" : "?" + query)
        let response = try await NodeClient(identity).send(
            "POST", base + path, headers: headers, body: Array(offer.text.utf8))
        guard response.status == 201 else { throw NodeClient.refusal(response) }
        guard let location = response.headers["Location"] else {
            throw CommandFailure("the node's answer has no Location")
        }

        let answer: [PlainAnswerLine?]
        do { answer = try PlainAnswerReader.read(response.text, for: offer) } catch {
            throw CommandFailure("the node's answer cannot be used: \(error)")
        }
        return Result(
            streams: streams(offer: offer, answer: answer), playerSDP: PlayerSDP.text(offer: offer, answer: answer),
            location: location.hasPrefix("/") ? identity.url + location : location, token: token)
    }

    private func offer(from own: TransportAddress) throws -> PlainOfferBuilder {
        var random = SystemRandomNumberGenerator()
        var ports = [UInt16](repeating: 9, count: lines.count)
        if purpose == .play {
            if let port {
                // Each line takes an even port and the next, as RFC 3550, section 11 has it.
                for index in lines.indices {
                    guard let mine = UInt16(exactly: Int(port) + 2 * index), mine < 65535 else {
                        throw UsageError("--port \(port) leaves no room for \(lines.count) pairs of ports")
                    }
                    ports[index] = mine
                }
            } else {
                ports = try LocalNetwork.freePairs(lines.count, at: own, from: Self.firstPort)
            }
        }
        var offered: [PlainOfferBuilder.Line] = []
        for (codecs, port) in zip(lines, ports) {
            let key = (0..<profile.keyLength).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            let salt = (0..<profile.saltLength).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            guard let master = SRTPMasterKey(profile: profile, key: key, salt: salt) else {
                throw CommandFailure("no key for \(profile.name)")
            }
            // Positive as a signed number too: FFmpeg's option is one.
            let ssrc = purpose == .publish ? UInt32.random(in: 1...0x7FFF_FFFF, using: &random) : nil
            offered.append(
                PlainOfferBuilder.Line(
                    formats: codecs.map { PlainOfferBuilder.Format($0) }, port: port, keys: [master], ssrc: ssrc))
        }
        return PlainOfferBuilder(
            purpose: purpose, address: own, lines: offered, rtcpMux: false, feedback: false, cname: user)
    }

    private func streams(offer: PlainOfferBuilder, answer: [PlainAnswerLine?]) -> [PlainStream] {
        zip(offer.lines, answer).compactMap { line, answered in
            guard let answered, let format = answered.formats.first else { return nil }
            switch purpose {
            case .publish:
                return PlainStream(
                    codec: format.codec, payloadType: format.payloadType, ssrc: line.ssrc ?? 0, key: answered.clientKey,
                    rtp: answered.rtp, rtcp: answered.rtcp)
            case .play:
                return PlainStream(
                    codec: format.codec, payloadType: format.payloadType, ssrc: answered.ssrc ?? 0,
                    key: answered.nodeKey, rtp: offer.address.with(port: line.port),
                    rtcp: offer.address.with(port: line.port &+ 1))
            }
        }
    }
}
