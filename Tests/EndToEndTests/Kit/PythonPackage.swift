import Foundation
import Synchronization
import Testing

/// Python with packages of the registry, each set of them in an environment of its own under `.build`: made by the first
/// test that wants it, and used by all later runs.
struct PythonPackage: Hashable, Sendable {
    /// The vendor's SDK.
    static let qiniu = PythonPackage("qiniu", "7.18.0")
    /// Drives Chromium.
    static let aiohttp = PythonPackage("aiohttp", "3.14.5")
    /// A WebRTC client.
    static let aiortc = PythonPackage("aiortc", "1.16.0")
    /// What it draws from a seed depends on hypothesis, too.
    static let schemathesis = PythonPackage(
        "schemathesis", "4.32.5", with: ["hypothesis==6.170.17", "openapi-spec-validator==0.9.0"])

    private let name: String
    private let version: String
    private let others: [String]

    private static let ready = Mutex<[PythonPackage: Task<String, any Error>]>([:])

    private init(_ name: String, _ version: String, with others: [String] = []) {
        self.name = name
        self.version = version
        self.others = others
    }

    /// The interpreter that has the package.
    func interpreter() async throws -> String {
        let task = Self.ready.withLock { ready in
            if let task = ready[self] { return task }
            let task = Task { try await make() }
            ready[self] = task
            return task
        }
        return try await task.value
    }

    private func make() async throws -> String {
        let build = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../.build").standardized
        let home = build.appending(path: "python-\(name)-\(version)")
        let python = home.appending(path: "bin/python").path
        if FileManager.default.isExecutableFile(atPath: python) { return python }
        // Beside its place, then moved there as a whole: an installation that was broken off is never taken for one.
        let scratch = try Scratch()
        let draft = build.appending(path: "python-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: draft) }
        for words in [
            ["python3", "-m", "venv", draft.path],
            [draft.path + "/bin/python", "-m", "pip", "install", "--quiet", "\(name)==\(version)"] + others,
        ] {
            // With the surroundings' own variables: they may say how the registry is reached.
            let ended = try await RunningProcess.run(
                words, environment: ProcessInfo.processInfo.environment, in: scratch, within: .seconds(150))
            guard ended.code == 0 else {
                throw TimedOut(description: "\(words.joined(separator: " ")): \(ended.error.suffix(2000))")
            }
        }
        do { try FileManager.default.moveItem(at: draft, to: home) } catch {
            // Another test run was faster.
            guard FileManager.default.isExecutableFile(atPath: python) else { throw error }
        }
        return python
    }
}

/// A back end that uses the vendor's package as it is, pointed at a node.
struct VendorBackEnd {
    let node: NodeProcess
    var key = "devkey"
    var secret = "devsecret"

    /// What a call of the package gave: the parsed body (`nil`: the package took the answer for a failure), and what it
    /// knows about the response.
    struct Result {
        var body: [String: Any]?
        var status: Int
        /// The answer's text.
        var text: String
    }

    private static let script = """
        import json, sys
        from qiniu import QiniuMacAuth
        from qiniu.services.pili import rtc_server_manager as rtc

        key, secret, host, method, arguments = sys.argv[1:]
        arguments = json.loads(arguments)
        if method == "get_room_token":
            print(json.dumps({"body": {"token": rtc.get_room_token(key, secret, *arguments)}, "status": 200, "text": ""}))
        else:
            server = rtc.RtcServer(QiniuMacAuth(key, secret))
            server.host = host
            body, info = getattr(server, method)(*arguments)
            print(json.dumps({"body": body, "status": info.status_code, "text": info.text_body or str(info)}))
        """

    /// Calls a method of `RtcServer`, or `get_room_token`.
    func call(_ method: String, _ arguments: Any...) async throws -> Result {
        let python = try await PythonPackage.qiniu.interpreter()
        let json = String(decoding: try JSONSerialization.data(withJSONObject: arguments), as: UTF8.self)
        let ended = try await RunningProcess.run(
            [python, "-c", Self.script, key, secret, node.url, method, json], in: node.scratch)
        guard ended.code == 0,
            let result = try JSONSerialization.jsonObject(with: Data(ended.output.utf8)) as? [String: Any]
        else { throw TimedOut(description: "\(method): \(ended.output)\(ended.error)") }
        return Result(
            body: result["body"] as? [String: Any], status: result["status"] as? Int ?? -1,
            text: result["text"] as? String ?? "")
    }
}

/// A back end in plain Python that signs its requests itself, knowing nothing but the description of the signature.
struct SigningBackEnd {
    let node: NodeProcess
    var key = "devkey"
    var secret = "devsecret"

    private static let script = """
        import base64, hashlib, hmac, http.client, json, sys

        key, secret, port, method, target, kind, body = sys.argv[1:]
        host = "127.0.0.1:" + port
        text = method + " " + target + "\\nHost: " + host
        if kind:
            text += "\\nContent-Type: " + kind
        text += "\\n\\n" + (body if kind else "")
        mac = hmac.new(secret.encode(), text.encode(), hashlib.sha1).digest()
        headers = {"Authorization": "Qiniu " + key + ":" + base64.urlsafe_b64encode(mac).decode()}
        if kind:
            headers["Content-Type"] = kind
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
        connection.request(method, target, body.encode() or None, headers)
        response = connection.getresponse()
        print(json.dumps({"status": response.status, "text": response.read().decode()}))
        """

    func request(
        _ method: String, _ target: String, type: String = "", body: String = ""
    ) async throws -> (status: Int, json: [String: Any]) {
        let ended = try await RunningProcess.run(
            ["python3", "-c", Self.script, key, secret, "\(node.httpPort)", method, target, type, body],
            in: node.scratch)
        guard ended.code == 0,
            let result = try JSONSerialization.jsonObject(with: Data(ended.output.utf8)) as? [String: Any],
            let status = result["status"] as? Int, let text = result["text"] as? String
        else { throw TimedOut(description: "\(method) \(target): \(ended.output)\(ended.error)") }
        let json = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
        return (status, json ?? [:])
    }
}
