/// A JSON value that is preserved without interpretation. A number keeps the digits from the file, so that writing it
/// loses nothing.
public indirect enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number as its literal, such as `1003` or `0.10`, in the grammar of RFC 8259.
    case number(String)
    /// A string, without quotes or escapes.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object. The order of its members is not kept.
    case object([String: JSONValue])

    /// The text in the layout of Xcode's `.storekit` files: keys sorted without regard to case, two spaces for each
    /// level, `"key" : value`, and a blank line in empty objects and arrays.
    public var xcodeText: String {
        var text = ""
        write(into: &text, indentation: "")
        return text + "\n"
    }

    private func write(into text: inout String, indentation: String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .number(let literal): text += literal
        case .string(let value): text += Self.quoted(value)
        case .array(let elements):
            Self.writeBlock(into: &text, "[", "]", elements, indentation) { element, text, inner in
                element.write(into: &text, indentation: inner)
            }
        case .object(let members):
            let sorted = members.sorted { ($0.key.lowercased(), $0.key) < ($1.key.lowercased(), $1.key) }
            Self.writeBlock(into: &text, "{", "}", sorted, indentation) { member, text, inner in
                text += Self.quoted(member.key) + " : "
                member.value.write(into: &text, indentation: inner)
            }
        }
    }

    private static func writeBlock<Element>(
        into text: inout String, _ open: String, _ close: String, _ elements: [Element], _ indentation: String,
        _ writeElement: (Element, inout String, String) -> Void
    ) {
        let inner = indentation + "  "
        text += open + "\n"
        for (index, element) in elements.enumerated() {
            text += inner
            writeElement(element, &text, inner)
            text += index + 1 < elements.count ? ",\n" : ""
        }
        text += "\n" + indentation + close
    }

    /// The string as a JSON literal that is also a YAML double-quoted scalar. Escapes all characters that YAML cannot
    /// print.
    static func quoted(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default:
                if isPrinted(scalar) { text.unicodeScalars.append(scalar) } else { text += escape(scalar) }
            }
        }
        return text + "\""
    }

    /// YAML 1.2's printable characters, without its line breaks and the byte order mark.
    private static func isPrinted(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20...0x7E, 0xA0...0x2027, 0x202A...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x10000...0x10FFFF: true
        default: false
        }
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
