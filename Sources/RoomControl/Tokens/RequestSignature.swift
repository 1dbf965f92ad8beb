import FoundationEssentials

/// The parts of an HTTP request that a server-API signature covers, exactly as they stand on the wire.
package struct SignableRequest: Sendable {
    package var method: String
    /// Path and query, not decoded.
    package var target: String
    /// The Host header, with its port if it has one.
    package var host: String
    package var contentType: String?
    /// Every header whose name begins with `X-Qiniu-`, in any case and order.
    package var qiniuHeaders: [(name: String, value: String)]
    package var body: [UInt8]

    package init(
        method: String, target: String, host: String, contentType: String? = nil,
        qiniuHeaders: [(name: String, value: String)] = [], body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        self.host = host
        self.contentType = contentType
        self.qiniuHeaders = qiniuHeaders
        self.body = body
    }
}

/// The server API's request authentication: `Authorization: Qiniu accessKey:signature`.
package enum RequestSignature {
    /// An `X-Qiniu-Date` further from now than this is a replay. 15 minutes, in seconds.
    static let dateTolerance: Int64 = 900

    /// The value of the Authorization header.
    package static func authorization(for request: SignableRequest, key: AccessKey) -> String {
        "Qiniu \(key.id):\(key.signature(of: message(of: request, withBody: coversBody(request))))"
    }

    /// Who signed a request, and how much of it.
    package struct Signer: Hashable, Sendable {
        package var key: AccessKey
        /// Whether the body is the signer's word, too. A request without a body has none to sign.
        package var signedBody: Bool
    }

    /// Checks the Authorization header.
    package static func verify(
        _ request: SignableRequest, authorization: String?, apps: AppDirectory, unixTime: Int64
    ) throws(RequestSignatureError) -> Signer {
        guard let authorization else { throw .missing }
        let words = authorization.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "qiniu" else { throw .malformed }
        let parts = words[1].split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw .malformed }
        guard let key = apps.key(String(parts[0])) else { throw .wrong }
        var signedBody = coversBody(request)
        var accepted = key.accepts(signature: parts[1], of: message(of: request, withBody: signedBody))
        if !accepted, !isFormOrJSON(request.contentType) {
            // The Go SDK signs the body of forms and JSON only; the others that of any type but octet-stream.
            signedBody = false
            accepted = key.accepts(signature: parts[1], of: message(of: request, withBody: false))
        }
        guard accepted else { throw .wrong }
        for header in request.qiniuHeaders where header.name.lowercased() == "x-qiniu-date" {
            guard let date = seconds(ofBasicDate: header.value) else { throw .malformedDate }
            let distance = unixTime.subtractingReportingOverflow(date).partialValue.magnitude
            guard distance <= dateTolerance else { throw .stale }
        }
        return Signer(key: key, signedBody: signedBody)
    }

    private static func coversBody(_ request: SignableRequest) -> Bool {
        guard let type = request.contentType, !type.isEmpty, !request.body.isEmpty else { return false }
        return mediaType(type) != "application/octet-stream"
    }

    private static func isFormOrJSON(_ contentType: String?) -> Bool {
        guard let contentType else { return false }
        return ["application/x-www-form-urlencoded", "application/json"].contains(mediaType(contentType))
    }

    private static func mediaType(_ contentType: String) -> String {
        let type = contentType.prefix { $0 != ";" }
        return type.trimmingPrefix { $0 == " " }.lowercased().split(separator: " ").first.map(String.init) ?? ""
    }

    private static func message(of request: SignableRequest, withBody: Bool) -> [UInt8] {
        var text = "\(request.method) \(request.target)\nHost: \(request.host)\n"
        if let type = request.contentType, !type.isEmpty { text += "Content-Type: \(type)\n" }
        let headers = request.qiniuHeaders
            .map { (name: canonicalName($0.name), value: $0.value) }
            .sorted { $0.name < $1.name }
        for header in headers { text += "\(header.name): \(header.value)\n" }
        text += "\n"
        return Array(text.utf8) + (withBody ? request.body : [])
    }

    /// `x-qiniu-date` as `X-Qiniu-Date`.
    private static func canonicalName(_ name: String) -> String {
        var result = ""
        var startsWord = true
        for character in name {
            result += startsWord ? character.uppercased() : character.lowercased()
            startsWord = character == "-"
        }
        return result
    }

    /// A time as `X-Qiniu-Date` has it: `YYYYMMDDTHHMMSSZ`, in UTC. Years 1970 to 9999.
    package static func basicDate(unixTime: Int64) -> String {
        let time = min(max(0, unixTime), 253_402_300_799)
        let (days, second) = (time / 86_400, time % 86_400)
        // The Gregorian date of a day, counted in years that begin in March.
        let shifted = days + 719_468
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + shifted / 146_097 * 400 + (month <= 2 ? 1 : 0)
        func digits(_ number: Int64, _ width: Int) -> String {
            let text = "\(number)"
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        return digits(year, 4) + digits(month, 2) + digits(day, 2) + "T" + digits(second / 3600, 2)
            + digits(second / 60 % 60, 2) + digits(second % 60, 2) + "Z"
    }

    /// Reads `YYYYMMDDTHHMMSSZ`, in UTC.
    static func seconds(ofBasicDate text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z") else { return nil }
        func number(_ range: Range<Int>) -> Int64? {
            var value: Int64 = 0
            for byte in bytes[range] {
                guard byte >= 48, byte <= 57 else { return nil }
                value = value * 10 + Int64(byte - 48)
            }
            return value
        }
        guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8), let hour = number(9..<11),
            let minute = number(11..<13), let second = number(13..<15), (1...12).contains(month),
            (1...31).contains(day), hour < 24, minute < 60, second < 61
        else { return nil }
        // Days since 1970 of a Gregorian date, counted in years that begin in March.
        let y = month <= 2 ? year - 1 : year
        let era = (y >= 0 ? y : y - 399) / 400
        let yearOfEra = y - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return ((days * 24 + hour) * 60 + minute) * 60 + second
    }
}

/// Why a server-API request is not authorized.
package enum RequestSignatureError: Error, Hashable, Sendable {
    case missing, malformed, wrong, malformedDate, stale

    package var message: String {
        switch self {
        case .missing: "the request is not signed: Authorization is missing"
        case .malformed: "Authorization is not of the form Qiniu accessKey:signature"
        case .wrong: "wrong access key or signature"
        case .malformedDate: "X-Qiniu-Date is not of the form YYYYMMDDTHHMMSSZ"
        case .stale: "X-Qiniu-Date is more than 15 minutes from now"
        }
    }
}
