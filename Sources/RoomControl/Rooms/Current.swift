import Synchronization

/// A setting that may become another one while the node runs, such as the addresses behind an announced name. Whoever needs it
/// takes it as it is at that moment.
package final class Current<Value: Sendable>: Sendable {
    private let stored: Mutex<Value>

    package init(_ value: Value) { stored = Mutex(value) }

    package var value: Value {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
}
