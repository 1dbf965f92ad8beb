/// Values of options, checked.
struct OptionReader {
    var options: [String: String]

    func number(_ name: String, _ range: ClosedRange<Int>) throws(LoadUsageError) -> Int? {
        guard let text = options[name] else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw LoadUsageError("--\(name) \(text): a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    func choice<Value>(_ name: String, _ choices: [(String, Value)]) throws(LoadUsageError) -> Value? {
        guard let text = options[name] else { return nil }
        guard let found = choices.first(where: { $0.0 == text.lowercased() }) else {
            throw LoadUsageError("--\(name) \(text): one of \(choices.map(\.0).joined(separator: ", "))")
        }
        return found.1
    }

    /// What can stand in a token and in a URL as it is.
    func name(_ name: String) throws(LoadUsageError) -> String? {
        guard let text = options[name] else { return nil }
        let isName =
            !text.isEmpty && text.utf8.count <= 48
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        guard isName else {
            throw LoadUsageError("--\(name) \"\(text)\": letters, digits, - and _, at most 48")
        }
        return text
    }

    /// Without a slash at its end.
    func url() throws(LoadUsageError) -> String? {
        guard var url = options["url"] else { return nil }
        while url.hasSuffix("/") { url.removeLast() }
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            throw LoadUsageError("--url \(url): a URL begins with http:// or https://")
        }
        return url
    }

    /// Seconds: a number, with `s`, `m` or `h` behind it or nothing.
    func seconds(_ name: String, _ range: ClosedRange<Int>) throws(LoadUsageError) -> Int? {
        guard let text = options[name] else { return nil }
        let factor = ["s": 1, "m": 60, "h": 3600][text.suffix(1)]
        let number = Int(factor == nil ? text[...] : text.dropLast())
        guard let (value, isOver) = number?.multipliedReportingOverflow(by: factor ?? 1), !isOver,
            range.contains(value)
        else {
            throw LoadUsageError(
                "--\(name) \(text): a time from \(range.lowerBound) to \(range.upperBound) seconds, like 90, 90s or 2m")
        }
        return value
    }

    /// Rates and the like: digits, and a point with more of them.
    func decimal(_ name: String, _ range: ClosedRange<Double>) throws(LoadUsageError) -> Double? {
        guard let text = options[name] else { return nil }
        guard let value = Double(text), range.contains(value) else {
            throw LoadUsageError("--\(name) \(text): a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// An option that is given and belongs to another kind of run is a mistake.
    func refuseOptions(of kind: LoadOption.Kind, _ reason: String) throws(LoadUsageError) {
        for option in LoadOptions.all where option.kind == kind && options[option.name] != nil {
            throw LoadUsageError("--\(option.name) \(reason)")
        }
    }
}
