/// Decodes the escapes of a JSON string that ``FlatJSONScanner`` has checked.
package enum JSONText {
    /// The string's characters in UTF-8.
    package static func unescaped(_ token: FlatJSONScanner.StringToken, of json: Span<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(token.range.count)
        var index = token.range.lowerBound
        while index < token.range.upperBound {
            let byte = json[index]
            guard byte == UInt8(ascii: "\\"), index + 1 < token.range.upperBound else {
                text.append(byte)
                index += 1
                continue
            }
            index += 2
            switch json[index - 1] {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"): index = appendUnicode(json, at: index, to: &text)
            case let other: text.append(other)
            }
        }
        return text
    }

    /// Appends the character of the four digits at an index, and returns the index after it.
    private static func appendUnicode(_ json: Span<UInt8>, at index: Int, to text: inout [UInt8]) -> Int {
        var units = [Hexadecimal.unit(json, at: index) ?? 0xFFFD]
        var end = index + 4
        if UTF16.isLeadSurrogate(units[0]), let second = Hexadecimal.unit(json, at: index + 6) {
            units.append(second)
            end += 6
        }
        text.append(contentsOf: String(decoding: units, as: UTF16.self).utf8)
        return end
    }
}

extension Span<UInt8> {
    /// Whether the range holds exactly these characters.
    package func holds(_ text: StaticString, at range: Range<Int>) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<range.count where self[range.lowerBound + index] != text.utf8Start[index] { return false }
        return true
    }
}
