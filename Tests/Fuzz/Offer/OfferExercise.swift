import MediaContract
import MediaWire
import RoomControl

/// What must hold for any text that comes as an offer, read for both purposes and from a host of either family, and for
/// the answer to it. Run by the fuzzer, and by the unit tests on the corpus.
enum OfferExercise {
    static let clients = [
        TransportAddress(ipv4: 0xC000_020A, port: 40_000),  // 192.0.2.10
        TransportAddress(high: 0x2001_0DB8_0000_0000, low: 0x10, port: 40_000, isIPv4: false),  // 2001:db8::10
    ]
    static let node = TransportAddress(ipv4: 0xC633_6401, port: 0)  // 198.51.100.1

    /// The first broken promise, in words; `nil` if all were kept.
    static func run(_ bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        let lineCount = text.utf8.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        if let broken = checkFragment(text, lineCount) { return broken }
        for purpose in [LegPurpose.publish, .play] {
            for client in clients {
                do throws(NegotiationError) {
                    switch try Negotiator.read(text, purpose: purpose, client: client) {
                    case .plain(let offer):
                        if let broken = check(offer, of: text, client: client) { return broken }
                    case .webRTC(let offer):
                        if let broken = WebRTCOfferCheck.check(offer, of: text) { return broken }
                    }
                } catch {
                    guard [400, 406].contains(error.httpStatus), !error.reason.isEmpty else { return "no reason" }
                    guard (1...lineCount).contains(error.line ?? 1) else {
                        return "an error outside the text: \(error)"
                    }
                }
            }
        }
        return nil
    }

    /// How many of the four readings of a text are answered.
    static func answers(to text: String) -> Int {
        [LegPurpose.publish, .play].reduce(0) { count, purpose in
            clients.reduce(count) { count, client in
                (try? Negotiator.read(text, purpose: purpose, client: client)) == nil ? count : count + 1
            }
        }
    }

    /// The same bytes as the fragment of a PATCH.
    private static func checkFragment(_ text: String, _ lineCount: Int) -> String? {
        do throws(NegotiationError) {
            let fragment = try TrickleFragment(parsing: text)
            let names = [fragment.iceUfrag, fragment.icePassword].compactMap { $0 }
            guard names.count != 1, names.allSatisfy({ text.contains($0) && (4...256).contains($0.utf8.count) }) else {
                return "credentials that the fragment does not have"
            }
            return fragment.candidates <= lineCount ? nil : "more candidates than lines"
        } catch {
            guard error.httpStatus == 400, !error.reason.isEmpty, (1...lineCount).contains(error.line ?? 1) else {
                return "a fragment refused badly: \(error)"
            }
            return nil
        }
    }

    private static func check(_ offer: PlainOffer, of text: String, client: TransportAddress) -> String? {
        guard let offered = try? SessionDescription(parsing: text) else { return "an offer that is no description" }
        let accepted = offer.acceptedLines
        guard offer.lines.count == offered.media.count, !accepted.isEmpty, accepted.count <= PlainOffer.maximumLines
        else { return "wrong number of lines" }
        guard offer.transports.flatMap(\.lines).sorted() == accepted.map(\.index) else {
            return "a line is on no transport, or on two"
        }
        for plan in offer.transports {
            if let broken = check(plan, of: offer, offered, client: client) { return broken }
        }
        let answer = answer(to: offer)
        guard let session = try? SessionDescription(parsing: answer.text), session.text == answer.text else {
            return "the answer does not read back"
        }
        guard session.media.count == offered.media.count else { return "m-lines lost or added" }
        for (index, media) in session.media.enumerated() {
            if let broken = check(media, offered.media[index], offer.lines[index].accepted, purpose: offer.purpose) {
                return "m-line \(index): \(broken)"
            }
        }
        guard session.bundles.allSatisfy({ Set($0.mids).isSubset(of: offered.bundles.flatMap(\.mids)) }) else {
            return "a bundle that was not offered"
        }
        let own = answer.transports.map(\.localSSRC) + answer.playLines.map(\.ssrc)
        guard Set(own).count == own.count, Set(own).isDisjoint(with: accepted.flatMap(\.line.ssrcs)) else {
            return "an SSRC is used twice"
        }
        let parts = offer.purpose == .publish ? answer.tracks.count : answer.playLines.count
        guard parts == accepted.count, answer.tracks.isEmpty || answer.playLines.isEmpty else { return "parts missing" }
        return pickEach(offer)
    }

