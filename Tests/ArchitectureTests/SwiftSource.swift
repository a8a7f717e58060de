import Foundation

/// A Swift file cut into lines, once as it stands and once with comments and the text of string literals blanked out,
/// so that a word in a sentence is not taken for code. Line numbers are the same in both.
struct SwiftSource: Sendable {
    let path: String
    let lines: [Substring]
    let code: [Substring]

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var scanner = Blanker(text: Array(text.utf8))
        let blanked = String(decoding: scanner.blanked(), as: UTF8.self)
        code = blanked.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// The modules that the file imports, with their line numbers (from 1).
    var imports: [(module: String, line: Int, attributes: String)] {
        code.enumerated().compactMap { index, line in
            guard line.contains("import "), let match = line.wholeMatch(of: Self.importPattern) else { return nil }
            return (String(match.2), index + 1, String(match.1))
        }
    }

    /// The run of comment lines right above line `number` (from 1), attributes in between aside.
    func comment(above number: Int) -> String {
        var found: [Substring] = []
        for line in lines[..<(number - 1)].reversed() {
            let text = line.drop { $0 == " " }
            if text.hasPrefix("//") { found.append(text) } else if !text.hasPrefix("@") { break }
        }
        return found.joined(separator: " ")
    }

    private nonisolated(unsafe) static let importPattern =
        #/
        \s* ( (?: @[A-Za-z_]+ (?: \([^)]*\) )? \s+ )* (?: (?:public|package|internal|fileprivate|private) \s+ )? )
        import \s+ (?: (?:struct|class|enum|protocol|typealias|func|let|var) \s+ )?
        ( [A-Za-z_][A-Za-z0-9_]* ) .*
        /#
}

/// Walks Swift text just deep enough to know what is code: line and nested block comments, string literals of all four
/// kinds, interpolations.
private struct Blanker {
    let text: [UInt8]
    private var index = 0
    private var output: [UInt8] = []

    init(text: [UInt8]) { self.text = text }

    mutating func blanked() -> [UInt8] {
        code(untilParenthesis: false)
        return output
    }

    private static let beginnings = Array("/#\"()".utf8)

    private func sees(_ word: String, at offset: Int = 0) -> Bool {
        let start = index + offset
        return start + word.utf8.count <= text.count && text[start...].starts(with: word.utf8)
    }

    /// Copies a byte, or writes a space for it; line ends always stay.
    private mutating func take(_ count: Int = 1, keep: Bool) {
        for _ in 0..<count where index < text.count {
            output.append(keep || text[index] == UInt8(ascii: "\n") ? text[index] : UInt8(ascii: " "))
            index += 1
        }
    }

    private mutating func code(untilParenthesis: Bool) {
        var depth = 0
        while index < text.count {
            // Most bytes begin nothing.
            guard Self.beginnings.contains(text[index]) else {
                take(keep: true)
                if untilParenthesis, depth == 0 { return }
                continue
            }
            if sees("//") {
                while index < text.count, text[index] != UInt8(ascii: "\n") { take(keep: false) }
            } else if sees("/*") {
                blockComment()
            } else if let hashes = hashesBeforeQuote() {
                string(hashes: hashes)
            } else {
                if sees("(") { depth += 1 }
                if sees(")") { depth -= 1 }
                take(keep: true)
                if untilParenthesis, depth == 0 { return }
            }
        }
    }

    private mutating func blockComment() {
        var depth = 0
        repeat {
            if sees("/*") {
                depth += 1
                take(2, keep: false)
            } else if sees("*/") {
                depth -= 1
                take(2, keep: false)
            } else {
                take(keep: false)
            }
        } while depth > 0 && index < text.count
    }

    private func hashesBeforeQuote() -> Int? {
        var count = 0
        while sees("#", at: count) { count += 1 }
        return sees("\"", at: count) ? count : nil
    }

    private mutating func string(hashes: Int) {
        let hash = String(repeating: "#", count: hashes)
        take(hashes, keep: false)
        let quote = sees("\"\"\"") ? "\"\"\"" : "\""
        take(quote.utf8.count, keep: true)
        while index < text.count {
            if sees(quote + hash) {
                take(quote.utf8.count, keep: true)
                take(hashes, keep: false)
                return
            }
            if sees("\\" + hash + "(") {
                take(1 + hashes, keep: false)
                code(untilParenthesis: true)
            } else if sees("\\" + hash) {
                take(2 + hashes, keep: false)
            } else if quote.utf8.count == 1, sees("\n") {
                return
            } else {
                take(keep: false)
            }
        }
    }
}
