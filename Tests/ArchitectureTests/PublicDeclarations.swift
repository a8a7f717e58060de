/// What a Swift file declares for others, read from its text: enough of the grammar for declarations as the formatter
/// lays them out, one statement a line or wrapped inside its parentheses.
struct PublicDeclarations {
    struct Declaration: Equatable {
        /// The type that it is a member of, `SKProduct.PeriodUnit`; nil at the top level.
        var container: String?
        /// As ``canonical(_:)`` writes it.
        var text: String
        var path: String
        var line: Int
        /// The message of `@available(*, unavailable)`, its own or its type's.
        var unavailable: String?
        var isOverride: Bool
    }

    private(set) var declarations: [Declaration] = []

    init(_ source: SwiftSource) {
        var reader = Reader(source)
        reader.read()
        declarations = reader.found
    }

    /// A declaration without what does not matter to a caller: access, attributes, internal parameter names, default
    /// values, conformances after the first. `class` members are `static`.
    static func canonical(_ declaration: String) -> String {
        var text = declaration.replacing("`", with: "").replacing("any ", with: "")
        text = text.replacing(/@[A-Za-z]+(?:\(\*[^)]*\))?\s+/, with: "")
        text = text.replacing(/\bnonisolated(?:\([a-z]+\))?\s+|\s*\bwhere\b.*$/, with: "")
        text = text.replacing(
            /\b(?:public|open|override|final|weak|convenience|required|private\(set\)|indirect|mutating)\s+/, with: "")
        text = text.replacing(/\bclass\s+(?=func|var)/, with: "static ")
        text = text.replacing(/\s+/, with: " ")
        if let match = text.wholeMatch(of: /(class|struct|enum|protocol) ([A-Za-z.]+) ?(?:: ?([A-Za-z._]+).*)?/) {
            return "\(match.1) \(match.2)" + (match.3.map { ": \($0)" } ?? "")
        }
        if text.starts(with: /(?:static )?(?:var|let)\s/) {
            return text.replacing(#/\s?=\s?.*$/#, with: "").trimmed
        }
        guard text.starts(with: /(?:static )?(?:func|init)\b/), let open = text.firstIndex(of: "("),
            let close = closing(of: open, in: text)
        else { return text.trimmed }
        let parameters = split(text[text.index(after: open)..<close]).map { parameter -> String in
            guard let colon = parameter.firstIndex(of: ":") else { return String(parameter) }
            let label = parameter[..<colon].split(separator: " ").first.map(String.init) ?? ""
            let type = parameter[parameter.index(after: colon)...].replacing(#/\s=\s.*$/#, with: "")
            return "\(label): \(String(type).trimmed)"
        }
        let rest = String(text[text.index(after: close)...]).trimmed
        return "\(text[..<open])(\(parameters.joined(separator: ", ")))" + (rest.isEmpty ? "" : " \(rest)")
    }

    private static func closing(of open: String.Index, in text: String) -> String.Index? {
        var depth = 0
        for index in text[open...].indices {
            if text[index] == "(" { depth += 1 }
            if text[index] == ")" { depth -= 1 }
            if depth == 0 { return index }
        }
        return nil
    }

    /// At the commas that are in no parentheses or brackets.
    private static func split(_ list: Substring) -> [Substring] {
        var parts: [Substring] = []
        var depth = 0
        var start = list.startIndex
        for index in list.indices {
            switch list[index] {
            case "(", "[", "<": depth += 1
            case ")", "]": depth -= 1
            case ">" where index > list.startIndex && list[list.index(before: index)] != "-": depth -= 1
            case "," where depth == 0:
                parts.append(list[start..<index])
                start = list.index(after: index)
            default: break
            }
        }
        parts.append(list[start...])
        return parts.filter { !String($0).trimmed.isEmpty }
    }
}

private struct Reader {
    private enum Scope {
        case type(name: String, isPublicProtocol: Bool, isPublicEnum: Bool, unavailable: String?)
        case body
    }

    private let source: SwiftSource
    var found: [PublicDeclarations.Declaration] = []
    private var scopes: [Scope] = []
    /// UTF-8, as everything here: Swift's characters take seconds over the whole module.
    private var statement: [UInt8] = []
    private var firstLine = 0
    private var parentheses = 0
    /// Braces that were opened inside parentheses: a closure among the arguments.
    private var innerBraces = 0
    private var pending: String?

