import Glibc

/// A file that holds keys: only its owner may read it, also if it was there before with other rights. Opened before there is anything
/// to write, so that what cannot be written is known in time; one that stays empty is removed.
final class KeyFile {
    private let path: String
    private let descriptor: Int32
    private var isWritten = false

    init(_ path: String) throws(CommandFailure) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw CommandFailure("\(path): \(String(cString: strerror(errno)))") }
        guard fchmod(descriptor, 0o600) == 0 else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw CommandFailure("\(path): \(reason)")
        }
    }

    deinit {
        var status = stat()
        if !isWritten, fstat(descriptor, &status) == 0, status.st_size == 0 { unlink(path) }
        close(descriptor)
    }

    /// Replaces what was in it.
    func write(_ text: String) throws(CommandFailure) {
        guard ftruncate(descriptor, 0) == 0 else { throw failure() }
        isWritten = true
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure() }
            rest = rest.dropFirst(count)
        }
    }

    private func failure() -> CommandFailure { CommandFailure("\(path): \(String(cString: strerror(errno)))") }
}
