/// Reads the XML of a xar archive's table of contents: elements, attributes and text in UTF-8.
///
/// It does not support document types, so that no entity can expand and no address is fetched. The size of its input is
/// already limited.
struct XMLReader {
    enum Token {
        case start(String, attributes: [String: String], isEmpty: Bool)
        case end(String)
        case text([UInt8])
    }

    /// An error in the XML: the reason and the offset.
    struct Malformed: Error {
        var reason: String
        var offset: Int
    }

    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads the next token; nil at the end.
    /// - Throws: ``Malformed``.
    mutating func next() throws -> Token? {
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "<") else { return .text(try text()) }
            guard index + 1 < bytes.count else { throw malformed("a tag is cut off") }
            switch bytes[index + 1] {
            case UInt8(ascii: "?"): try skip(past: "?>")
            case UInt8(ascii: "!"):
                if follows("<!--") {
                    try skip(past: "-->")
                } else if follows("<![CDATA[") {
                    return .text(try literal())
                } else {
                    throw malformed("a document type is declared, which is not supported")
                }
            case UInt8(ascii: "/"): return try end()
            default: return try start()
            }
        }
        return nil
    }

    private func malformed(_ reason: String) -> Malformed { Malformed(reason: reason, offset: index) }

    private func follows(_ text: StaticString) -> Bool {
        guard index + text.utf8CodeUnitCount <= bytes.count else { return false }
        for place in 0..<text.utf8CodeUnitCount where bytes[index + place] != text.utf8Start[place] { return false }
        return true
    }

    private mutating func skip(past text: StaticString) throws {
        while index < bytes.count {
            if follows(text) {
                index += text.utf8CodeUnitCount
                return
            }
            index += 1
        }
        throw malformed("the text ends within a comment or an instruction")
    }

    private mutating func text() throws -> [UInt8] {
        let start = index
        while index < bytes.count, bytes[index] != UInt8(ascii: "<") { index += 1 }
        return try resolved(start..<index)
    }

    private mutating func literal() throws -> [UInt8] {
        let start = index + 9
        try skip(past: "]]>")
        return Array(bytes[start..<(index - 3)])
    }

    private mutating func end() throws -> Token {
        index += 2
        let name = try name()
        skipSpace()
        guard index < bytes.count, bytes[index] == UInt8(ascii: ">") else { throw malformed("a tag is not closed") }
        index += 1
        return .end(name)
    }

    private mutating func start() throws -> Token {
        index += 1
        let name = try name()
        var attributes: [String: String] = [:]
        while true {
            skipSpace()
            guard index < bytes.count else { throw malformed("the text ends within a tag") }
            if bytes[index] == UInt8(ascii: ">") {
                index += 1
                return .start(name, attributes: attributes, isEmpty: false)
            }
            if follows("/>") {
                index += 2
                return .start(name, attributes: attributes, isEmpty: true)
            }
            let (key, value) = try attribute()
            guard attributes.count < 32, attributes.updateValue(value, forKey: key) == nil else {
                throw malformed("an element has an attribute twice, or too many")
            }
        }
    }

    private mutating func attribute() throws -> (String, String) {
        let key = try name()
        skipSpace()
        guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else {
            throw malformed("an attribute has no value")
        }
        index += 1
        skipSpace()
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'") else {
            throw malformed("an attribute's value is not quoted")
        }
        let quote = bytes[index]
        index += 1
        let start = index
        while index < bytes.count, bytes[index] != quote, bytes[index] != UInt8(ascii: "<") { index += 1 }
        guard index < bytes.count, bytes[index] == quote else { throw malformed("an attribute's value is not closed") }
        let value = String(decoding: try resolved(start..<index), as: UTF8.self)
        index += 1
        return (key, value)
    }

    private mutating func name() throws -> String {
        let start = index
        while index < bytes.count, Self.isNameByte(bytes[index]) { index += 1 }
        guard (1...64).contains(index - start) else { throw malformed("a tag has no name, or one that is too long") }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func skipSpace() {
        while index < bytes.count, Self.isSpace(bytes[index]) { index += 1 }
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    // MARK: References

    /// The bytes with character references such as `&amp;` replaced.
    private func resolved(_ range: Range<Int>) throws -> [UInt8] {
        guard bytes[range].contains(UInt8(ascii: "&")) else { return Array(bytes[range]) }
        var result: [UInt8] = []
        var place = range.lowerBound
        while place < range.upperBound {
            guard bytes[place] == UInt8(ascii: "&") else {
                result.append(bytes[place])
                place += 1
                continue
            }
            guard let end = bytes[place..<min(range.upperBound, place + 12)].firstIndex(of: UInt8(ascii: ";")),
                let character = Self.character(String(decoding: bytes[(place + 1)..<end], as: UTF8.self))
            else { throw Malformed(reason: "an entity is used, which is not supported", offset: place) }
            result += Array(String(character).utf8)
            place = end + 1
        }
        return result
    }

    private static func character(_ reference: String) -> Unicode.Scalar? {
        switch reference {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard reference.hasPrefix("#") else { return nil }
            let isHexadecimal = reference.hasPrefix("#x")
            let number = UInt32(reference.dropFirst(isHexadecimal ? 2 : 1), radix: isHexadecimal ? 16 : 10)
            return number.flatMap(Unicode.Scalar.init)
        }
    }
}
