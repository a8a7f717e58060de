import Foundation

/// Base64 with `-` and `_` and without padding (RFC 4648, section 5).
enum Base64URLText {
    static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Decodes a text. Returns nil if the text is padded, wrapped or contains other characters.
    static func decoded(_ text: some Collection<UInt8>) -> Data? {
        var standard: [UInt8] = []
        standard.reserveCapacity(text.count + 3)
        for character in text {
            switch character {
            case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                standard.append(character)
            default: return nil
            }
        }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(standard))
    }
}
