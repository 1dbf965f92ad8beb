import RTCClient

/// Shows a user's pictures and plays its sound, as long as it publishes them.
func show(
    _ client: RTCClient, _ user: RemoteUser, picture: @escaping @Sendable (RTCVideoFrame) -> Void,
    sound: @escaping @Sendable (RTCAudioFrame) -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for track in user.videoTracks {
            let frames = try client.videoFrames(of: track)
            group.addTask { for await frame in frames { picture(frame) } }
        }
        for track in user.audioTracks {
            let frames = try client.audioFrames(of: track)
            group.addTask { for await frame in frames { sound(frame) } }
        }
        try await group.waitForAll()
    }
}

/// What became of a track, in a line.
func describe(_ client: RTCClient, _ track: RemoteTrack) async -> String {
    guard let figures = await client.statistics(of: track) else { return "not subscribed" }
    return "\(Int(figures.bitrate / 1000)) kbit/s, \(Int(figures.framesPerSecond.rounded())) frames a second, "
        + "\(figures.packetsLost) of \(figures.packets) packets lost"
}
