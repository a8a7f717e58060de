/// Finds YAML features that make composing slow, before the file is composed.
///
/// Yams compares the keys of an object. A key that is itself a list is walked once for each level, and a key of nested
/// aliases doubles with each level. The scan lets a few of them pass, because the parser then refuses them with an
/// exact message. It can mistake text in quotes or blocks for a key or alias, which matters only in a large file with
/// many.
enum YAMLHazards {
    static let references =
        "anchors (&) and aliases (*) are not supported; write the value out, or put the text in quotes"
    static let keys = "a key must be plain text"

    /// The most bytes to walk: the file's bytes, and once more for each key that could be a list or an object.
    private static let budget = 16 << 20
    private static let indicators = Set("-:?,[{".utf8)

    /// The line that exceeds the limit, with a message; nil when none does.
    static func find(_ bytes: [UInt8]) -> (line: Int, message: String)? {
        var (anchors, aliases, keys, line, lineStart) = (0, 0, 0, 1, 0)
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "\n"):
                line += 1
                lineStart = index + 1
            case UInt8(ascii: "\r"): lineStart = index + 1
            case UInt8(ascii: "&") where startsNode(bytes, index, lineStart): anchors += 1
            case UInt8(ascii: "*") where startsNode(bytes, index, lineStart): aliases += 1
            case UInt8(ascii: "?") where followedBySpace(bytes, index): keys += 1
            case UInt8(ascii: ":") where followsBracket(bytes, index): keys += 1
            default: continue
            }
            if anchors > 0, aliases > 4 { return (line, references) }
            let walks = 1 + keys + (anchors > 0 && aliases > 0 ? 8 : 0)
            if walks > 1, walks * bytes.count > budget { return (line, keys > 0 ? self.keys : references) }
        }
        return nil
    }

    /// A literal in double quotes, with escapes for all characters that ``find(_:)`` would count.
    static func escaped(_ literal: String) -> String {
        let bytes = Array(literal.utf8)
        var result: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            let isHazard =
                switch byte {
                case UInt8(ascii: "&"), UInt8(ascii: "*"): startsNode(bytes, index, 0)
                case UInt8(ascii: "?"): followedBySpace(bytes, index)
                case UInt8(ascii: ":"): followsBracket(bytes, index)
                default: false
                }
            if isHazard {
                result += "\\u00\(String(byte, radix: 16, uppercase: true))".utf8
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Whether an anchor or alias could start here: at the start of a line, or after an indicator, a tag or an anchor.
    private static func startsNode(_ bytes: [UInt8], _ index: Int, _ lineStart: Int) -> Bool {
        guard !followedBySpace(bytes, index) else { return false }
        var position = index - 1
        while position >= lineStart, isSpace(bytes[position]) { position -= 1 }
        guard position >= lineStart else { return true }
        if indicators.contains(bytes[position]) { return true }
        // Go to the first character of the previous word, up to the longest tag.
        let limit = max(lineStart, position - 128)
        while position > limit, !isSpace(bytes[position - 1]) { position -= 1 }
        return bytes[position] == UInt8(ascii: "!") || bytes[position] == UInt8(ascii: "&")
    }

    private static func followedBySpace(_ bytes: [UInt8], _ index: Int) -> Bool {
        index + 1 >= bytes.count || isSpace(bytes[index + 1])
    }

    private static func followsBracket(_ bytes: [UInt8], _ index: Int) -> Bool {
        var position = index - 1
        while position >= 0, index - position < 1024, isSpace(bytes[position]) { position -= 1 }
        return position >= 0 && (bytes[position] == UInt8(ascii: "]") || bytes[position] == UInt8(ascii: "}"))
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
