/// Base64 with `-` and `_` and without padding (RFC 4648, section 5), as JWS has it.
package enum Base64URL {
    /// The decoded bytes; nil if the text is padded, wrapped or has other characters.
    package static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        Base64.decodedWithoutPadding(text.span, values)
    }

    private static let values = Base64.values(
        of: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8))

    package static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        let standard = Base64.encoded(Array(bytes))
        return String(
            standard.compactMap { character -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            }
        )
    }
}
