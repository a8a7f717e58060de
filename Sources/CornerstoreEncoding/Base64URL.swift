/// Base64 with `-` and `_` and without padding (RFC 4648, section 5), as JWS has it.
package enum Base64URL {
    /// The decoded bytes; nil if the text is padded, wrapped or has other characters.
    package static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        Base64.decodedWithoutPadding(text.span, values)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let values = Base64.values(of: alphabet)

    /// The text of bytes.
    package static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        append(Array(bytes), to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Adds the text of bytes to a longer one.
    package static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        let padded = Base64.encodedCount(bytes.count)
        let part = [UInt8](unsafeUninitializedCapacity: padded) { buffer, count in
            guard let base = buffer.baseAddress else { return }
            Base64.encode(bytes.span, in: alphabet.span, to: UnsafeMutableRawPointer(base))
            count = (bytes.count * 4 + 2) / 3
        }
        text += part
    }
}
