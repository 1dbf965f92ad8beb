import RoomControl

/// What must hold for any request to the server API, signed or not. Run by the fuzzer, and by the unit tests on the corpus.
///
/// The input, as lines: Authorization, method, target, host, Content-Type, one `name:value` of a signed header; the rest is
/// the body. An empty line is a header that is missing.
enum SignatureExercise {
    static let key = AccessKey(id: "test-ak", secret: "test-sk")
    static let apps = AppDirectory(apps: [], keys: [key])
    /// 2030-01-01T00:00:00Z, in seconds.
    static let now: Int64 = 1_893_456_000

    static func request(_ bytes: [UInt8]) -> (request: SignableRequest, authorization: String?) {
        let parts = bytes.split(separator: 0x0A, maxSplits: 6, omittingEmptySubsequences: false)
        func text(_ place: Int) -> String { place < parts.count ? String(decoding: parts[place], as: UTF8.self) : "" }
        var request = SignableRequest(
            method: text(1), target: text(2), host: text(3), contentType: text(4).isEmpty ? nil : text(4),
            body: parts.count > 6 ? Array(parts[6]) : [])
        let header = text(5).split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        if header.count == 2 { request.qiniuHeaders = [(name: header[0], value: header[1])] }
        return (request, text(0).isEmpty ? nil : text(0))
    }

    /// The first broken promise, in words; `nil` if all were kept.
    static func run(_ bytes: [UInt8]) -> String? {
        let (request, authorization) = request(bytes)
        for time in [now, .min, .max, 0] {
            if refusal(request, authorization, at: time) == nil, !isSigned(request, authorization) {
                return "a request that was not signed was taken"
            }
        }
        let right = RequestSignature.authorization(for: request, key: key)
        switch refusal(request, right, at: now) {
        case nil, .malformedDate, .stale: break
        case let refusal?: return "a signature that is right was refused: \(refusal)"
        }
        // Everything that the signature covers.
        for change in 0..<4 {
            var other = request
            switch change {
            case 0: other.method += "x"
            case 1: other.target += "x"
            case 2: other.host += "x"
            default: other.qiniuHeaders.append((name: "X-Qiniu-Other", value: "x"))
            }
            guard refusal(other, right, at: now) == .wrong else { return "a changed request was taken (\(change))" }
        }
        return nil
    }

    static func refusal(
        _ request: SignableRequest, _ authorization: String?, at time: Int64
    ) -> RequestSignatureError? {
        do throws(RequestSignatureError) {
            _ = try RequestSignature.verify(request, authorization: authorization, apps: apps, unixTime: time)
            return nil
        } catch { return error }
    }

    /// Whether the signature is one that the key gives, with the body or, where that is allowed, without.
    private static func isSigned(_ request: SignableRequest, _ authorization: String?) -> Bool {
        func signature(_ text: String) -> [UInt8]? {
            Base64URL.decode(text.drop { $0 != ":" }.dropFirst().prefix { $0 != " " })
        }
        var bodiless = request
        bodiless.body = []
        guard let given = authorization.flatMap(signature), given.count == 20 else { return false }
        return [request, bodiless].contains { given == signature(RequestSignature.authorization(for: $0, key: key)) }
    }
}
