import MediaContract
import MediaWire
import RoomControl

enum Offers {
    static let client = TransportAddress(ipv4: 0xC000_020A, port: 40_000)  // 192.0.2.10
    static let node = TransportAddress(ipv4: 0xC633_6401, port: 0)  // 198.51.100.1

    static func key(_ profile: SRTPProfile, _ first: UInt8 = 1) -> SRTPMasterKey {
        SRTPMasterKey(
            profile: profile, key: (0..<profile.keyLength).map { first &+ UInt8($0) },
            salt: (0..<profile.saltLength).map { first &+ UInt8(100 + $0) })!
    }

    static func crypto(_ tag: Int, _ profile: SRTPProfile, _ first: UInt8 = 1) -> String {
        "a=crypto:\(tag) \(profile.name) inline:\(key(profile, first).inlineText)"
    }

    /// A session with c= of the client.
    static func session(_ attributes: [String] = [], _ media: [String]...) -> String {
        let head = ["v=0", "o=- 1 1 IN IP4 192.0.2.10", "s=-", "c=IN IP4 192.0.2.10", "t=0 0"] + attributes
        return (head + media.flatMap { $0 }).joined(separator: "\r\n") + "\r\n"
    }

    static func audio(_ port: Int = 5000, _ direction: String = "sendonly", _ more: [String] = []) -> [String] {
        ["m=audio \(port) RTP/SAVPF 111", "a=\(direction)", crypto(1, .aeadAES128GCM), "a=rtpmap:111 opus/48000/2"]
            + more
    }

    static func video(_ port: Int = 5002, _ direction: String = "sendonly", _ more: [String] = []) -> [String] {
        ["m=video \(port) RTP/SAVPF 96", "a=\(direction)", crypto(1, .aesCM128HmacSHA1_80, 9), "a=rtpmap:96 VP8/90000"]
            + more
    }

    static func publish(_ text: String) throws(NegotiationError) -> PlainOffer {
        try PlainOffer.read(text, purpose: .publish, client: client)
    }

    static func play(_ text: String) throws(NegotiationError) -> PlainOffer {
        try PlainOffer.read(text, purpose: .play, client: client)
    }

    static func ports(for offer: PlainOffer) -> [PlainPorts] {
        offer.transports.enumerated().map { index, plan in
            let socket = UInt64(10 + 2 * index)
            let port = UInt16(8000 + 2 * index)
            return PlainPorts(
                socket: SocketID(socket), port: port, rtcpSocket: SocketID(plan.needsRTCPPort ? socket + 1 : socket),
                rtcpPort: plan.needsRTCPPort ? port + 1 : port)
        }
    }

    static func answer(_ offer: PlainOffer, seed: UInt64 = 1) -> PlainAnswer {
        var random = SeededRandom(seed: seed)
        var next: UInt64 = 100
        return PlainAnswer.make(
            offer, ports: ports(for: offer),
            terms: PlainAnswer.Terms(
                peer: PeerID(5), announced: node, cname: "node", silenceLimit: .seconds(30)),
            nextID: {
                next += 1
                return next
            }, random: &random)
    }
}
