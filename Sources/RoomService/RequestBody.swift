package import RoomControl
package import WebTransport

/// The fields of a server-API request's body: a JSON object, or a form, which has the same fields as text.
///
/// The vendor's SDKs post JSON; its Python package posts a dictionary as a form (where True is `True`), and a JSON text
/// with the Content-Type of a form.
package struct RequestBody: Sendable {
    /// What is wrong with a body, for its sender.
    package struct Problem: Error, Hashable, Sendable {
        package var status = 400
        package var message: String
    }

    private enum Fields {
        case json([String: JSONValue])
        /// A field that stands several times has several values.
        case form([String: [String]])
    }

    private let fields: Fields

    /// More fields than any request has.
    private static let mostFields = 100

    package init(_ request: HTTPRequest) throws(Problem) {
        let type =
            (request.headers["Content-Type"] ?? "").prefix { $0 != ";" }.lowercased()
            .split(separator: " ").first.map(String.init) ?? ""
        let first = request.body.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard let first else {
            fields = .json([:])
            return
        }
        if type == "application/json" || first == UInt8(ascii: "{") {
            guard let value = JSONValue(text: request.body) else {
                throw Problem(message: "the body is not JSON, or nested deeper than \(JSONValue.deepest) levels")
            }
            guard case .object(let object) = value else {
                throw Problem(message: "the body must be a JSON object, and is \(value.kind)")
            }
            fields = .json(object)
            return
        }
        guard type == "application/x-www-form-urlencoded" else {
            throw Problem(
                status: 415,
                message: "the body must be application/json or application/x-www-form-urlencoded, in Content-Type, too")
        }
        let parts = request.body.split(separator: UInt8(ascii: "&"), maxSplits: Self.mostFields)
        guard parts.count <= Self.mostFields else {
            throw Problem(message: "the body has more than \(Self.mostFields) fields")
        }
        var form: [String: [String]] = [:]
        for part in parts {
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            func decoded(_ bytes: ArraySlice<UInt8>) -> String {
                HTTPRequest.percentDecoded(String(decoding: bytes, as: UTF8.self), plusIsSpace: true)
            }
            form[decoded(pair[0]), default: []].append(pair.count > 1 ? decoded(pair[1]) : "")
        }
        fields = .form(form)
    }

    // MARK: Fields. One that is absent, or null, is nil.

    /// - Parameter bytes: the longest text, in bytes of UTF-8.
    package func text(_ name: String, upTo bytes: Int) throws(Problem) -> String? {
        let text: String
        switch fields {
        case .json(let object):
            switch object[name] {
            case nil, .null?: return nil
            case .string(let string)?: text = string
            case let value?: throw wrong(name, "a string", value)
            }
        case .form(let form):
            guard let value = try single(name, form) else { return nil }
            text = value
        }
        guard text.utf8.count <= bytes else {
            throw Problem(message: "\(name) must have \(bytes) bytes of UTF-8 at most, and has \(text.utf8.count)")
        }
        return text
    }

    /// A whole number.
    package func number(_ name: String, in range: ClosedRange<Int64>, of unit: String) throws(Problem) -> Int64? {
        let right = "a whole number of \(unit) from \(range.lowerBound) to \(range.upperBound)"
        let number: Int64
        switch fields {
        case .json(let object):
            switch object[name] {
            case nil, .null?: return nil
            case .integer(let value)?: number = value
            case .number?: throw Problem(message: "\(name) must be \(right)")
            case let value?: throw wrong(name, right, value)
            }
        case .form(let form):
            // An empty value is what a client without a wish sends.
            guard let text = try single(name, form), !text.isEmpty else { return nil }
            guard let value = Int64(text) else { throw Problem(message: "\(name) must be \(right)") }
            number = value
        }
        guard range.contains(number) else { throw Problem(message: "\(name) must be \(right), and is \(number)") }
        return number
    }

    package func flag(_ name: String) throws(Problem) -> Bool? {
        switch fields {
        case .json(let object):
            switch object[name] {
            case nil, .null?: return nil
            case .bool(let value)?: return value
            case let value?: throw wrong(name, "true or false", value)
            }
        case .form(let form):
            switch try single(name, form) {
            case nil, ""?: return nil
            case "true"?, "True"?: return true
            case "false"?, "False"?: return false
            default: throw Problem(message: "\(name) must be true or false (True and False in a form are right, too)")
            }
        }
    }

    /// A list of texts. In a form the field stands once for each.
    package func texts(_ name: String, atMost count: Int, eachUpTo bytes: Int) throws(Problem) -> [String]? {
        var texts: [String]
        switch fields {
        case .json(let object):
            switch object[name] {
            case nil, .null?: return nil
            case .array(let values)?:
                texts = []
                for value in values {
                    guard case .string(let text) = value else {
                        throw Problem(message: "\(name) must be a list of strings, and holds \(value.kind)")
                    }
                    texts.append(text)
                }
            case let value?: throw wrong(name, "a list of strings", value)
            }
        case .form(let form):
            guard let values = form[name] else { return nil }
            texts = values
        }
        guard texts.count <= count else {
            throw Problem(message: "\(name) must have \(count) entries at most, and has \(texts.count)")
        }
        guard texts.allSatisfy({ $0.utf8.count <= bytes }) else {
            throw Problem(message: "\(name) must have entries of \(bytes) bytes of UTF-8 at most")
        }
        return texts
    }

    /// A JSON object. In a form its JSON text: what Python's requests makes of a nested dictionary is its names without
    /// its values.
    package func object(_ name: String, upTo bytes: Int) throws(Problem) -> JSONValue? {
        let value: JSONValue
        switch fields {
        case .json(let object):
            switch object[name] {
            case nil, .null?: return nil
            case let found?: value = found
            }
            guard case .object = value else { throw wrong(name, "an object", value) }
        case .form(let form):
            guard let texts = form[name], texts != [""] else { return nil }
            guard texts.count == 1, let read = JSONValue(text: texts[0].utf8), case .object = read else {
                throw Problem(
                    message: "\(name) must be an object, which a form cannot hold: send the whole body as JSON, or the "
                        + "field as JSON text")
            }
            value = read
        }
        guard let text = value.text, text.utf8.count <= bytes else {
            throw Problem(message: "\(name) must have \(bytes) bytes of JSON at most")
        }
        return value
    }

    private func single(_ name: String, _ form: [String: [String]]) throws(Problem) -> String? {
        guard let values = form[name] else { return nil }
        guard values.count == 1 else { throw Problem(message: "\(name) stands \(values.count) times in the form") }
        return values[0]
    }

    private func wrong(_ name: String, _ right: String, _ value: JSONValue) -> Problem {
        Problem(message: "\(name) must be \(right), and is \(value.kind)")
    }
}
