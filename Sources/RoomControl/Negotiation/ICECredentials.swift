package import MediaContract
package import RoomProtocol

extension ICECredentials {
    /// As signalling carries them. The node is an ICE-lite agent (RFC 8445, section 2.5).
    package var parameters: ICEParameters {
        ICEParameters(usernameFragment: usernameFragment, password: password, iceLite: true)
    }
}
