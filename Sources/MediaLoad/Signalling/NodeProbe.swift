import Glibc
import WebTransport

/// What the system says about the node's process, when it runs on this machine.
struct NodeProbe: Sendable {
    let processID: Int32

    /// - Parameter processID: `nil`: whoever listens on the URL's port, if that is on this machine.
    init?(processID: Int32?, url: String) {
        if let found = processID ?? NodeProbe.listener(url) {
            self.processID = found
        } else {
            return nil
        }
        guard memory != nil else { return nil }
    }

    /// Resident, in bytes (proc(5)).
    var memory: Int64? {
        let fields = NodeProbe.read("/proc/\(processID)/statm")?.split(separator: " ") ?? []
        guard fields.count > 1, let pages = Int64(fields[1]) else { return nil }
        return pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Of all its threads since its start, in seconds. The clock of a process is exact (clock_getcpuclockid(3)); its times in /proc are
    /// cut to hundredths of a second, of which a small room takes one or two in as many seconds.
    var processorTime: Double? {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(processID, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// As many open files as this process may have: each connection is one.
    static func raiseFileLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }

    // MARK: Who listens

    private static func listener(_ url: String) -> Int32? {
        guard let url = try? WebURL(url), isLoopback(url.host) else { return nil }
        var sockets: Set<String> = []
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            for line in (read(table) ?? "").split(separator: "\n").dropFirst() {
                // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode; 0A is LISTEN.
                let fields = line.split(separator: " ")
                guard fields.count > 9, fields[3] == "0A", let port = fields[1].split(separator: ":").last,
                    UInt16(port, radix: 16) == url.port
                else { continue }
                sockets.insert("socket:[\(fields[9])]")
            }
        }
        guard !sockets.isEmpty else { return nil }
        return entries("/proc").lazy.compactMap { Int32($0) }.first { process in
            entries("/proc/\(process)/fd").contains { sockets.contains(link("/proc/\(process)/fd/\($0)") ?? "") }
        }
    }

    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.")
    }

    static func entries(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var result: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            result.append(name)
        }
        return result
    }

    private static func link(_ path: String) -> String? {
        var text: [CChar] = Array(repeating: 0, count: 256)
        let count = readlink(path, &text, text.count)
        return count > 0 ? String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// Files of /proc have no size: read until there is no more.
    static func read(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = part.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count <= 0 { return count == 0 ? String(decoding: text, as: UTF8.self) : nil }
            text += part[..<count]
        }
    }
}
