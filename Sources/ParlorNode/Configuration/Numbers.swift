/// Small readers and writers of numbers in configurations and command lines.
enum Numbers {
    /// Digits only, no sign, no more than fit.
    static func whole(_ text: some StringProtocol) -> Int? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }

    /// `30s`, `30 s`: digits, then a unit.
    static func withUnit(_ text: String) -> (number: Int, unit: String)? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = whole(digits) else { return nil }
        return (number, String(text[digits.endIndex...].trimming(" ")))
    }

    static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, 45, 95: true
        default: false
        }
    }

    /// In the largest unit that divides it.
    static func time(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        if attoseconds != 0 { return "\(seconds &* 1000 &+ attoseconds / 1_000_000_000_000_000)ms" }
        if seconds != 0, seconds % 3600 == 0 { return "\(seconds / 3600)h" }
        if seconds != 0, seconds % 60 == 0 { return "\(seconds / 60)m" }
        return "\(seconds)s"
    }

    static func size(_ bytes: Int) -> String {
        if bytes != 0, bytes % (1 << 20) == 0 { return "\(bytes >> 20)MiB" }
        if bytes != 0, bytes % (1 << 10) == 0 { return "\(bytes >> 10)KiB" }
        return "\(bytes)B"
    }
}

extension StringProtocol {
    /// Without the given character at both ends.
    func trimming(_ character: Character) -> SubSequence {
        var slice = self[startIndex..<endIndex]
        while slice.first == character { slice = slice.dropFirst() }
        while slice.last == character { slice = slice.dropLast() }
        return slice
    }
}
