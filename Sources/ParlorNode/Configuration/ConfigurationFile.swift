import Glibc

/// Reads a configuration file, no more of it than a configuration may have.
enum ConfigurationFile {
    static func read(_ path: String) throws(ConfigurationError) -> ConfigurationLoader.File {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path, String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        // One byte more than allowed is enough for the loader to refuse it.
        while bytes.count <= ConfigurationLoader.maximumFileSize {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw failure(path, String(cString: strerror(errno)))
            }
            if count == 0 { break }
            bytes += chunk[..<count]
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw failure(path, "not UTF-8 text") }
        return ConfigurationLoader.File(path: path, text: text)
    }

    private static func failure(_ path: String, _ message: String) -> ConfigurationError {
        ConfigurationError(problems: [ConfigurationProblem(.flag("--config"), key: "", "\(path): \(message)")])
    }
}
