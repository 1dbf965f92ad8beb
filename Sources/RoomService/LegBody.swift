import MediaContract
import MediaWire
import RoomControl

/// What `GET` on a leg's Location answers.
struct LegBody: Encodable {
    struct Track: Encodable {
        /// audio or video.
        var kind: String
        var mid: String?
        var codec: String?
        /// The track's public id; not there while the line waits.
        var track: String?
        /// Whose track it is, for a playing leg.
        var user: String?
        /// waiting or active.
        var state: String
        var packets: UInt64 = 0
        var bytes: UInt64 = 0
        /// Publishing: packets that never came.
        var lost: Int64?
        /// Playing: as the player's last report has it, 0 to 1.
        var fractionLost: Double?
        /// Playing: milliseconds, if the player's reports allow to measure it.
        var roundTripMs: Double?
        /// Playing a simulcast track: high, medium or low.
        var layer: String?
    }

    /// whip or whep.
    var kind: String
    var app: String
    var room: String
    var user: String
    /// srtp or webrtc.
    var transport: String
    /// webrtc: ICE and DTLS are through. srtp: a packet came.
    var connected: Bool
    /// active: media may flow on at least one line.
    var state: String
    var tracks: [Track]
    /// Where the leg's packets come from or go to, one for each transport that knows.
    var remote: [String]
    /// Of all transports together.
    var packetsIn: UInt64 = 0
    var bytesIn: UInt64 = 0
    var packetsOut: UInt64 = 0
    var bytesOut: UInt64 = 0
    /// Playing: how long the leg lives if nothing is heard of it and nobody asks.
    var leaseSeconds: Double?

    init(_ visit: LegVisit) {
        let status = visit.status
        kind = status.kind == .sending ? "whip" : "whep"
        app = visit.room.app
        room = visit.room.room
        user = status.user
        transport = status.isWebRTC ? "webrtc" : "srtp"
        connected = status.isConnected
        state = status.isActive ? "active" : "waiting"
        leaseSeconds = status.leaseRemaining?.seconds
        // In the order of the m-lines, not of the worker's places.
        let transports = status.transports.compactMap { id in visit.figures?.transports.first { $0.id == id } }
        let remotes = transports.compactMap(\.remote)
        remote = (remotes.isEmpty ? status.remotes : remotes).map(\.description)
        for transport in transports {
            packetsIn &+= transport.packetsIn
            bytesIn &+= transport.bytesIn
            packetsOut &+= transport.packetsOut
            bytesOut &+= transport.bytesOut
        }
        tracks = status.lines.map { line in
            var track = Track(
                kind: line.kind.name, mid: line.mid, codec: line.codec?.name, track: line.track, user: line.publisher,
                state: line.isActive ? "active" : "waiting")
            if let id = line.trackID, let figures = visit.figures?.tracks.first(where: { $0.id == id }) {
                track.packets = figures.packets
                track.bytes = figures.bytes
                track.lost = figures.lost
            }
            if let id = line.subscriptionID, let figures = visit.figures?.subscriptions.first(where: { $0.id == id }) {
                track.packets = figures.packets
                track.bytes = figures.bytes
                track.fractionLost = figures.fractionLost.isFinite ? figures.fractionLost : nil
                track.layer = figures.layer.map { String(describing: $0) }
                track.roundTripMs = figures.roundTrip.map { $0.seconds * 1000 }
            }
            return track
        }
    }
}