    init(_ source: SwiftSource) { self.source = source }

    mutating func read() {
        for (index, line) in source.code.enumerated() {
            for byte in line.utf8 { take(byte, line: index + 1) }
            endLine(index + 1)
        }
    }

    private var isInBody: Bool {
        if case .body? = scopes.last { return true }
        return false
    }

    private mutating func take(_ byte: UInt8, line: Int) {
        let isBrace = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}")
        if isBrace, innerBraces > 0 || parentheses > 0 {
            innerBraces += byte == UInt8(ascii: "{") ? 1 : -1
            return
        }
        switch byte {
        case UInt8(ascii: "{"):
            let scope = isInBody ? Scope.body : finish(line: line, opens: true)
            scopes.append(scope)
        case UInt8(ascii: "}"):
            statement = []
            _ = scopes.popLast()
        default:
            guard !isInBody else { return }
            if byte == UInt8(ascii: "(") || byte == UInt8(ascii: "[") { parentheses += 1 }
            if byte == UInt8(ascii: ")") || byte == UInt8(ascii: "]") { parentheses -= 1 }
            if statement.isEmpty {
                guard byte != UInt8(ascii: " ") else { return }
                firstLine = line
            }
            statement.append(byte)
        }
    }

    private mutating func endLine(_ line: Int) {
        guard !isInBody, !statement.isEmpty else { return }
        let next = line < source.code.count ? source.code[line].drop { $0 == " " } : ""
        let goesOn = parentheses > 0 || ["->", "{", "where", "async", "throws", "="].contains { next.hasPrefix($0) }
        if goesOn { statement.append(UInt8(ascii: " ")) } else { _ = finish(line: line, opens: false) }
    }

    /// Takes a whole statement; the scope that it opens when a brace follows.
    private mutating func finish(line: Int, opens: Bool) -> Scope {
        let text = String(decoding: statement, as: UTF8.self).trimmed
        statement = []
        guard !text.isEmpty else { return .body }
        if text.hasPrefix("@"), text.wholeMatch(of: /@[A-Za-z]+(?:\(.*\))?/) != nil {
            if text.contains("unavailable") { pending = message(from: firstLine, to: line) }
            return .body
        }
        defer { pending = nil }
        let words = text.replacing(/@[A-Za-z]+(?:\(\*[^)]*\))?\s+/, with: "")
        let isPublic = words.contains(/^(?:\S+ )*?(?:public|open)\b/)
        var outer: (name: String?, isPublicProtocol: Bool, isPublicEnum: Bool, unavailable: String?) = (
            nil, false, false, nil
        )
        if case .type(let name, let isPublicProtocol, let isPublicEnum, let unavailable)? = scopes.last {
            outer = (name, isPublicProtocol, isPublicEnum, unavailable)
        }
        let unavailable = pending ?? outer.unavailable
        let type = words.firstMatch(
            of:
                /^(?:(?:public|open|final|private|fileprivate|package|indirect) )*(class|struct|enum|protocol|extension|actor) (?!func\b|var\b)`?([A-Za-z_.]+)/
        )
        if isPublic || (outer.isPublicProtocol && type == nil) || (outer.isPublicEnum && words.hasPrefix("case ")) {
            found.append(
                .init(
                    container: outer.name, text: PublicDeclarations.canonical(text), path: source.path,
                    line: firstLine, unavailable: unavailable, isOverride: words.contains(/\boverride\b/)))
        }
        guard opens, let type else { return .body }
        let name = (outer.name.map { "\($0)." } ?? "") + type.2
        return .type(
            name: name, isPublicProtocol: isPublic && type.1 == "protocol", isPublicEnum: isPublic && type.1 == "enum",
            unavailable: unavailable)
    }

    private func message(from first: Int, to last: Int) -> String {
        let text = source.lines[(first - 1)..<last].joined(separator: " ")
        return text.firstMatch(of: /message:\s*"([^"]*)"/).map { String($0.1) } ?? ""
    }
}

extension String {
    /// Without spaces at both ends.
    fileprivate var trimmed: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
