/// Writes a JSON value as block-style YAML 1.2 that ``YAMLParser`` reads back as the same value.
enum YAMLText {
    /// Writes a value. `order` lists the keys that come first in each object; the others follow by name.
    static func text(of value: JSONValue, order: [String]) -> String {
        let ranks = Dictionary(order.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        var lines: [String] = []
        write(value, prefix: "", indentation: "", ranks, &lines)
        return lines.joined(separator: "\n") + "\n"
    }

    /// Writes a value with `prefix` before its first line and `indentation` before the others.
    private static func write(
        _ value: JSONValue, prefix: String, indentation: String, _ ranks: [String: Int], _ lines: inout [String]
    ) {
        switch value {
        case .array(let elements) where !elements.isEmpty:
            if prefix.hasSuffix(":") { lines.append(prefix) }
            var lead = prefix.hasSuffix(":") ? indentation : prefix
            for element in elements {
                write(element, prefix: lead + "- ", indentation: indentation + "  ", ranks, &lines)
                lead = indentation
            }
        case .object(let members) where !members.isEmpty:
            if prefix.hasSuffix(":") { lines.append(prefix) }
            var lead = prefix.hasSuffix(":") ? indentation : prefix
            let last = ranks.count
            for (key, member) in members.sorted(by: {
                (ranks[$0.key] ?? last, $0.key) < (ranks[$1.key] ?? last, $1.key)
            }) {
                write(member, prefix: lead + scalar(key) + ":", indentation: indentation + "  ", ranks, &lines)
                lead = indentation
            }
        default:
            lines.append(prefix + (prefix.hasSuffix(":") ? " " : "") + scalar(value))
        }
    }

    private static func scalar(_ value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool(let flag): String(flag)
        case .number(let literal): literal
        case .string(let text): scalar(text)
        case .array: "[]"
        case .object: "{}"
        }
    }

    /// The text without quotes if every YAML reader takes it for text, else in double quotes.
    private static func scalar(_ text: String) -> String {
        isPlain(text) ? text : YAMLHazards.escaped(JSONValue.quoted(text))
    }

    /// Words that YAML 1.1 readers take for booleans or null.
    private static let reserved: Set<String> = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]

    private static let marks = Set(" ._-".utf8)

    private static func isPlain(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 80, text.utf8.last != 0x20, isLetter(first),
            !reserved.contains(text.lowercased())
        else { return false }
        return text.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || marks.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
    }
}
