import ClientEngine
import MediaCodecs
import MediaWire

/// How a synthetic user joins: the offer, the answer, and the transport that comes of them.
struct LegJoin: Sendable {
    let scenario: LoadScenario
    let node: NodeAccess

    /// A leg that is in: what its transport needs, and what ends it.
    struct Joined: Sendable {
        var socket: ClientSocket
        var configuration: ClientTransport.Configuration
        var location: String
    }

    /// A publisher's leg: one stream for each of the scenario's kinds.
    func publish(user: String, token: String) async throws -> Joined {
        try await join(purpose: .publish, kinds: scenario.kinds, path: "/whip", user: user, token: token)
    }

    /// A subscriber's leg: the streams of each of the users, one for each of the scenario's kinds.
    func subscribe(to users: [String], user: String, token: String) async throws -> Joined {
        let kinds = users.flatMap { _ in scenario.kinds }
        let picks = users.map { "user=\($0)" }.joined(separator: "&")
        return try await join(purpose: .play, kinds: kinds, path: "/whep?\(picks)", user: user, token: token)
    }

    private func join(
        purpose: PlainOfferBuilder.Purpose, kinds: [MediaKind], path: String, user: String, token: String
    ) async throws -> Joined {
        let socket: ClientSocket
        do { socket = try ClientSocket(at: node.own) } catch { throw LoadFailure("no socket: \(error)") }
        do {
            var random = SystemRandomNumberGenerator()
            let offer = try offer(purpose, kinds, port: socket.address.port, user: user, &random)
            let leg = try await node.join(offer, path: path, token: token)
            do {
                return Joined(
                    socket: socket,
                    configuration: try configuration(offer, leg.answer, purpose, user, &random),
                    location: leg.location)
            } catch {
                _ = await node.leave(leg.location, token: token)
                throw error
            }
        } catch {
            socket.close()
            throw error
        }
    }

    private func offer(
        _ purpose: PlainOfferBuilder.Purpose, _ kinds: [MediaKind], port: UInt16, user: String,
        _ random: inout SystemRandomNumberGenerator
    ) throws(LoadFailure) -> PlainOfferBuilder {
        let profile = scenario.profile ?? .aeadAES128GCM
        guard let key = SRTPMasterKey.random(profile: profile, using: &random) else {
            throw LoadFailure("no key for \(profile.name)")
        }
        var lines: [PlainOfferBuilder.Line] = []
        for (index, kind) in kinds.enumerated() {
            let codec = kind == .audio ? Codec.opus : scenario.codec.codec
            let ssrc = purpose == .publish ? UInt32.random(in: 1 ... .max, using: &random) : nil
            lines.append(
                PlainOfferBuilder.Line(
                    formats: [PlainOfferBuilder.Format(codec)], port: port, keys: [key], mid: "\(index)", ssrc: ssrc))
        }
        return PlainOfferBuilder(
            purpose: purpose, address: node.own, lines: lines, bundled: true, reducedSizeRTCP: true, cname: user)
    }

    private func configuration(
        _ offer: PlainOfferBuilder, _ answer: [PlainAnswerLine?], _ purpose: PlainOfferBuilder.Purpose, _ user: String,
        _ random: inout SystemRandomNumberGenerator
    ) throws(LoadFailure) -> ClientTransport.Configuration {
        guard let first = answer.first, let first else { throw LoadFailure("the node rejected the first line") }
        var configuration = ClientTransport.Configuration(
            remote: first.rtp, sendKey: first.clientKey, receiveKey: first.nodeKey,
            reporterSSRC: UInt32.random(in: 1 ... .max, using: &random), cname: user)
        for (index, pair) in zip(offer.lines, answer).enumerated() {
            guard let line = pair.1, let format = line.formats.first else {
                throw LoadFailure("the node rejected line \(index + 1)")
            }
            guard line.rtp == first.rtp, line.rtcpMux else { throw LoadFailure("the node does not bundle") }
            switch purpose {
            case .publish:
                configuration.sending.append(
                    OutboundStreamSettings(
                        ssrc: pair.0.ssrc ?? 0, payloadType: format.payloadType, codec: format.codec,
                        firstSequenceNumber: UInt16.random(in: 0...0x7FFF, using: &random)))
            case .play:
                guard let ssrc = line.ssrc else { throw LoadFailure("the node names no SSRC for line \(index + 1)") }
                configuration.receiving.append(InboundStreamSettings(ssrc: ssrc, codec: format.codec))
            }
        }
        return configuration
    }
}
