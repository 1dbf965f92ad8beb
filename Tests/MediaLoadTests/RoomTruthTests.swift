import MediaLoad
import RoomProtocol
import Testing

/// Each kind of difference is found, and nothing else is.
@Suite struct RoomTruthTests {
    private static let track = TrackInfo(
        trackID: "t1", playerID: "b", kind: .audio, tag: "mic", muted: false, mid: "2")

    /// The room of a, b with a track, and c.
    private var truth: RoomTruth {
        var truth = RoomTruth()
        for name in ["a", "b", "c"] { truth.users[name] = RoomTruth.User(data: "data of \(name)") }
        truth.users["b"]?.tracks["t1"] = RoomTruth.Track(kind: .audio, tag: "mic", isMuted: false)
        return truth
    }

    /// What a was told of it.
    private var view: RoomView {
        var view = RoomView(ownID: "a")
        var answer = AuthAnswer(rpcid: nil)
        answer.players = ["b", "c"].map { PlayerInfo(playerID: $0, playerData: "data of \($0)") }
        answer.tracks = [RoomTruthTests.track]
        #expect(view.reset(answer).isEmpty)
        return view
    }

    private func view(after notifications: Notification...) -> RoomView {
        var view = view
        for notification in notifications { #expect(view.apply(notification).isEmpty) }
        return view
    }

    @Test func aRightViewHasNoDifference() {
        #expect(truth.differences(to: view).isEmpty)
        #expect(truth.differences(toListed: ["c", "a", "b"]).isEmpty)
    }

    @Test func usersAreCompared() {
        #expect(
            truth.differences(to: view(after: .playerLeft(PlayerReference("c")))) == ["c is missing"])
        let more = view(after: .playerJoined(PlayerInfo(playerID: "d")))
        #expect(truth.differences(to: more) == ["d is not there"])
        var other = truth
        other.users["c"]?.data = "new"
        #expect(other.differences(to: view) == ["c has other user data"])
    }

    @Test func tracksAndTheirMuteStatesAreCompared() {
        let removed = view(after: .tracksRemoved(TracksRemoved(tracks: [TrackReference("t1")])))
        #expect(truth.differences(to: removed) == ["the track t1 of b is missing"])
        let strange = TrackInfo(trackID: "t2", playerID: "c", kind: .video, mid: "3")
        let added = view(after: .tracksAdded(TracksAdded(tracks: [strange])))
        #expect(truth.differences(to: added) == ["the track t2 of c is not there"])
        let muted = view(after: .tracksMuted(MuteTracks(tracks: [TrackMute(trackID: "t1", muted: true)])))
        #expect(truth.differences(to: muted) == ["the track t1 of b is shown as muted, and is not"])
        var either = truth
        either.users["b"]?.tracks["t1"]?.isMuted = nil
        #expect(either.differences(to: muted).isEmpty)
        var other = truth
        other.users["b"]?.tracks["t1"]?.tag = "cam"
        #expect(other.differences(to: view).count == 1)
        other.users["b"]?.hasKnownTracks = false
        #expect(other.differences(to: view).isEmpty)
    }

    @Test func lossesMustBeKnown() {
        let told = view(after: .playerReconnecting(PlayerReference("c")))
        #expect(truth.differences(to: told) == ["c is shown as reconnecting"])
        var lost = truth
        lost.users["c"]?.presence = .away(isSilent: false)
        #expect(lost.differences(to: told).isEmpty)
        #expect(lost.differences(to: view) == ["c is not shown as reconnecting"])
        lost.users["c"]?.presence = .away(isSilent: true)
        #expect(lost.differences(to: view).isEmpty)
    }

    @Test func whoMayBeGivenUpIsThereOrGoingOrGone() {
        var truth = truth
        truth.users["b"]?.presence = .vanishing
        let gone = view(
            after: .tracksRemoved(TracksRemoved(tracks: [TrackReference("t1")])), .playerLeft(PlayerReference("b")))
        #expect(truth.differences(to: gone).isEmpty)
        #expect(truth.differences(to: view).isEmpty)
        // Its tracks go first, all at once.
        let going = view(after: .tracksRemoved(TracksRemoved(tracks: [TrackReference("t1")])))
        #expect(truth.differences(to: going).isEmpty)
        truth.users["b"]?.tracks["t2"] = RoomTruth.Track(kind: .video, tag: "", isMuted: nil)
        #expect(truth.differences(to: view) == ["the track t2 of b is missing"])
        #expect(truth.differences(toListed: ["a", "c"]).isEmpty)
        #expect(truth.differences(toListed: ["a", "b", "c"]).isEmpty)
    }

    @Test func theServersListIsCompared() {
        #expect(truth.differences(toListed: ["a", "b"]) == ["c is not listed"])
        #expect(truth.differences(toListed: ["a", "b", "c", "d"]) == ["d is listed and not there"])
        #expect(truth.differences(toListed: ["a", "b", "c", "c"]) == ["a user is listed twice"])
    }
}
