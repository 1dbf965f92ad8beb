import Foundation

/// A file that this process has locked (flock) until the value is gone. The kernel lets go of it when the process ends,
/// however it ends: what is left behind is an empty file without meaning.
final class FileLock: Sendable {
    private let descriptor: CInt

    init(path: String) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(.unavailable, "cannot open \(path): \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            close(descriptor)
            throw reason == EWOULDBLOCK
                ? StoreError(.inUse, "another node uses the data directory: it has \(path) locked")
                : StoreError(.unavailable, "cannot lock \(path): \(String(cString: strerror(reason)))")
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
