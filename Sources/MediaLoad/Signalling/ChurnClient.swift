import RTCClient
import RoomProtocol

/// One user of the load: what it was told, and what it has.
struct ChurnClient {
    enum Phase { case out, connecting, connected, leaving, away }

    /// What is to be done when a user who is away or out is due.
    enum Return {
        case join, resume
        /// When the node must have given it up: the resume has to be refused.
        case resumeTooLate
    }

    let name: String
    var phase = Phase.out
    /// Something of it is under way.
    var isBusy = false
    /// When it returns, by the monotonic clock.
    var due = Int64.max
    var plan = Return.join
    /// When its socket was lost, by the monotonic clock.
    var lost: Int64 = 0
    var joins = 0

    // The connection
    var connection: SignallingConnection?
    /// Counts its connections.
    var epoch = 0
    var reader: Task<Void, Never>?
    var access: RoomAccess?
    var reconnectToken: Int?
    /// Of the last message, as the vendor's clients count.
    var messageSerial: Int?
    var session: MessageLedger.SessionID?

    // What it was told
    var view: RoomView

    // What it has
    var offer: ClientOffer?
    /// By track id.
    var localIDs: [String: String] = [:]
    var lastLocalID = 0
    var subscriptions: Set<String> = []
    var hasSubscribing = false
    /// A request that changes what it has was cut off unanswered.
    var publishesUnknown = false
    var subscribesUnknown = false
    /// Own tracks whose last mute may not have come to the node.
    var unconfirmedMutes: Set<String> = []

    init(name: String) {
        self.name = name
        view = RoomView(ownID: name)
    }

    /// What goes with a session.
    mutating func forgetSession() {
        reconnectToken = nil
        messageSerial = nil
        session = nil
        offer = nil
        localIDs = [:]
        subscriptions = []
        hasSubscribing = false
        publishesUnknown = false
        subscribesUnknown = false
        unconfirmedMutes = []
    }
}
