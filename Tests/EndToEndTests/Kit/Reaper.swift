import Glibc

/// Ends the children of a test run that ended before them, be it by a crash or a kill: a shell that is told of every
/// process group, and kills those that are left when its input ends, which happens with us.
final class Reaper: Sendable {
    static let shared = Reaper()

    private static let script = """
        trap '' INT TERM HUP
        all=
        while read -r verb group; do
            case $verb in
            add) all="$all $group" ;;
            remove) kept=; for g in $all; do [ "$g" = "$group" ] || kept="$kept $g"; done; all=$kept ;;
            esac
        done
        for g in $all; do kill -KILL "-$g" 2>/dev/null; done
        """

    private let input: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        // A test run without it works too; it only tidies up less well.
        guard pipe(&ends) == 0 else {
            input = -1
            return
        }
        // No child may hold the end whose closing says that we are gone.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let files = SpawnFiles(input: .descriptor(ends[0]))
        input = (try? files.spawn("/bin/sh", ["sh", "-c", Self.script], environment: [:])) == nil ? -1 : ends[1]
    }

    func add(_ group: pid_t) { tell("add \(group)\n") }
    func remove(_ group: pid_t) { tell("remove \(group)\n") }

    /// What happens by itself when this process ends; only for a test of just that.
    func end() {
        if input >= 0 { close(input) }
    }

    private func tell(_ line: String) {
        guard input >= 0 else { return }
        // Short lines: a pipe takes each as a whole.
        var bytes = Array(line.utf8)
        _ = write(input, &bytes, bytes.count)
    }
}
