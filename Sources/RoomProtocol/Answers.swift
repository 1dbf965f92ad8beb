// The bodies of what the server answers: `<type>-res` with the request's rpcid, `code`, and `error` when it is not 0.

/// A plain answer.
public struct Answer: Codable, Hashable, Sendable {
    public var rpcid: String?
    public var code: ResultCode
    public var error: String?
    /// `control-res` repeats these.
    public var command: String?
    public var playerID: String?
    /// `pubpc-restart-res` and the like.
    public var connectionID: String?

    public init(rpcid: String?, _ refused: Refused? = nil) {
        self.rpcid = rpcid
        code = refused?.code ?? .ok
        error = refused?.text
    }

    enum CodingKeys: String, CodingKey {
        case rpcid, code, error, command
        case playerID = "playerid"
        case connectionID = "pcid"
    }
}

/// `auth-res`.
public struct AuthAnswer: Codable, Hashable, Sendable {
    public var rpcid: String?
    public var code: ResultCode
    public var error: String?
    /// Never 0.
    public var reconnectToken: Int?
    public var players: [PlayerInfo]?
    public var tracks: [TrackInfo]?
    /// On a resume: the client's own publications and subscriptions.
    public var ownPublications: [TrackReference]?
    public var ownSubscriptions: [TrackReference]?
    public var rtpCapabilities: RTPCapabilities?

    public init(rpcid: String?, _ refused: Refused? = nil) {
        self.rpcid = rpcid
        code = refused?.code ?? .ok
        error = refused?.text
    }

    enum CodingKeys: String, CodingKey {
        case rpcid, code, error
        case reconnectToken = "reconntoken"
        case players, tracks
        case ownPublications = "my-pubs"
        case ownSubscriptions = "my-subs"
        case rtpCapabilities = "rtpcaps"
    }
}

/// `pubpc-res`, `subpc-res`, and without `tracks` and `dtlsParameters` the answers to restarts.
public struct ConnectionAnswer<Track: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    public var rpcid: String?
    public var code: ResultCode
    public var error: String?
    public var connectionID: String?
    public var iceParameters: ICEParameters?
    public var iceCandidates: [ICECandidate]?
    public var dtlsParameters: DTLSParameters?
    /// An array also when refused.
    public var tracks: [Track]?

    public init(rpcid: String?, _ refused: Refused? = nil) {
        self.rpcid = rpcid
        code = refused?.code ?? .ok
        error = refused?.text
    }

    enum CodingKeys: String, CodingKey {
        case rpcid, code, error
        case connectionID = "pcid"
        case iceParameters, iceCandidates, dtlsParameters, tracks
    }
}

public typealias PublishConnectionAnswer = ConnectionAnswer<PublishedTrackResult>
public typealias SubscribeConnectionAnswer = ConnectionAnswer<SubscribedTrackResult>

/// `pub-tracks-res`, `sub-tracks-res`, `unpub-tracks-res`, `unsub-tracks-res`.
public struct TracksAnswer<Track: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    public var rpcid: String?
    public var code: ResultCode
    public var error: String?
    /// An array also when refused.
    public var tracks: [Track]

    public init(rpcid: String?, _ refused: Refused? = nil, tracks: [Track] = []) {
        self.rpcid = rpcid
        code = refused?.code ?? .ok
        error = refused?.text
        self.tracks = tracks
    }
}

/// How publishing one track went.
public struct PublishedTrackResult: Codable, Hashable, Sendable {
    public var localID: String
    public var trackID: String?
    public var status: Bool
    public var versionID: Int?

    public init(localID: String, trackID: String?, status: Bool = true, versionID: Int? = 1) {
        self.localID = localID
        self.trackID = trackID
        self.status = status
        self.versionID = versionID
    }

    enum CodingKeys: String, CodingKey {
        case localID = "localid"
        case trackID = "trackid"
        case status
        case versionID = "versionid"
    }
}

/// How subscribing one track went.
public struct SubscribedTrackResult: Codable, Hashable, Sendable {
    public var trackID: String
    public var status: Bool
    public var mid: String?
    public var muted: Bool?
    public var rtpParameters: SubscribedRTP?
    /// Why the status is false; clients ignore it.
    public var code: ResultCode?
    public var error: String?

    public init(trackID: String, mid: String, muted: Bool, rtpParameters: SubscribedRTP) {
        self.trackID = trackID
        status = true
        self.mid = mid
        self.muted = muted
        self.rtpParameters = rtpParameters
    }

    public init(trackID: String, _ refused: Refused) {
        self.trackID = trackID
        status = false
        code = refused.code
        error = refused.text
    }

    enum CodingKeys: String, CodingKey {
        case trackID = "trackid"
        case status, mid, muted
        case rtpParameters = "rtpparams"
        case code, error
    }
}
