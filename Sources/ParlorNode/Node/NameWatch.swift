import Foundation
import Synchronization

/// Looks the announced names up now and then, on a thread of its own: the resolver may block for many seconds.
final class NameWatch: Sendable {
    /// As often as names with the usual shortest lifetimes change.
    static let interval = DispatchTimeInterval.seconds(60)

    private let hosts: [AnnouncedHost]
    private let lookUp: @Sendable (String) -> HostNames.Found
    private let names: Mutex<AnnouncedNames>
    private let isStopped = Atomic<Bool>(false)
    private let queue = DispatchQueue(label: "names")
    private let onChange: @Sendable ([String: HostNames.Found]) -> [String]
    private let log: @Sendable (String) -> Void

    /// - Parameters:
    ///   - found: what was found at start.
    ///   - onChange: gets the last good word about every name when one has changed; says, for the log, what comes of it.
    init(
        _ hosts: [AnnouncedHost], found: [String: HostNames.Found],
        lookUp: @escaping @Sendable (String) -> HostNames.Found, log: @escaping @Sendable (String) -> Void,
        onChange: @escaping @Sendable ([String: HostNames.Found]) -> [String]
    ) {
        self.hosts = hosts
        self.lookUp = lookUp
        self.log = log
        self.onChange = onChange
        names = Mutex(AnnouncedNames(found))
    }

    func start() { wait() }

    /// The resolver is not waited for; what it still says goes nowhere.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func wait() {
        queue.asyncAfter(deadline: .now() + NameWatch.interval) { [weak self] in
            guard let self, !isStopped.load(ordering: .relaxed) else { return }
            look()
            wait()
        }
    }

    /// Looks once. Blocks.
    func look() {
        let latest = HostNames.look(up: hosts, by: lookUp)
        if isStopped.load(ordering: .relaxed) { return }
        let (lines, found) = names.withLock { names in (names.take(latest), names.found) }
        if lines.isEmpty { return }
        for line in lines + onChange(found) { log(line) }
    }
}
