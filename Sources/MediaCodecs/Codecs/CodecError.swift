import CCodecs

/// Why libopus or libvpx refused.
package struct CodecError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Library: Hashable, Sendable {
        case opus, vpx
    }

    /// What was being done, in words: "encoding", "opening the VP9 decoder".
    package let operation: String
    package let library: Library
    /// The library's own code: negative for libopus, the negated `vpx_codec_err_t` for libvpx.
    package let code: Int32

    init(_ operation: String, _ library: Library, code: Int32) {
        self.operation = operation
        self.library = library
        self.code = code
    }

    package var description: String {
        let text = library == .opus ? parlor_opus_error_text(code) : parlor_vpx_error_text(code)
        let name = library == .opus ? "libopus" : "libvpx"
        return "\(name), \(operation): \(text.map { String(cString: $0) } ?? "unknown error") (\(code))"
    }
}
