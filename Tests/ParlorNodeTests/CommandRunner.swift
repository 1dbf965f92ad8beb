import Foundation
import Glibc
import ParlorNode
import Testing

/// Runs command lines of `parlor` in this process and keeps what they say.
enum CommandRunner {
    struct Outcome {
        var code: Int32
        var output: String
        var errors: String
        /// Standard output as JSON.
        func json() throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
        }
    }

    static func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> Outcome {
        try await run(arguments, environment: environment)
    }

    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Outcome {
        let output = try TemporaryFile()
        let errors = try TemporaryFile()
        let code = await Program.execute(
            arguments, environment: environment,
            console: Console(output: output.descriptor, errors: errors.descriptor), stop: StopRequest())
        return Outcome(code: code, output: output.text, errors: errors.text)
    }
}

/// A file without a name, gone with its descriptor.
final class TemporaryFile {
    let descriptor: Int32

    init() throws {
        var name = Array("\(NSTemporaryDirectory())/parlor-test-XXXXXX".utf8CString)
        descriptor = mkstemp(&name)
        try #require(descriptor >= 0)
        unlink(name)
    }

    deinit { close(descriptor) }

    var text: String {
        lseek(descriptor, 0, SEEK_SET)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while case let count = read(descriptor, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A folder that is removed again.
final class TemporaryFolder {
    let path: String

    init() throws {
        var name = Array("\(NSTemporaryDirectory())/parlor-test-XXXXXX".utf8CString)
        path = String(cString: try #require(mkdtemp(&name)))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String, to name: String) throws -> String {
        let file = "\(path)/\(name)"
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        return file
    }
}

/// Ports on loopback that were free a moment ago.
enum FreePorts {
    struct NoneFree: Error {}

    static func tcp() throws -> UInt16 { try port([SOCK_STREAM]) }
    /// Free for TCP too: a media port has both.
    static func udp() throws -> UInt16 { try port([SOCK_DGRAM, SOCK_STREAM]) }

    /// Below the ports that the system gives to outgoing sockets, so that none of those can take it meanwhile.
    private static func port(_ types: [__socket_type]) throws -> UInt16 {
        for _ in 0..<200 {
            let candidate = UInt16.random(in: 30_000..<32_000)
            if try types.allSatisfy({ try isFree(candidate, $0) }) { return candidate }
        }
        throw NoneFree()
    }

    private static func isFree(_ port: UInt16, _ type: __socket_type) throws -> Bool {
        let descriptor = socket(AF_INET, Int32(type.rawValue), 0)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}

/// Folders of the package.
enum Package {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    static func text(_ path: String) throws -> String { try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8) }
}
