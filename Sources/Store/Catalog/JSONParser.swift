import CornerstoreEncoding

/// Parses JSON (RFC 8259) and records the place of each value. Limits depth and number of values, and refuses duplicate
/// keys.
struct JSONParser {
    private let bytes: [UInt8]
    private let file: String
    private var index = 0
    private var line = 1
    /// A place in the line with a known column, so that columns in long lines are not counted from the start each time.
    private var counted = (index: 0, column: 1)
    private var values = 0

    /// Parses one UTF-8 document, with or without a byte order mark.
    static func parse(_ bytes: [UInt8], file: String) throws(CatalogError) -> SourceNode {
        var parser = JSONParser(bytes: bytes, file: file)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            parser.index = 3
            parser.counted.index = 3
        }
        let root = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.index == bytes.count else { throw parser.error("there is more after the end of the document") }
        return root
    }

    private init(bytes: [UInt8], file: String) {
        self.bytes = bytes
        self.file = file
    }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    /// The current column in characters, from 1. Counts the bytes that are not UTF-8 continuation bytes.
    private var column: Int { counted.column + bytes[min(counted.index, index)..<index].count { $0 & 0xC0 != 0x80 } }

    private func error(_ message: String, code: CatalogError.Code = .syntax) -> CatalogError {
        CatalogError(
            code: code,
            problems: [CatalogProblem(file: file, line: line, column: column, keyPath: "", message: message)]
        )
    }

    private func unexpected(_ wanted: String) -> CatalogError {
        guard let next else { return error("expected \(wanted), found the end of the file") }
        let shown = (0x21...0x7E).contains(next) ? "\"\(Character(Unicode.Scalar(next)))\"" : "byte \(next)"
        return error("expected \(wanted), found \(shown)")
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            index += 1
            if byte == 0x0A {
                line += 1
                counted = (index, 1)
            }
        }
    }

    private mutating func value(depth: Int) throws(CatalogError) -> SourceNode {
        skipSpace()
        values += 1
        guard values <= CatalogLimits.values else {
            throw error("more than \(CatalogLimits.values) values in one file", code: .tooLarge)
        }
        counted = (index, column)
        let (line, column) = (line, counted.column)
        return SourceNode(content: try content(depth: depth), line: line, column: column)
    }

    private mutating func content(depth: Int) throws(CatalogError) -> SourceNode.Content {
        switch next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"):
            try word("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try word("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try word("null")
            return .null
        case let byte? where JSONNumber.characters.contains(byte): return .number(try number())
        default: throw unexpected("a value")
        }
    }

    private mutating func word(_ word: StaticString) throws(CatalogError) {
        let text = "\(word)"
        guard bytes[index...].starts(with: text.utf8) else { throw unexpected("\"\(text)\"") }
        index += text.utf8.count
    }

    private func checkDepth(_ depth: Int) throws(CatalogError) {
        guard depth <= CatalogLimits.depth else {
            throw error("more than \(CatalogLimits.depth) levels of arrays and objects", code: .tooLarge)
        }
    }

    private mutating func array(depth: Int) throws(CatalogError) -> [SourceNode] {
        try checkDepth(depth)
        index += 1
        var elements: [SourceNode] = []
        skipSpace()
        if next == UInt8(ascii: "]") {
            index += 1
            return elements
        }
        while true {
            elements.append(try value(depth: depth))
            guard try separator(end: UInt8(ascii: "]"), "\",\" or \"]\"") else { return elements }
        }
    }

    private mutating func object(depth: Int) throws(CatalogError) -> [SourceNode.Member] {
        try checkDepth(depth)
        index += 1
        var members: [SourceNode.Member] = []
        var keys: Set<String> = []
        skipSpace()
        if next == UInt8(ascii: "}") {
            index += 1
            return members
        }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw unexpected("a key in quotes") }
            let keyLine = line
            let key = try string()
            guard key.utf8.count <= CatalogLimits.key else {
                throw error("a key has \(key.utf8.count) bytes; at most \(CatalogLimits.key) are read")
            }
            guard keys.insert(key).inserted else {
                throw error("the key \"\(key.prefix(40))\" appears twice in one object")
            }
            skipSpace()
            guard next == UInt8(ascii: ":") else { throw unexpected("\":\"") }
            index += 1
            members.append(SourceNode.Member(key: key, line: keyLine, value: try value(depth: depth)))
            guard try separator(end: UInt8(ascii: "}"), "\",\" or \"}\"") else { return members }
        }
    }

    /// Consumes a comma and returns true, or the end and returns false.
    private mutating func separator(end: UInt8, _ wanted: String) throws(CatalogError) -> Bool {
        skipSpace()
        guard next == UInt8(ascii: ",") || next == end else { throw unexpected(wanted) }
        defer { index += 1 }
        return next != end
    }

    private mutating func number() throws(CatalogError) -> String {
        let start = index
        while let byte = next, JSONNumber.characters.contains(byte) { index += 1 }
        let literal = String(decoding: bytes[start..<index], as: UTF8.self)
        guard JSONNumber.isLiteral(literal) else {
            index = start
            throw error("\"\(literal.prefix(40))\" is not a number of JSON")
        }
        return literal
    }

    private mutating func string() throws(CatalogError) -> String {
        index += 1
        var characters: [UInt8] = []
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                guard let string = String(validating: characters, as: UTF8.self) else {
                    throw error("the string before this is not UTF-8")
                }
                return string
            case UInt8(ascii: "\\"):
                characters.append(contentsOf: String(try escape()).utf8)
            case 0..<0x20:
                throw error("a string contains a control character; write it as an escape, or close the string")
            default:
                characters.append(byte)
                index += 1
            }
        }
        throw error("the file ends inside a string")
    }

    private mutating func escape() throws(CatalogError) -> Unicode.Scalar {
        index += 1
        guard let byte = next else { throw error("the file ends inside a string") }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw error("a string contains an escape that JSON does not have")
        }
    }

    private mutating func unicodeEscape() throws(CatalogError) -> Unicode.Scalar {
        let first = try hexadecimal()
        guard first & 0xFC00 == 0xD800 else {
            guard first != 0, let scalar = Unicode.Scalar(first) else {
                throw error("\\u escapes of NUL or of half a character are not allowed")
            }
            return scalar
        }
        guard bytes[index...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else {
            throw error("\\u escapes of NUL or of half a character are not allowed")
        }
        index += 2
        let second = try hexadecimal()
        guard second & 0xFC00 == 0xDC00,
            let scalar = Unicode.Scalar(0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF))
        else {
            throw error("\\u escapes of NUL or of half a character are not allowed")
        }
        return scalar
    }

    private mutating func hexadecimal() throws(CatalogError) -> UInt32 {
        guard let value = Hexadecimal.unit(bytes.span, at: index) else {
            throw error("four hexadecimal digits should follow \\u")
        }
        index += 4
        return UInt32(value)
    }
}

/// The grammar of numbers in JSON.
enum JSONNumber {
    static let characters = Set("+-.0123456789Ee".utf8)

    /// Whether `text` is one number, such as `-0.5e+3`, but not `01`, `.5`, `1.` or `+1`.
    static func isLiteral(_ text: String) -> Bool {
        var rest = Substring(text)
        guard rest.utf8.count <= 100 else { return false }
        if rest.first == "-" { rest.removeFirst() }
        let whole = digits(&rest)
        guard !whole.isEmpty, whole == "0" || whole.first != "0" else { return false }
        if rest.first == "." {
            rest.removeFirst()
            guard !digits(&rest).isEmpty else { return false }
        }
        if let letter = rest.first, letter == "e" || letter == "E" {
            rest.removeFirst()
            if let sign = rest.first, sign == "+" || sign == "-" { rest.removeFirst() }
            guard !digits(&rest).isEmpty else { return false }
        }
        return rest.isEmpty
    }

    private static func digits(_ text: inout Substring) -> Substring {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        text = text[digits.endIndex...]
        return digits
    }
}
