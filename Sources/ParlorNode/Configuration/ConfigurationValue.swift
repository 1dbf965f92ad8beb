import MediaWire

/// One value as it was written, before it is known what it should be.
enum ConfigurationValue: Sendable {
    /// `quoted`: the file put it in quotes, so it is text and not a number or a boolean.
    case text(String, quoted: Bool)
    case list([String])

    /// A single value's text.
    func single() throws(ValueComplaint) -> String {
        guard case .text(let text, _) = self else { throw ValueComplaint("a list where one value belongs") }
        return text
    }

    /// A single value that must not be in quotes.
    func bare(_ kind: String) throws(ValueComplaint) -> String {
        guard case .text(let text, let quoted) = self else { throw ValueComplaint("a list where \(kind) belongs") }
        guard !quoted else { throw ValueComplaint("\"\(text)\" is text; write \(kind) without quotes") }
        return text
    }

    /// The elements of a list; a single text is split at its commas, and `none` is an empty list.
    func elements() -> [String] {
        switch self {
        case .list(let elements): elements
        case .text("none", quoted: false): []
        case .text(let text, _):
            text.split(separator: ",").map { String($0.trimming(" ")) }.filter { !$0.isEmpty }
        }
    }
}

/// Turns written values into values of one type, or says what would be right.
struct ValueReader<T>: Sendable {
    var read: @Sendable (ConfigurationValue) throws(ValueComplaint) -> T
}

extension ValueReader where T == Bool {
    static let flag = ValueReader { (value) throws(ValueComplaint) in
        switch try value.bare("true or false") {
        case "true": return true
        case "false": return false
        case let other: throw ValueComplaint("\"\(other)\" is neither true nor false")
        }
    }
}

