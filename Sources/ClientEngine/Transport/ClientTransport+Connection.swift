package import MediaContract
package import MediaTransport
package import MediaWire

/// Where a transport's connection stands, and its ways to the node.
extension ClientTransport {
    /// Where a WebRTC connection stands; `connected` for a plain one.
    package var state: ClientConnectionState { connection?.state ?? .connected }
    /// `nil` for a plain one.
    package var connectionTimes: ClientConnectionTimes? { connection?.times }
    /// Of the last ICE check.
    package var roundTrip: MediaDuration? { connection?.roundTrip }
    /// Where packets go at the moment.
    package var selectedPath: ICEPath? { path }

    /// The state, if it is another one than at the last call; at first, if it is not `checking`.
    package mutating func takeStateChange() -> ClientConnectionState? {
        guard let state = connection?.state, state != knownState ?? .checking else { return nil }
        knownState = state
        return state
    }

    /// A further way to the node: a TCP connection that has been established.
    package mutating func add(
        stream path: ClientConnectionSpec.Path, now: MediaTime, into outbox: inout ClientOutbox
    ) {
        connection?.add(stream: path)
        connection?.advance(to: now)
        settleConnection(into: &outbox)
    }

    /// A socket is gone, and with it the ways over it.
    package mutating func remove(socket: Int, now: MediaTime, into outbox: inout ClientOutbox) {
        connection?.remove(socket: socket, now: now)
        settleConnection(into: &outbox)
    }

    /// TCP candidates of the node, to which `takeStreamStep` may say to connect.
    package var streamCandidates: [ClientConnectionSpec.StreamCandidate] { connection?.streams.candidates ?? [] }
    /// When `takeStreamStep` has something to say.
    package var streamDeadline: MediaTime { connection?.streams.nextDeadline ?? .distantFuture }

    /// What is to be done about TCP connections now.
    package mutating func takeStreamStep(now: MediaTime) -> StreamPlan.Step {
        connection?.takeStreamStep(now: now) ?? .none
    }

    /// Begins ICE anew with other credentials (RFC 8445, section 9); keys, numbers and media stay. The paths are those
    /// that are new.
    ///
    /// - Parameter streams: TCP candidates from now on; `nil`: those of before.
    package mutating func restartICE(
        localFragment: String, remote: ICECredentials, paths: [ClientConnectionSpec.Path] = [],
        streams: [ClientConnectionSpec.StreamCandidate]? = nil, now: MediaTime, into outbox: inout ClientOutbox
    ) {
        guard let connection else { return }
        connection.restart(
            localFragment: localFragment, remote: remote, paths: paths, streams: streams, now: now)
        connection.advance(to: now)
        settleConnection(into: &outbox)
    }

    /// After anything that happened to the connection: keys are put to use, and what is to be sent is left in the outbox.
    mutating func settleConnection(into outbox: inout ClientOutbox) {
        guard let connection else { return }
        if let keys = connection.takeKeys() {
            if let opener = SRTPOpener(key: keys.inbound, maximumSSRCs: Self.openerLimit),
                let sealer = SRTPSealer(key: keys.outbound)
            {
                self.opener = opener
                self.sealer = sealer
                profile = keys.outbound.profile
            }
        }
        if path != connection.path, let next = connection.path {
            path = next
            sendRate?.pathChanged(now: connection.pathChanged)
        }
        path = connection.path
        connection.flush(client: id, into: &outbox)
    }

    /// Ends the connection: a close_notify (RFC 5246, section 7.2.1), after goodbyes.
    package mutating func close(into outbox: inout ClientOutbox) {
        sendGoodbye(into: &outbox)
        connection?.close()
        settleConnection(into: &outbox)
    }
}
