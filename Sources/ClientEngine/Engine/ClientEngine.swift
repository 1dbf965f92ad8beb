import CNet
package import MediaWire

/// One thread that runs any number of clients: their sockets, their transports, and what stands behind them.
package final class ClientEngine<Session: ClientSession>: Sendable {
    let mailbox: ClientMailbox<ClientMessage<Session>>
    private let thread: ThreadHandle

    /// - Parameter name: of the thread, at most 15 bytes.
    package init(name: String) throws(ClientSystemError) {
        let mailbox = try ClientMailbox<ClientMessage<Session>>()
        let epoll = parlor_epoll_create()
        guard epoll >= 0 else { throw ClientSystemError(result: epoll) }
        var handle: OpaquePointer?
        let body: () -> Void = {
            var loop = ClientLoop<Session>(mailbox: mailbox, epoll: epoll)
            loop.run()
            parlor_close(epoll)
        }
        let context = Unmanaged.passRetained(ThreadBody(body))
        let result = parlor_thread_start(name, -1, { runThread($0) }, context.toOpaque(), &handle)
        guard result >= 0 else {
            context.release()
            parlor_close(epoll)
            throw ClientSystemError(result: result)
        }
        self.mailbox = mailbox
        thread = ThreadHandle(handle)
    }

    /// Adds a client; the engine owns the socket from here on. False: the engine has ended, or the keys cannot be used; then the
    /// socket is closed.
    package func add(
        _ socket: ClientSocket, _ configuration: ClientTransport.Configuration, name: ClientName,
        session: sending Session
    ) async -> Bool {
        await add([socket], configuration, name: name, session: session)
    }

    /// The same with several sockets; their places are what `ICEPath.socket` says.
    package func add(
        _ sockets: [ClientSocket], _ configuration: ClientTransport.Configuration, name: ClientName,
        session: sending Session
    ) async -> Bool {
        let box = SessionBox(session)
        return await withCheckedContinuation { continuation in
            let accepted = mailbox.post(
                .add(name, sockets, configuration, box) { continuation.resume(returning: $0) })
            if !accepted {
                for socket in sockets { socket.close() }
                continuation.resume(returning: false)
            }
        }
    }

    /// Does something with a client on the engine's thread, after all that was asked of the engine before. Without effect when there
    /// is no such client.
    ///
    /// - Returns: false when the engine has ended.
    @discardableResult
    package func perform(
        _ name: ClientName,
        _ body: @escaping @Sendable (inout Session, inout ClientTransport, inout ClientScene) -> Void
    ) -> Bool {
        mailbox.post(.perform(name, body))
    }

    /// Ends a client: what waits is sent, with goodbyes for what it sent, and the socket closed.
    package func remove(_ name: ClientName) { mailbox.post(.remove(name)) }

    /// For tests: the TCP connections of a client break, as if the network had closed them.
    package func breakStreams(_ name: ClientName) { mailbox.post(.inspect { $0.breakStreams(name) }) }

    /// Looks at every client on the engine's thread, and returns what `body` made of each. Empty when the engine has ended.
    package func inspect<Result: Sendable>(
        _ body: @escaping @Sendable (inout ClientView<Session>) -> Result?
    ) async -> [Result] {
        await withCheckedContinuation { continuation in
            let accepted = mailbox.post(
                .inspect { loop in
                    var results: [Result] = []
                    loop.forEachClient { view in
                        if let result = body(&view) { results.append(result) }
                    }
                    continuation.resume(returning: results)
                })
            if !accepted { continuation.resume(returning: []) }
        }
    }

    /// Figures of the thread itself.
    package func load() async -> ClientEngineLoad {
        await withCheckedContinuation { continuation in
            let accepted = mailbox.post(.inspect { continuation.resume(returning: $0.takeLoad()) })
            if !accepted { continuation.resume(returning: ClientEngineLoad()) }
        }
    }

    /// Ends the thread and closes all sockets; waits at most a second for it.
    package func stop() {
        mailbox.post(.stop)
        thread.join(timeout: 1_000_000_000)
    }
}

/// What the caller calls a client; unique within an engine.
package struct ClientName: Hashable, Sendable {
    package var number: UInt64
    package init(_ number: UInt64) { self.number = number }
}

/// A client under inspection.
package struct ClientView<Session: ClientSession> {
    package let name: ClientName
    package let statistics: ClientStatistics
    package let reception: [ReceptionStatistics]
    package let sending: [SendingStatistics]
    package let connectionTimes: ClientConnectionTimes?
    /// Datagrams, or GRO runs of them, that did not fit into the client's socket buffer: the tester's own loss.
    package let socketDrops: UInt64
    /// Packets that the system did not take.
    package let sendFailures: UInt64
    /// May be changed.
    package var session: Session
}

/// How busy an engine is.
package struct ClientEngineLoad: Sendable, Equatable {
    /// CPU time of the thread since it began, in seconds.
    package var cpuSeconds = 0.0
    /// Since it began.
    package var wallSeconds = 0.0
    /// The longest that the thread came late to a deadline since it was last asked: how long it was kept from the processor, or
    /// was busy with others.
    package var latest = MediaDuration.zero
    /// What seals.
    package var backend = ""
    package init() {}
}

/// Carries a session, of which nobody else keeps a part, to the engine's thread.
final class SessionBox<Session>: @unchecked Sendable {
    let session: Session
    init(_ session: sending Session) { self.session = session }
}

private final class ThreadBody {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
}

private func runThread(_ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
}

private final class ThreadHandle: @unchecked Sendable {
    private let mutex = parlor_mutex_create()
    private var pointer: OpaquePointer?

    init(_ pointer: OpaquePointer?) { self.pointer = pointer }

    deinit { parlor_mutex_destroy(mutex) }

    func join(timeout: Int64) {
        parlor_mutex_lock(mutex)
        if let pointer, parlor_thread_join(pointer, timeout) == 0 { self.pointer = nil }
        parlor_mutex_unlock(mutex)
    }
}