extension ValueReader where T == Int {
    static func count(_ range: ClosedRange<Int>, of what: String) -> ValueReader {
        ValueReader { (value) throws(ValueComplaint) in
            let text = try value.bare("a number")
            guard let number = Numbers.whole(text), range.contains(number) else {
                throw ValueComplaint(
                    "\"\(text)\" is not a number of \(what) from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
    }

    /// Bytes, with a unit: `256 KiB`, `4 MiB`, `1500 B`.
    static func size(_ range: ClosedRange<Int>) -> ValueReader {
        ValueReader { (value) throws(ValueComplaint) in
            let text = try value.single()
            guard let (number, unit) = Numbers.withUnit(text),
                let factor = ["B": 1, "KiB": 1 << 10, "MiB": 1 << 20][unit]
            else { throw ValueComplaint("\"\(text)\" is not a size; write a number and B, KiB or MiB, such as 4MiB") }
            let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
            guard !overflow, range.contains(bytes) else {
                throw ValueComplaint(
                    "\(text) is out of range; give from \(Numbers.size(range.lowerBound)) to \(Numbers.size(range.upperBound))"
                )
            }
            return bytes
        }
    }
}

extension ValueReader where T == Int? {
    /// A count, or `auto`.
    static func countOrAuto(_ range: ClosedRange<Int>, of what: String) -> ValueReader {
        let counter = ValueReader<Int>.count(range, of: what)
        return ValueReader { (value) throws(ValueComplaint) in
            if case .text("auto", _) = value { return nil }
            do throws(ValueComplaint) { return try counter.read(value) } catch {
                throw ValueComplaint(error.message + ", or auto")
            }
        }
    }

    static func optionalCount(_ range: ClosedRange<Int>, of what: String) -> ValueReader {
        let counter = ValueReader<Int>.count(range, of: what)
        return ValueReader { (value) throws(ValueComplaint) in try counter.read(value) }
    }
}

extension ValueReader where T == Duration {
    /// A time with its unit: `500ms`, `30s`, `15m`, `1h`. Only `0` needs none.
    ///
    /// - Parameter reason: why no more than that; the complaint about a longer time ends with it.
    static func time(_ range: ClosedRange<Duration>, noLongerSince reason: String? = nil) -> ValueReader {
        ValueReader { (value) throws(ValueComplaint) in
            let text = try value.single()
            if text == "0", range.contains(.zero) { return .zero }
            let units: [String: Int] = ["ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000]
            guard let (number, unit) = Numbers.withUnit(text), let factor = units[unit] else {
                throw ValueComplaint("\"\(text)\" is not a time; write a number and ms, s, m or h, such as 30s")
            }
            let (milliseconds, overflow) = number.multipliedReportingOverflow(by: factor)
            guard !overflow, range.contains(.milliseconds(milliseconds)) else {
                let isTooLong = overflow || .milliseconds(milliseconds) > range.upperBound
                throw ValueComplaint(
                    "\(text) is out of range; give from \(Numbers.time(range.lowerBound)) to \(Numbers.time(range.upperBound))"
                        + (isTooLong ? reason.map { ": \($0)" } ?? "" : "")
                )
            }
            return .milliseconds(milliseconds)
        }
    }
}

extension ValueReader where T == UInt16 {
    static let port = ValueReader { (value) throws(ValueComplaint) in
        let text = try value.bare("a port")
        guard let number = Numbers.whole(text), (1...65535).contains(number) else {
            throw ValueComplaint("\"\(text)\" is not a port; give a number from 1 to 65535")
        }
        return UInt16(number)
    }
}

extension ValueReader where T == ClosedRange<UInt16> {
    static let portRange = ValueReader { (value) throws(ValueComplaint) in
        let text = try value.single()
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Numbers.whole($0.trimming(" ")) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], (1...65535).contains(first), last <= 65535
        else {
            throw ValueComplaint("\"\(text)\" is not a range of ports; write FIRST-LAST, such as 8000-8499")
        }
        guard first < last else {
            throw ValueComplaint(
                "\(text) is empty or holds one port only; a leg takes two, so LAST must be above FIRST")
        }
        return UInt16(first)...UInt16(last)
    }
}

extension ValueReader where T == TransportAddress {
    /// `ADDRESS:PORT`, the address a literal and in brackets if IPv6.
    static let endpoint = ValueReader { (value) throws(ValueComplaint) in
        let text = try value.single()
        let wanted = "write ADDRESS:PORT with a literal address, such as 127.0.0.1:7880 or [::1]:7880"
        guard let colon = text.lastIndex(of: ":") else { throw ValueComplaint("\"\(text)\" has no port; \(wanted)") }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw ValueComplaint("\"\(text)\": an IPv6 address stands in brackets; \(wanted)")
        }
        guard let port = Numbers.whole(text[text.index(after: colon)...]), (1...65535).contains(port) else {
            throw ValueComplaint("\"\(text)\" does not end in a port from 1 to 65535; \(wanted)")
        }
        guard let address = TransportAddress(host: host, port: UInt16(port)) else {
            throw ValueComplaint("\"\(host)\" is not an address; \(wanted)")
        }
        guard !address.isMulticast else {
            throw ValueComplaint("\(address.host) is a multicast address; nobody can listen there")
        }
        return address
    }
}

extension ValueReader where T == TransportAddress? {
    /// The same, or `off`.
    static let endpointOrOff = ValueReader { (value) throws(ValueComplaint) in
        if case .text("off", _) = value { return nil }
        do throws(ValueComplaint) { return try ValueReader<TransportAddress>.endpoint.read(value) } catch {
            throw ValueComplaint(error.message + ", or off")
        }
    }
}

extension ValueReader where T == [TransportAddress]? {
    /// At most one address of each family.
    static let hosts = ValueReader { (value) throws(ValueComplaint) in
        var hosts: [TransportAddress] = []
        for element in value.elements() {
            guard let address = TransportAddress(host: element, port: 0) else {
                throw ValueComplaint(
                    "\"\(element)\" is not an address; write a literal such as 192.0.2.7 or 2001:db8::7")
            }
            guard !address.isMulticast else { throw ValueComplaint("\(element) is a multicast address") }
            guard !hosts.contains(where: { $0.isIPv4 == address.isIPv4 }) else {
                throw ValueComplaint(
                    "two \(address.isIPv4 ? "IPv4" : "IPv6") addresses; give at most one of each kind")
            }
            hosts.append(address)
        }
        guard !hosts.isEmpty else {
            throw ValueComplaint("no address in the list; leave the key out for the default")
        }
        return hosts
    }
}

extension ValueReader where T == [AddressPrefix] {
    static let prefixes = ValueReader { (value) throws(ValueComplaint) in
        var prefixes: [AddressPrefix] = []
        for element in value.elements() {
            guard let prefix = AddressPrefix(element) else {
                throw ValueComplaint(
                    "\"\(element)\" is not an address or a block of them; write 192.0.2.7 or 10.0.0.0/8 (no bits beyond the length)"
                )
            }
            prefixes.append(prefix)
        }
        return prefixes
    }
}

extension ValueReader where T == NodeConfiguration.CryptoChoice {
    static let crypto = ValueReader { (value) throws(ValueComplaint) in
        let text = try value.single()
        guard let choice = NodeConfiguration.CryptoChoice(rawValue: text) else {
            let names = NodeConfiguration.CryptoChoice.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValueComplaint("\"\(text)\" is none of \(names)")
        }
        return choice
    }
}
