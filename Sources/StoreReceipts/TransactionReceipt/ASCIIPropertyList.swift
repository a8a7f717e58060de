import CornerstoreEncoding

/// The old ASCII (NeXTSTEP) property list, as far as transaction receipts use it: one dictionary of strings.
///
/// ```
/// {
///     "pod" = "100";
/// }
/// ```
struct ASCIIPropertyList: Equatable {
    /// One line of it.
    typealias Entry = TransactionReceipt.Entry

    /// The entries, in the order of the text.
    var entries: [Entry]

    /// The largest text that is read, in bytes. Apple's receipts have less than 6 000.
    static let maximumSize = 64 << 10
    /// The most entries that are read. Apple's receipts have less than 30.
    static let maximumEntries = 64

    init(entries: [Entry]) {
        self.entries = entries
    }

    /// Reads a text.
    /// - Throws: ``ReceiptRejection/Code`` `tooLarge`, `truncated`, `trailingData`, `tooDeep` (for dictionaries, arrays
    ///   and data as values) or `malformed` (also for a repeated key).
    init(text: [UInt8]) throws(ReceiptRejection) {
        guard text.count <= Self.maximumSize else {
            throw ReceiptRejection(.tooLarge, "the property list has \(text.count) bytes")
        }
        var reader = PropertyListReader(text: text)
        entries = try reader.dictionary()
    }

    /// The value of a key.
    subscript(key: String) -> String? { entries.first { $0.key == key }?.value }

    /// The text as Apple's server writes it: a tab before each line, line feeds between the lines, and nothing after
    /// the closing brace.
    var text: [UInt8] {
        var text: [UInt8] = []
        text.append(literal: "{\n")
        for entry in entries {
            text.append(literal: "\t\"")
            text.appendPropertyListEscaped(entry.key)
            text.append(literal: "\" = \"")
            text.appendPropertyListEscaped(entry.value)
            text.append(literal: "\";\n")
        }
        text.append(literal: "}")
        return text
    }
}

extension [UInt8] {
    /// Appends the string's form between the quotation marks: ASCII, and every other character as `\U` with a UTF-16
    /// unit.
    fileprivate mutating func appendPropertyListEscaped(_ text: String) {
        for unit in text.utf16 {
            switch unit {
            case 0x22: append(literal: "\\\"")
            case 0x5C: append(literal: "\\\\")
            case 0x0A: append(literal: "\\n")
            case 0x0D: append(literal: "\\r")
            case 0x09: append(literal: "\\t")
            case 0x20..<0x7F: append(UInt8(unit))
            default:
                append(literal: "\\U")
                for shift in [12, 8, 4, 0] { append(Hexadecimal.digit(UInt8(unit >> UInt16(shift) & 15))) }
            }
        }
    }
}

private struct PropertyListReader {
    let text: [UInt8]
    private var position = 0

    init(text: [UInt8]) {
        self.text = text
    }

    mutating func dictionary() throws(ReceiptRejection) -> [ASCIIPropertyList.Entry] {
        try expect(UInt8(ascii: "{"))
        var entries: [ASCIIPropertyList.Entry] = []
        var keys: Set<String> = []
        while peek() != UInt8(ascii: "}") {
            let key = try string()
            try expect(UInt8(ascii: "="))
            let value = try string()
            try expect(UInt8(ascii: ";"))
            guard keys.insert(key).inserted else { throw malformed("a key is repeated") }
            guard entries.count < ASCIIPropertyList.maximumEntries else {
                throw ReceiptRejection(
                    .tooLarge, "the property list has more than \(ASCIIPropertyList.maximumEntries) entries")
            }
            entries.append(ASCIIPropertyList.Entry(key: key, value: value))
        }
        position += 1
        if peek() != nil {
            throw ReceiptRejection(.trailingData, "something follows the property list at byte \(position)")
        }
        return entries
    }

    /// Peeks at the next byte that is not white space.
    private mutating func peek() -> UInt8? {
        while position < text.count {
            switch text[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case let byte: return byte
            }
        }
        return nil
    }

    private func malformed(_ reason: String) -> ReceiptRejection {
        ReceiptRejection(.malformed, "property list at byte \(position): \(reason)")
    }

    private var truncated: ReceiptRejection {
        ReceiptRejection(.truncated, "the property list ends at byte \(text.count)")
    }

    private mutating func expect(_ byte: UInt8) throws(ReceiptRejection) {
        guard let next = peek() else { throw truncated }
        guard next == byte else { throw malformed("expected \(Character(Unicode.Scalar(byte)))") }
        position += 1
    }

    private mutating func string() throws(ReceiptRejection) -> String {
        guard let next = peek() else { throw truncated }
        switch next {
        case UInt8(ascii: "\""):
            position += 1
            return try quoted()
        case UInt8(ascii: "{"), UInt8(ascii: "("), UInt8(ascii: "<"):
            throw ReceiptRejection(.tooDeep, "property list at byte \(position): a value is not a string")
        default: return try bare()
        }
    }

    /// A string without quotation marks, of the characters that are allowed there.
    private mutating func bare() throws(ReceiptRejection) -> String {
        let start = position
        loop: while position < text.count {
            switch text[position] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "."),
                UInt8(ascii: "-"):
                position += 1
            default: break loop
            }
        }
        if position == text.count { throw truncated }
        guard position > start else { throw malformed("expected a string") }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    private mutating func quoted() throws(ReceiptRejection) -> String {
        var bytes: [UInt8] = []
        // The UTF-16 units of consecutive escapes: two of them can form one character.
        var units: [UInt16] = []
        while position < text.count {
            let byte = text[position]
            if byte == UInt8(ascii: "\\") {
                units.append(try escape())
                continue
            }
            try flush(&units, to: &bytes)
            position += 1
            if byte == UInt8(ascii: "\"") {
                guard let string = String(validating: bytes, as: UTF8.self) else {
                    throw malformed("a string is not UTF-8")
                }
                return string
            }
            bytes.append(byte)
        }
        throw truncated
    }

    private func flush(_ units: inout [UInt16], to bytes: inout [UInt8]) throws(ReceiptRejection) {
        guard !units.isEmpty else { return }
        guard let text = String(validating: units, as: UTF16.self) else {
            throw malformed("a surrogate is not part of a pair")
        }
        bytes.append(contentsOf: text.utf8)
        units.removeAll()
    }

    /// Reads an escape. Octal escapes above 177 are characters of the NeXTSTEP set. No receipt has them, and they are
    /// refused.
    private mutating func escape() throws(ReceiptRejection) -> UInt16 {
        guard position + 1 < text.count else { throw truncated }
        let letter = text[position + 1]
        position += 2
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\n"): return UInt16(letter)
        case UInt8(ascii: "a"): return 0x07
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "v"): return 0x0B
        case UInt8(ascii: "f"): return 0x0C
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "U"), UInt8(ascii: "u"):
            guard position + 4 <= text.count else { throw truncated }
            guard let unit = Hexadecimal.unit(text.span, at: position) else {
                throw malformed("an escape is not four digits")
            }
            position += 4
            return unit
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            var value = UInt16(letter - UInt8(ascii: "0"))
            for _ in 0..<2 {
                guard position < text.count, case UInt8(ascii: "0")...UInt8(ascii: "7") = text[position] else { break }
                value = value << 3 | UInt16(text[position] - UInt8(ascii: "0"))
                position += 1
            }
            guard value < 0x80 else { throw malformed("an octal escape above 177") }
            return value
        default: throw malformed("an unknown escape")
        }
    }
}
