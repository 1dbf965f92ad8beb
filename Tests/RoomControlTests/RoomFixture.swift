import MediaContract
import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit
import Testing

/// A `RoomState` with a clock moved by hand and a model of the worker behind it.
struct RoomFixture {
    var state: RoomState
    var now = MediaTime.zero
    var plane = PlaneModel()
    var notices: [RoomNotice] = []
    var commands: [MediaCommand] = []
    var isClosed = false
    /// What each connection of the room has got.
    var inbox: [LinkID: [Notification]] = [:]
    var released: [(link: LinkID, end: LinkEnd)] = []
    private var random = RandomSource.seeded(1)
    private var lastSocket: UInt64 = 2

    init(_ settings: AppSettings = AppSettings(), instance: UInt32 = 1) {
        state = RoomState(
            instance: RoomInstance(instance), settings: settings, now: .zero, random: .seeded(UInt64(instance)))
    }

    mutating func take(_ effects: [RoomEffect]) {
        for effect in effects {
            switch effect {
            case .post(let command):
                commands.append(command)
                plane.apply(command)
            case .notice(let notice): notices.append(notice)
            case .send(let link, let notification): inbox[link]?.append(notification)
            case .broadcast(let notification, let excepted):
                for link in inbox.keys where link != excepted { inbox[link]?.append(notification) }
            case .release(let link, let end):
                released.append((link, end))
                inbox[link] = nil
            case .closed: isClosed = true
            }
        }
    }

    /// The state's answer, with its effects done.
    mutating func run<Result>(
        _ body: (inout RoomState, MediaTime, inout [RoomEffect]) throws -> Result
    ) rethrows -> Result {
        var effects: [RoomEffect] = []
        defer { take(effects) }
        return try body(&state, now, &effects)
    }

    mutating func plan(_ kind: LegKind, _ lines: [LegPlan.Line], picks: [LegPick] = []) -> LegPlan {
        let count = (lines.map(\.transport).max() ?? -1) + 1
        let transports = (0..<count).map { _ in
            lastSocket += 2
            let key = SRTPMasterKey(
                profile: .aeadAES128GCM, key: [UInt8](repeating: 1, count: 16), salt: [UInt8](repeating: 2, count: 12))!
            return LegPlan.Transport(
                ports: PlainPorts(
                    socket: SocketID(lastSocket), port: UInt16(8000 + lastSocket % 1000),
                    rtcpSocket: SocketID(lastSocket + 1), rtcpPort: UInt16(8001 + lastSocket % 1000)),
                inbound: key, outbound: key, remote: .latched, localSSRC: UInt32(1000 + lastSocket), cname: "c")
        }
        return LegPlan(kind: kind, transports: transports, lines: lines, picks: picks)
    }

    /// Adds a leg; gives its id.
    @discardableResult
    mutating func join(
        _ user: String, _ kind: LegKind, _ lines: [LegPlan.Line] = RoomFixture.audioVideo, picks: [LegPick] = []
    ) throws -> LegID {
        let plan = plan(kind, lines, picks: picks)
        let id = LegID(room: state.instance, using: &random)
        try run { try $0.addLeg(plan, id: id, of: user, now: $1, effects: &$2) }
        return id
    }

    mutating func advance(to seconds: Int64) {
        now = MediaTime(nanoseconds: seconds * 1_000_000_000)
        run { $0.settle($1, effects: &$2) }
    }

    /// What a leg's lines get: "user kind", or nil while they wait.
    func heard(by leg: LegID) -> [String?] {
        var copy = state
        var effects: [RoomEffect] = []
        let status = copy.visitLeg(leg, now: now, effects: &effects)
        return status?.lines.map { line in line.publisher.map { "\($0) \(line.codec?.name ?? "?")" } } ?? []
    }

    func lines(of leg: LegID) -> [LegStatus.Line] {
        var copy = state
        var effects: [RoomEffect] = []
        return copy.visitLeg(leg, now: now, effects: &effects)?.lines ?? []
    }

    func tracks(of leg: LegID) -> [String] {
        var copy = state
        var effects: [RoomEffect] = []
        return copy.visitLeg(leg, now: now, effects: &effects)?.lines.compactMap(\.track) ?? []
    }

    func transports(of leg: LegID) -> [TransportID] {
        var copy = state
        var effects: [RoomEffect] = []
        return copy.visitLeg(leg, now: now, effects: &effects)?.transports ?? []
    }

    mutating func event(_ event: MediaEvent) { run { $0.handle(event, now: $1, effects: &$2) } }

    mutating func remove(_ leg: LegID, expecting found: Bool = true) {
        let wasFound = run { $0.removeLeg(leg, now: $1, effects: &$2) }
        #expect(wasFound == found)
    }

    mutating func visit(_ leg: LegID, expecting found: Bool) {
        let status = run { $0.visitLeg(leg, now: $1, effects: &$2) }
        #expect((status != nil) == found)
    }

    mutating func kick(_ user: String, expecting peers: Set<PeerID>?) {
        let kicked = kick(user)
        #expect(kicked == peers)
    }

    @discardableResult
    mutating func kick(_ user: String) -> Set<PeerID>? {
        let peers = run { $0.kick(user, now: $1, effects: &$2) }
        // As the media plane does it when it is asked to.
        for peer in peers ?? [] where plane.peers[peer] != nil {
            plane.apply(.removePeer(peer, ticket: RemovalTicket(0)))
        }
        return peers
    }

    static let audio = LegPlan.Line(
        kind: .audio, transport: 0, formats: [LegPlan.Format(codec: .opus, payloadType: 111)])
    static func video(_ codecs: Codec..., transport: Int = 1) -> LegPlan.Line {
        LegPlan.Line(
            kind: .video, transport: transport,
            formats: codecs.map { LegPlan.Format(codec: $0, payloadType: 96 + $0.rawValue, feedback: [.pli]) })
    }
    static let audioVideo = [audio, video(.vp8)]
}
