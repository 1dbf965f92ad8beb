internal import CWeb

// Values that cross to the C side and back.

extension String {
    init(_ bytes: parlor_web_bytes) {
        self.init(decoding: UnsafeBufferPointer(start: bytes.bytes, count: bytes.count), as: UTF8.self)
    }
}

extension [UInt8] {
    init(_ bytes: parlor_web_bytes) {
        self.init(UnsafeBufferPointer(start: bytes.bytes, count: bytes.count))
    }

    /// The C side copies what it keeps.
    func withWebBytes<Result>(_ body: (parlor_web_bytes) -> Result) -> Result {
        withUnsafeBufferPointer { body(parlor_web_bytes(bytes: $0.baseAddress, count: $0.count)) }
    }
}

extension HTTPFields {
    init(_ fields: UnsafePointer<parlor_web_field>?, count: Int) {
        self.init(
            UnsafeBufferPointer(start: fields, count: count).map { HTTPField(String($0.name), String($0.value)) })
    }
}

extension HTTPResponse {
    init(_ response: parlor_web_response) {
        self.init(
            status: Int(response.status), reason: response.reason.count > 0 ? String(response.reason) : nil,
            headers: HTTPFields(response.fields, count: response.field_count), body: [UInt8](response.body))
    }
}

extension Duration {
    /// Whole milliseconds, within the C side's range.
    var webMilliseconds: UInt32 {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 0 }
        guard seconds < 4_000_000 else { return 4_000_000_000 }
        return UInt32(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
