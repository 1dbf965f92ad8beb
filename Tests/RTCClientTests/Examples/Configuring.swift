import RTCClient

/// A client for servers with a certificate of one's own authority.
func makeClient(servers: [String], authority: String) throws -> RTCClient {
    var configuration = RTCConfiguration(servers: servers)
    configuration.trust = .authoritiesPEM(authority)
    configuration.reconnectTimeout = .seconds(30)
    return try RTCClient(configuration: configuration)
}
