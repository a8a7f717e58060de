/// The escapes of JSON strings (RFC 8259, section 7).
package enum JSONText {
    /// Appends a text as it stands between the quotation marks of a JSON string. `</` is written `<\/`, as in Apple's
    /// answers; other slashes are not escaped.
    package static func appendEscaped(_ text: String, to json: inout [UInt8]) {
        var text = text
        text.withUTF8 { appendEscaped($0, to: &json) }
    }

    /// Copies the stretches between the bytes that are escaped: a search's answer has 100 kB of them.
    private static func appendEscaped(_ text: UnsafeBufferPointer<UInt8>, to json: inout [UInt8]) {
        var copied = 0
        for (index, byte) in text.enumerated() where isEscaped[Int(byte)] {
            if byte == UInt8(ascii: "/"), index == 0 || text[index - 1] != UInt8(ascii: "<") { continue }
            json += text[copied..<index]
            copied = index + 1
            json.append(UInt8(ascii: "\\"))
            switch byte {
            case 0x0A: json.append(UInt8(ascii: "n"))
            case 0x0D: json.append(UInt8(ascii: "r"))
            case 0x09: json.append(UInt8(ascii: "t"))
            case 0..<0x20:
                json += "u00".utf8
                json += [Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte & 15)]
            default: json.append(byte)
            }
        }
        json += text[copied...]
    }

    private static let isEscaped: [Bool] = (0..<256).map {
        $0 < 0x20 || [UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/")].contains(UInt8($0))
    }

    /// The characters, in UTF-8, of a string that ``FlatJSONScanner`` has checked.
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
