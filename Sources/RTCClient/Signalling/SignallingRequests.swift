package import RoomProtocol

/// What goes into `auth`.
package struct SignallingAuth: Sendable {
    /// The access token of the join: also when coming back.
    package var accessToken: String
    package var userData: String?
    package var privileges: [Privilege] = [.subscribe, .publish]
    /// From the last auth-res; `nil` joins anew.
    package var reconnectToken: Int?
    /// The serial of the last message seen.
    package var messageSerial: Int?
    /// An offer that shows what this client can send and receive.
    package var capabilitiesSDP: String?
    /// Takes tracks of other codecs than the room's.
    package var isMulticodec = false

    package init(accessToken: String, userData: String? = nil) {
        self.accessToken = accessToken
        self.userData = userData
    }
}

extension SignallingConnection {
    /// `auth`: joins, or comes back. The first request of a connection.
    ///
    /// - Throws: `.refused` with the server's code.
    package func authenticate(_ auth: SignallingAuth) async throws(SignallingError) -> AuthAnswer {
        let answer: AuthAnswer = try await request("auth") { rpcid in
            var request = AuthRequest(token: auth.accessToken, rpcid: rpcid)
            request.reconnectToken = auth.reconnectToken
            request.agent = "parlor-swift"
            request.sdkVersion = RTCClientVersion.text
            request.capabilitiesSDP = auth.capabilitiesSDP
            request.messageSerial = auth.messageSerial
            request.privileges = auth.privileges.map(\.rawValue)
            request.playerData = auth.userData
            request.multicodec = auth.isMulticodec ? true : nil
            return request
        }
        try SignallingConnection.check(answer.code, answer.error)
        return answer
    }

    /// `pubpc`: a publishing connection with these tracks instead of any earlier one.
    ///
    /// - Throws: `.refused` with the server's code.
    package func publish(
        sdp: String, tracks: [PublishedTrack], policy: CandidatePolicy = .preferUDP
    ) async throws(SignallingError) -> PublishConnectionAnswer {
        let answer: PublishConnectionAnswer = try await request("pubpc") {
            PublishRequest(sdp: sdp, tracks: tracks, policy: policy.rawValue, rpcid: $0)
        }
        try SignallingConnection.check(answer.code, answer.error)
        return answer
    }

    /// `pub-tracks`: more tracks on the publishing connection. Each track has its status.
    ///
    /// - Throws: `.refused` with the server's code.
    package func publishMore(
        sdp: String, tracks: [PublishedTrack]
    ) async throws(SignallingError) -> TracksAnswer<PublishedTrackResult> {
        let answer: TracksAnswer<PublishedTrackResult> = try await request("pub-tracks") {
            PublishRequest(sdp: sdp, tracks: tracks, rpcid: $0)
        }
        try SignallingConnection.check(answer.code, answer.error)
        return answer
    }

    /// `unpub-tracks`.
    package func unpublish(trackIDs: [String]) async throws(SignallingError) {
        let answer: TracksAnswer<TrackReference> = try await request("unpub-tracks") {
            TracksRequest(tracks: trackIDs.map { TrackReference($0) }, rpcid: $0)
        }
        try SignallingConnection.check(answer.code, answer.error)
    }

    /// `subpc`: a subscribing connection with these tracks instead of any earlier one. Each track has its status.
    ///
    /// - Throws: `.refused` with the server's code.
    package func subscribe(
        _ tracks: [WantedTrack], policy: CandidatePolicy = .preferUDP
    ) async throws(SignallingError) -> SubscribeConnectionAnswer {
        let answer: SubscribeConnectionAnswer = try await request("subpc") {
            SubscribeRequest(tracks: tracks, policy: policy.rawValue, rpcid: $0)
        }
        try SignallingConnection.check(answer.code, answer.error)
        return answer
    }

    /// `sub-tracks`: more tracks on the subscribing connection. Each track has its status.
    ///
    /// - Throws: `.refused` with the server's code.
    package func subscribeMore(
        _ tracks: [WantedTrack]
    ) async throws(SignallingError) -> TracksAnswer<SubscribedTrackResult> {
        let answer: TracksAnswer<SubscribedTrackResult> = try await request("sub-tracks") {
            SubscribeRequest(tracks: tracks, rpcid: $0)
        }
        try SignallingConnection.check(answer.code, answer.error)
        return answer
    }

    /// `unsub-tracks`.
    package func unsubscribe(trackIDs: [String]) async throws(SignallingError) {
        let answer: TracksAnswer<TrackReference> = try await request("unsub-tracks") {
            TracksRequest(tracks: trackIDs.map { TrackReference($0) }, rpcid: $0)
        }
        try SignallingConnection.check(answer.code, answer.error)
    }

    /// `pubpc-restart` or `subpc-restart`: new ICE credentials for a media connection, which goes on.
    ///
    /// - Throws: `.refused` with the server's code.
    package func restart(
        publishing: Bool, connectionID: String
    ) async throws(SignallingError) -> ConnectionAnswer<TrackReference> {
        let answer: ConnectionAnswer<TrackReference> = try await request(
            publishing ? "pubpc-restart" : "subpc-restart"
        ) { ConnectionRequest(connectionID: connectionID, rpcid: $0) }
        try SignallingConnection.check(answer.code, answer.error)
        return answer
    }

    /// `set-sub-profile`; one-way.
    package func setProfiles(_ tracks: [WantedTrack]) throws(SignallingError) {
        try send("set-sub-profile", SetSubscribeProfile(tracks: tracks))
    }

    /// `control kickplayer`: needs a token with the permission admin.
    package func kick(_ userID: String) async throws(SignallingError) {
        let answer: Answer = try await request("control") {
            ControlRequest(command: "kickplayer", playerID: userID, rpcid: $0)
        }
        try SignallingConnection.check(answer.code, answer.error)
    }

    /// `set-privileges`: another role.
    package func setPrivileges(_ privileges: [Privilege]) async throws(SignallingError) {
        let answer: Answer = try await request("set-privileges") { SetPrivileges(privileges: privileges, rpcid: $0) }
        try SignallingConnection.check(answer.code, answer.error)
    }

    /// `mute-tracks`; one-way.
    package func mute(_ tracks: [TrackMute]) throws(SignallingError) {
        try send("mute-tracks", MuteTracks(tracks: tracks))
    }

    /// `send-message`; one-way. An empty target is everybody.
    package func sendMessage(_ text: String, to target: [String] = [], messageID: String) throws(SignallingError) {
        try send("send-message", SendMessage(messageID: messageID, target: target.isEmpty ? nil : target, text: text))
    }

    private static func check(_ code: ResultCode, _ text: String?) throws(SignallingError) {
        guard code == .ok else {
            throw .refused(Refused(code, text ?? "refused with code \(code.rawValue)"))
        }
    }
}
