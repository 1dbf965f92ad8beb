import Glibc

/// Where a child's standard streams lead, and the folder it works in; and the one place that calls posix_spawn.
struct SpawnFiles {
    enum Input {
        case nothing
        case descriptor(Int32)
    }

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// More than a test run has open: the usual limit of a process.
    private static let descriptors: Int32 = 1024

    var input = Input.nothing
    /// `nil`: nowhere.
    var output: String?
    var error: String?
    var folder: String?

    /// Starts a program in a process group of its own, with default signal dispositions and no signal blocked.
    func spawn(_ path: String, _ arguments: [String], environment: [String: String]) throws(Failure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        switch input {
        case .nothing: posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, 0)
        }
        for (descriptor, file) in [(Int32(1), output), (2, error)] {
            posix_spawn_file_actions_addopen(
                &actions, descriptor, file ?? "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        }

        // Nothing else of this process goes along: Foundation's Process, which other tests use, waits for the end of a socket
        // that a child of ours would hold open if it was started in the same moment.
        for descriptor in 3..<Self.descriptors { posix_spawn_file_actions_addclose(&actions, descriptor) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        // The call that changes the folder is not among those that Swift imports; env, which becomes the program, has it.
        let (path, arguments) = folder.map { ("/usr/bin/env", ["env", "-C", $0] + arguments) } ?? (path, arguments)
        let variables = environment.map { "\($0.key)=\($0.value)" }
        var words = arguments.map { strdup($0) } + [nil]
        var settings = variables.map { strdup($0) } + [nil]
        defer { for text in words + settings { free(text) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, path, &actions, &attributes, &words, &settings)
        guard code == 0 else { throw Failure(description: "\(path): \(String(cString: strerror(code)))") }
        return pid
    }
}
