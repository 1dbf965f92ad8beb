import RoomProtocol

/// The SDK's version.
public enum RTCClientVersion {
    public static let text = "0.3.0"
}
