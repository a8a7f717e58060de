/// Hexadecimal text: two digits for each byte.
@usableFromInline
package enum Hexadecimal {
    /// The case of the digits from A to F.
    @usableFromInline
    package enum LetterCase: Sendable {
        case lower
        case upper
    }

    /// The bytes as digits.
    package static func encoded(_ bytes: some Sequence<UInt8>, _ letters: LetterCase = .lower) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.underestimatedCount)
        for byte in bytes {
            text.append(digit(byte >> 4, letters))
            text.append(digit(byte & 15, letters))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes that digits in either case encode; nil if their number is odd or the text has other characters.
    package static func decoded(_ text: String) -> [UInt8]? {
        let text = Array(text.utf8)
        guard text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        for index in stride(from: 0, to: text.count, by: 2) {
            guard let high = value(text[index]), let low = value(text[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// The value of the four digits at an index, in either case; nil if fewer than four digits are there.
    package static func unit(_ text: Span<UInt8>, at index: Int) -> UInt16? {
        guard index + 4 <= text.count else { return nil }
        var unit: UInt16 = 0
        for index in index..<index + 4 {
            guard let value = value(text[index]) else { return nil }
            unit = unit << 4 | UInt16(value)
        }
        return unit
    }

    /// The digit of a value below 16, in ASCII.
    @inlinable
    package static func digit(_ value: UInt8, _ letters: LetterCase = .lower) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: letters == .lower ? "a" : "A") + value - 10
    }

    /// The value of a digit in ASCII, in either case; nil for another character.
    @inlinable
    package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
