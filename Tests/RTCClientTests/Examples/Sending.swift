import RTCClient

/// Publishes a camera and sends what it films until it ends. The pictures are encoded here.
func film(_ client: RTCClient, _ pictures: AsyncStream<RTCVideoFrame>) async throws {
    let camera = LocalTrack(kind: .video, tag: "camera", bitrate: 500)
    try await client.publish([camera])
    for await picture in pictures { try camera.send(picture) }
    try await client.unpublish([camera])
}

/// The same for an app that encodes by itself, as the room wants it: `encode` gives a key frame when it is asked for one.
func film(
    _ client: RTCClient, encodedBy encode: @escaping @Sendable (_ keyFrame: Bool) async -> RTCEncodedFrame?
) async throws {
    let camera = LocalTrack(kind: .video, tag: "camera")
    try await client.publish([camera])
    let wish = KeyFrameWish()
    let listening = Task { for await _ in camera.keyFrameRequests { await wish.make() } }
    while let frame = await encode(await wish.take()) { try camera.send(frame) }
    listening.cancel()
}

/// Whether a key frame is wanted.
actor KeyFrameWish {
    private var isMade = true
    func make() { isMade = true }
    func take() -> Bool {
        defer { isMade = false }
        return isMade
    }
}