    private static func check(
        _ plan: PlainOffer.PlannedTransport, of offer: PlainOffer, _ offered: SessionDescription,
        client: TransportAddress
    ) -> String? {
        let tagged = offered.media[plan.taggedLine]
        guard plan.lines.contains(plan.taggedLine), plan.lines.count == 1 || plan.rtcpMux else {
            return "a bundle without muxed RTCP or its tagged line"
        }
        guard tagged.cryptos.contains(where: { $0.tag == plan.cryptoTag && $0.masterKey == plan.clientKey }) else {
            return "a key that was not offered"
        }
        switch plan.remote {
        case .latched: return offer.purpose == .publish ? nil : "a receiving leg whose address is open"
        case .known(let rtp, let rtcp):
            guard rtp.isSameHost(as: client), rtcp.isSameHost(as: client), rtp.port != 0, rtcp.port != 0 else {
                return "media for \(rtp) and \(rtcp), asked for by \(client.host)"
            }
            return plan.rtcpMux && rtp != rtcp ? "muxed, but on two addresses" : nil
        }
    }

    private static func check(
        _ media: MediaDescription, _ wanted: MediaDescription, _ accepted: PlainOffer.AcceptedLine?,
        purpose: LegPurpose
    ) -> String? {
        guard media.media == wanted.media, media.transport == wanted.transport, media.mid == wanted.mid else {
            return "not the line that was offered"
        }
        guard (media.port == 0) == (accepted == nil) else { return "accepted without a port, or refused with one" }
        guard Set(media.formats).isSubset(of: wanted.formats), Set(media.formats).count == media.formats.count else {
            return "a format that was not offered, or one twice"
        }
        guard Set(media.extensions.map(\.uri)).isSubset(of: wanted.extensions.map(\.uri)) else {
            return "an extension that was not offered"
        }
        guard accepted != nil else { return media.direction == .inactive ? nil : "refused and not inactive" }
        guard media.direction == (purpose == .publish ? .recvonly : .sendonly) else { return "the wrong direction" }
        // No address but the node's: neither in c= nor in a=rtcp.
        let connections = [media.connection, media.rtcp?.connection].compactMap { $0 }
        guard connections.allSatisfy({ $0.address(port: 0) == node }) else { return "an address of somebody else" }
        return nil
    }

    /// Each codec that a playing line offers can be picked, and is then the only one.
    private static func pickEach(_ offer: PlainOffer) -> String? {
        guard offer.purpose == .play else { return nil }
        for (index, line) in offer.acceptedLines {
            guard Set(line.codecs.map(\.codec)).count == line.codecs.count else { return "a codec stands twice" }
            for codec in line.codecs {
                var picked = offer
                guard (try? picked.pick(codec.codec, forLine: index)) != nil,
                    picked.lines[index].accepted?.codecs == [codec]
                else { return "\(codec.codec.name) cannot be picked" }
            }
        }
        return nil
    }

    static func answer(to offer: PlainOffer) -> PlainAnswer {
        let ports = offer.transports.enumerated().map { index, plan in
            let socket = UInt64(10 + 2 * index)
            let port = UInt16(8000 + 2 * index)
            return PlainPorts(
                socket: SocketID(socket), port: port, rtcpSocket: SocketID(plan.needsRTCPPort ? socket + 1 : socket),
                rtcpPort: plan.needsRTCPPort ? port + 1 : port)
        }
        var random = CountingGenerator()
        var next: UInt64 = 100
        return PlainAnswer.make(
            offer, ports: ports, terms: PlainAnswer.Terms(peer: PeerID(5), announced: node, cname: "node"),
            nextID: {
                next += 1
                return next
            }, random: &random)
    }

    /// Different numbers, always the same: an input that fails must fail again.
    private struct CountingGenerator: RandomNumberGenerator {
        var state: UInt64 = 1
        mutating func next() -> UInt64 {
            state &*= 0x5851_F42D_4C95_7F2D
            state &+= 0x1405_7B7E_F767_814F
            return state ^ state >> 29
        }
    }
}
