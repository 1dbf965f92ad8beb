import RTCClient
import Testing

@Suite struct VersionTests {
    @Test func versionIsSaid() { #expect(!RTCClientVersion.text.isEmpty) }
}
