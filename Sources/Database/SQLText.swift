import Foundation
import Synchronization

/// A parsed statement: its kind, its number of arguments, and its text for each engine.
struct SQLText: Sendable {
    /// The kind of a statement.
    enum Kind: Sendable {
        /// Reads or changes rows. Its prepared form is kept.
        case data
        /// Changes tables, and runs once.
        case definition
    }

    let kind: Kind
    /// The text as it was written, with `$1`, without SQLite's `WITHOUT ROWID`.
    let postgresql: String
    /// The text with `?1`. SQLite would read `$1` as a name, and number names by their first appearance.
    let sqlite: String
    /// The number of the highest placeholder.
    let placeholders: Int

    /// Removes `WITHOUT ROWID`, which PostgreSQL does not have. At the end of a table it makes SQLite keep the rows in
    /// the order of the primary key, in one tree instead of two (https://www.sqlite.org/withoutrowid.html).
    private static func withoutRowID(_ text: String) -> String {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let words = "WITHOUT ROWID"
        return trimmed.hasSuffix(words) ? String(trimmed.dropLast(words.count)) : text
    }

    /// Reads a statement.
    ///
    /// - Throws: ``DatabaseError/Code/invalidSQL`` for a kind of statement that is not allowed (only the module begins
    ///   and ends transactions) and for a placeholder outside `$1`…`$999`.
    init(_ text: String) throws(DatabaseError) {
        let source = Array(text.utf8)
        // Without placeholders, the text stays as it is, and only its first word is read.
        let hasPlaceholders = source.contains(UInt8(ascii: "$"))
        var reader = SQLTextReader(source)
        try reader.read(all: hasPlaceholders)
        postgresql = Self.withoutRowID(text)
        sqlite = hasPlaceholders ? String(decoding: reader.rewritten, as: UTF8.self) : text
        placeholders = reader.placeholders
        switch reader.keyword {
        case "SELECT", "VALUES", "WITH", "INSERT", "UPDATE", "DELETE":
            kind = .data
        case "CREATE", "ALTER", "DROP":
            kind = .definition
        default:
            throw DatabaseError(
                .invalidSQL,
                "a statement begins with \"\(reader.keyword.prefix(20))\"; only statements on rows and tables are allowed"
            )
        }
    }
}

/// Reads a statement and rewrites `$n` outside quotes and comments.
private struct SQLTextReader {
    private let source: [UInt8]
    private var index = 0
    private(set) var rewritten: [UInt8] = []
    private(set) var placeholders = 0
    /// The first word, in capitals.
    private(set) var keyword = ""

    init(_ source: [UInt8]) {
        self.source = source
        rewritten.reserveCapacity(source.count)
    }

    /// Reads the whole statement, or only as far as its first word.
    mutating func read(all: Bool) throws(DatabaseError) {
        while all || keyword.isEmpty, let byte = peek() {
            switch byte {
            case UInt8(ascii: "'"), UInt8(ascii: "\""): copyQuoted(until: byte)
            case UInt8(ascii: "-") where peek(1) == byte: copy(while: { $0 != UInt8(ascii: "\n") })
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"): copyBlockComment()
            case UInt8(ascii: "$") where peek(1).map(Self.isDigit) == true: try rewritePlaceholder()
            case _ where Self.isWordStart(byte): copyWord()
            default: copyOne()
            }
        }
    }

    private func peek(_ distance: Int = 0) -> UInt8? {
        index + distance < source.count ? source[index + distance] : nil
    }

    private mutating func copyOne() {
        rewritten.append(source[index])
        index += 1
    }

    private mutating func copy(while condition: (UInt8) -> Bool) {
        while let byte = peek(), condition(byte) { copyOne() }
    }

    /// Reads a doubled quote as the end of one string and the start of the next, which copies the same bytes.
    private mutating func copyQuoted(until quote: UInt8) {
        copyOne()
        copy(while: { $0 != quote })
        if peek() != nil { copyOne() }
    }

    private mutating func copyBlockComment() {
        copyOne()
        copyOne()
        while peek() != nil, !(peek() == UInt8(ascii: "*") && peek(1) == UInt8(ascii: "/")) { copyOne() }
        if peek() != nil { copyOne() }
        if peek() != nil { copyOne() }
    }

    /// Copies a word with each `$` in it, which PostgreSQL allows inside names.
    private mutating func copyWord() {
        let start = index
        copy(while: { Self.isWordStart($0) || Self.isDigit($0) || $0 == UInt8(ascii: "$") })
        if keyword.isEmpty {
            keyword = String(decoding: source[start..<index], as: UTF8.self).uppercased()
        }
    }

    private mutating func rewritePlaceholder() throws(DatabaseError) {
        rewritten.append(UInt8(ascii: "?"))
        index += 1
        var number = 0
        while let byte = peek(), Self.isDigit(byte) {
            number = min(number * 10 + Int(byte - UInt8(ascii: "0")), 10_000)
            copyOne()
        }
        guard (1...999).contains(number) else {
            throw DatabaseError(.invalidSQL, "a placeholder is outside $1 to $999")
        }
        placeholders = max(placeholders, number)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isWordStart(_ byte: UInt8) -> Bool {
        let letter = byte | 0x20
        return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter) || byte == UInt8(ascii: "_") || byte >= 0x80
    }
}

/// The parsed statements, shared by the threads of one database.
final class SQLTextCache: Sendable {
    /// The greatest number of statements kept. Without a limit, a program that composes its texts would grow the cache
    /// without bound.
    static let capacity = 1024

    private let texts = Mutex<[String: SQLText]>([:])

    /// The parsed statement, and whether the cache keeps it, so that its prepared form may be kept too.
    func text(_ sql: String) throws(DatabaseError) -> (text: SQLText, isKept: Bool) {
        if let known = texts.withLock({ $0[sql] }) { return (known, true) }
        let text = try SQLText(sql)
        guard text.kind == .data else { return (text, false) }
        let isKept = texts.withLock { texts in
            guard texts.count < Self.capacity else { return false }
            texts[sql] = text
            return true
        }
        return (text, isKept)
    }
}
