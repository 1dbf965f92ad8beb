/// What can be wrong with a run of signalling. Each makes the exit code 1.
package enum SignallingFault: String, FaultName {
    /// The node did not let a user in.
    case joinFailed
    /// A user who was away did not get its session back.
    case resumeFailed
    /// A session went on though its 30 s were over.
    case resumedTooLate
    /// auth-res of a resume shows other publications or subscriptions than the user has.
    case resumeDiffers
    /// A request got no answer, or one that refuses what is allowed.
    case requestFailed
    /// A connection ended though nobody wanted it.
    case connectionLost
    /// The node put a user out.
    case thrownOut
    /// A notification that does not fit what its client had been told before.
    case wrongNotification
    /// A frame that cannot be read.
    case unreadable
    /// In quiet, a client's picture of its room was not the room.
    case viewDiffers
    /// In quiet, the server API listed other users.
    case listDiffers
    /// The server API did not answer.
    case listFailed
    /// A message that somebody must have got, and did not.
    case messageLost
    /// A message that came again.
    case messageDoubled
    /// A message that came after a later one, or whose serial is not the same everywhere.
    case messageOrder
    /// A message for others, for other rooms, of oneself, or of before one's time.
    case messageMisdelivered
    /// A message with another sender or text than it was sent with.
    case messageChanged
    /// The room did not come to rest.
    case notQuiet
    /// Users were still in their rooms after everybody had left.
    case notEmpty

    package var text: String {
        switch self {
        case .joinFailed: "joins failed"
        case .resumeFailed: "resumes within 30 s failed"
        case .resumedTooLate: "sessions resumed after more than 30 s"
        case .resumeDiffers: "resumes with other publications or subscriptions"
        case .requestFailed: "requests failed"
        case .connectionLost: "connections ended unasked"
        case .thrownOut: "users put out by the node"
        case .wrongNotification: "notifications that do not fit what was told before"
        case .unreadable: "unreadable frames"
        case .viewDiffers: "differences between a client's view and the room"
        case .listDiffers: "differences between the server API's list and the room"
        case .listFailed: "requests of the server API failed"
        case .messageLost: "messages lost"
        case .messageDoubled: "messages received twice"
        case .messageOrder: "messages out of order, or with changing serials"
        case .messageMisdelivered: "messages received by the wrong user"
        case .messageChanged: "messages whose sender or text is not what was sent"
        case .notQuiet: "rooms did not come to rest"
        case .notEmpty: "rooms were not empty at the end"
        }
    }
}

package typealias SignallingFaults = FaultTally<SignallingFault>
