/// Standard Base64 (RFC 4648, section 4), straight between byte buffers.
///
/// Reading is strict: the alphabet with `+` and `/`, padding where it is due, no bits left over. Line breaks (CR, LF)
/// between characters are passed over, since many clients send receipts wrapped in lines; a space is not, since that is
/// what becomes of a `+` that was not URL-encoded, and Apple answers such a receipt with 21002.
public enum Base64 {
    /// The bytes that the text stands for, or nil if it is not Base64. At most three quarters of the text's size is
    /// allocated (and once the text's size if it has line breaks).
    public static func decoded(_ text: Span<UInt8>) -> [UInt8]? {
        let (bytes, end) = decodedPrefix(text, from: 0)
        return end == text.count ? bytes : decodedWithoutLineBreaks(text)
    }

    /// The bytes that the text stands for, or nil if it is not Base64.
    public static func decoded(_ text: String) -> [UInt8]? {
        let utf8 = Array(text.utf8)
        return decoded(utf8.span)
    }

    /// The bytes in Base64, with padding and in one line.
    public static func encoded(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        appendEncoded(bytes.span, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the bytes in Base64, with padding and in one line.
    static func appendEncoded(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        let letters = alphabet.span
        text.append(addingCapacity: (bytes.count + 2) / 3 * 4) { (output: inout OutputSpan<UInt8>) in
            var index = 0
            while index + 3 <= bytes.count {
                let group = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
                output.append(letters[Int(group >> 18)])
                output.append(letters[Int(group >> 12 & 63)])
                output.append(letters[Int(group >> 6 & 63)])
                output.append(letters[Int(group & 63)])
                index += 3
            }
            guard index < bytes.count else { return }
            let two = index + 2 == bytes.count
            let group = UInt32(bytes[index]) << 16 | (two ? UInt32(bytes[index + 1]) << 8 : 0)
            output.append(letters[Int(group >> 18)])
            output.append(letters[Int(group >> 12 & 63)])
            output.append(two ? letters[Int(group >> 6 & 63)] : pad)
            output.append(pad)
        }
    }

    /// Decodes the text from an index on for as long as it is Base64 without line breaks. `end` is the index of the
    /// first byte that does not belong to a whole group of four or the padded last group.
    static func decodedPrefix(_ text: Span<UInt8>, from start: Int) -> (bytes: [UInt8], end: Int) {
        let values = values.span
        var index = start
        let bytes = [UInt8](capacity: (text.count - start) / 4 * 3) { (output: inout OutputSpan<UInt8>) in
            while index + 4 <= text.count {
                let group =
                    values[Int(text[index])] << 18 | values[Int(text[index + 1])] << 12
                    | values[Int(text[index + 2])] << 6 | values[Int(text[index + 3])]
                guard group < limit else { break }
                output.append(UInt8(truncatingIfNeeded: group >> 16))
                output.append(UInt8(truncatingIfNeeded: group >> 8))
                output.append(UInt8(truncatingIfNeeded: group))
                index += 4
            }
            // What stopped it: the last group with its padding, the end, or something else, which is left to the
            // caller.
            guard index + 4 <= text.count, text[index + 3] == pad else { return }
            let first = values[Int(text[index])] << 18 | values[Int(text[index + 1])] << 12
            if text[index + 2] == pad {
                guard first < limit, first & 0xFFFF == 0 else { return }
                output.append(UInt8(truncatingIfNeeded: first >> 16))
            } else {
                let group = first | values[Int(text[index + 2])] << 6
                guard group < limit, group & 0xFF == 0 else { return }
                output.append(UInt8(truncatingIfNeeded: group >> 16))
                output.append(UInt8(truncatingIfNeeded: group >> 8))
            }
            index += 4
        }
        return (bytes, index)
    }

    private static func decodedWithoutLineBreaks(_ text: Span<UInt8>) -> [UInt8]? {
        var joined: [UInt8] = []
        joined.reserveCapacity(text.count)
        for index in text.indices {
            let byte = text[index]
            if byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { joined.append(byte) }
        }
        guard joined.count < text.count else { return nil }
        let (bytes, end) = decodedPrefix(joined.span, from: 0)
        return end == joined.count ? bytes : nil
    }

    private static let pad = UInt8(ascii: "=")
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Above every group of four characters.
    private static let limit: UInt32 = 1 << 24
    /// A byte's value in the alphabet. What is not in it has a value that is not below ``limit`` in any of the four
    /// places of a group.
    private static let values: [UInt32] = {
        var values = [UInt32](repeating: 0xFFFF_FFC0, count: 256)
        for (value, letter) in alphabet.enumerated() { values[Int(letter)] = UInt32(value) }
        return values
    }()
}
