/// The documented rules for names; case counts.
package enum Names {
    /// `^[a-zA-Z0-9_-]{1,64}$`
    package static func isRoomName(_ text: some StringProtocol) -> Bool { isName(text, longest: 64) }
    /// `^[a-zA-Z0-9_-]{1,50}$`
    package static func isUserID(_ text: some StringProtocol) -> Bool { isName(text, longest: 50) }
    /// Ours: the vendor's are nine lower-case letters and digits. `^[a-zA-Z0-9_-]{1,64}$`
    package static func isAppID(_ text: some StringProtocol) -> Bool { isName(text, longest: 64) }

    private static func isName(_ text: some StringProtocol, longest: Int) -> Bool {
        (1...longest).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
