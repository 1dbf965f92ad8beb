public import FoundationEssentials

/// One WebSocket text message: `type={json}`, cut at its first `=`.
public struct SignallingFrame: Hashable, Sendable {
    public var type: String
    /// JSON, not yet looked at.
    public var body: Data

    /// Reads a frame.
    ///
    /// - Throws: `Refused` with 10053: no `=`, or a type that is no name.
    public init(_ text: String) throws(Refused) {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            throw Refused(.invalidParameter, "a frame has the form type={json}; this one has no =")
        }
        let type = text[..<mark]
        guard SignallingFrame.isTypeName(type) else {
            throw Refused(.invalidParameter, "a frame's type is 1 to 64 letters, digits and hyphens before the =")
        }
        self.type = String(type)
        body = Data(text.utf8[text.utf8.index(after: mark)...])
    }

    /// Writes a frame as UTF-8.
    public static func encode(_ type: String, _ body: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        var bytes = Array(type.utf8)
        bytes.append(UInt8(ascii: "="))
        // Our own bodies always have a JSON form.
        if let json = try? encoder.encode(body) { bytes.append(contentsOf: json) } else { bytes += Array("{}".utf8) }
        return bytes
    }

    private static func isTypeName(_ text: Substring) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

/// A body without fields: `{}`.
public struct EmptyBody: Codable, Hashable, Sendable {
    public init() {}
}
