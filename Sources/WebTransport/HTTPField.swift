/// One header field of a request or a response (RFC 9110, section 5).
package struct HTTPField: Sendable, Equatable {
    /// As sent; compare with `HTTPFields`' look-ups, which ignore case.
    package var name: String
    /// Without the white space around it.
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// Header fields in the order of the wire, repeated names included.
package struct HTTPFields: Sendable, Equatable, ExpressibleByDictionaryLiteral, RandomAccessCollection {
    private var fields: [HTTPField]

    package init(_ fields: [HTTPField] = []) {
        self.fields = fields
    }

    package init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { HTTPField($0.0, $0.1) }
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { fields.count }
    package subscript(position: Int) -> HTTPField { fields[position] }

    /// The first value of that name, case ignored; setting replaces every field of the name, `nil` removes them.
    package subscript(name: String) -> String? {
        get { fields.first { HTTPFields.sameName($0.name, name) }?.value }
        set {
            fields.removeAll { HTTPFields.sameName($0.name, name) }
            if let newValue {
                fields.append(HTTPField(name, newValue))
            }
        }
    }

    /// Every value of that name, case ignored, in order.
    package func values(_ name: String) -> [String] {
        fields.filter { HTTPFields.sameName($0.name, name) }.map(\.value)
    }

    /// Adds a field and keeps those of the same name.
    package mutating func append(_ name: String, _ value: String) {
        fields.append(HTTPField(name, value))
    }

    /// Names of header fields are equal when their ASCII letters are, case ignored (RFC 9110, section 5.1).
    package static func sameName(_ a: String, _ b: String) -> Bool {
        a.utf8.count == b.utf8.count && zip(a.utf8, b.utf8).allSatisfy { lowercased($0) == lowercased($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    /// The block for the C side, "Name: value\r\n" each. Framing is the connection's own business: such fields are
    /// left out, and so is a name that is no token (RFC 9110, section 5.6.2). Control characters in a value, which could
    /// start a field of their own, become spaces.
    func block() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 })
        for field in fields where HTTPFields.isToken(field.name) && !HTTPFields.isFraming(field.name) {
            bytes.append(contentsOf: field.name.utf8)
            bytes.append(UInt8(ascii: ":"))
            bytes.append(UInt8(ascii: " "))
            for byte in field.value.utf8 {
                bytes.append(byte < 0x20 && byte != 0x09 || byte == 0x7F ? 0x20 : byte)
            }
            bytes.append(0x0D)
            bytes.append(0x0A)
        }
        return bytes
    }

    private static func isFraming(_ name: String) -> Bool {
        ["connection", "content-length", "transfer-encoding", "keep-alive", "upgrade"].contains { sameName($0, name) }
    }

    static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default:
                    "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
