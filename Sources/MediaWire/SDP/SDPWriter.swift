extension SessionDescription {
    /// The description as text: lines in the order of RFC 8866, section 5, each ended by CR LF.
    package var text: String {
        var result = "v=0\r\n"
        func write(_ letter: Character, _ value: String) {
            result.append(letter)
            result += "=" + value + "\r\n"
        }
        func write(_ attributes: [SDPAttribute]) {
            for attribute in attributes {
                write("a", attribute.value.map { attribute.name + ":" + $0 } ?? attribute.name)
            }
        }
        func write(_ lines: [SDPLine], _ types: String) {
            for line in lines where types.utf8.contains(line.type) {
                write(Character(UnicodeScalar(line.type)), line.value)
            }
        }
        write("o", origin ?? "- 0 0 IN IP4 0.0.0.0")
        write("s", name ?? "-")
        write(otherLines, "iuep")
        if let connection { write("c", connection.text) }
        write(otherLines, "b")
        for time in timing.isEmpty ? ["0 0"] : timing { write("t", time) }
        write(otherLines, "rzk")
        write(otherLines, "dfghjlnqwxy")
        write(attributes)
        for media in media {
            write("m", "\(media.media) \(media.port) \(media.transport) \(media.formats.joined(separator: " "))")
            write(media.otherLines, "i")
            if let connection = media.ownConnection { write("c", connection.text) }
            write(media.otherLines, "bk")
            write(media.otherLines, "defghjlnopqrstuwxyz")
            write(media.attributes)
        }
        return result
    }
}
