import Foundation
import MediaTransport
import MediaWire

/// The openssl command: makes certificates that we do not, and is a DTLS peer that we did not write.
enum OpenSSLCommand {
    /// RSA-4096, and two more of these behind it: 4 KB, so that each flight with it needs several datagrams.
    static let longChain: Certificate? = {
        guard let folder = try? temporaryFolder() else { return nil }
        defer { try? FileManager.default.removeItem(at: folder) }
        var chain = ""
        var firstKey = ""
        for name in ["leaf", "intermediate", "root"] {
            let (certificate, key) = (folder.appending(path: name + ".pem"), folder.appending(path: name + ".key"))
            // One key for all: making it is what takes long.
            let keyArguments =
                firstKey.isEmpty
                ? ["-newkey", "rsa:4096", "-keyout", key.path()] : ["-key", folder.path() + "/leaf.key"]
            let arguments =
                [
                    "req", "-x509", "-nodes", "-days", "30", "-sha256", "-subj", "/CN=\(name)", "-out",
                    certificate.path(),
                ]
                + keyArguments
            guard (try? run(arguments)) == 0, let text = try? String(contentsOf: certificate, encoding: .utf8) else {
                return nil
            }
            chain += text
            if firstKey.isEmpty { firstKey = (try? String(contentsOf: key, encoding: .utf8)) ?? "" }
        }
        return Certificate(certificatePEM: chain, privateKeyPEM: firstKey)
    }()

    static func temporaryFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "parlor-dtls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    static func process(_ arguments: [String]) -> Process {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        return process
    }

    static func run(_ arguments: [String]) throws -> Int32 {
        let process = process(arguments)
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// One whose output can be read.
    static func reading(_ arguments: [String]) -> (Process, Pipe) {
        let (process, output) = (process(arguments), Pipe())
        process.standardOutput = output
        return (process, output)
    }

    static func end(_ process: Process) {
        if process.isRunning { process.terminate() }
        process.waitUntilExit()
    }
}
