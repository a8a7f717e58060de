/// One argument of a statement, checked for what both engines can keep.
struct SQLArgument {
    /// The longest text or bytes that a statement takes; far above any receipt, far below what the engines refuse.
    static let longest = 64 << 20

    let value: SQLValue
    /// The type to declare to PostgreSQL; nil when only the server can know.
    let type: SQLType?

    init(_ argument: any SQLConvertible, position: Int) throws(DatabaseError) {
        value = argument.sqlValue
        switch value {
        case .null:
            type = Swift.type(of: argument).sqlType
        case .integer:
            type = .integer
        case .boolean:
            type = .boolean
        case .bytes(let bytes):
            type = .bytes
            try Self.check(length: bytes.count, position)
        case .text(let text):
            type = .text
            try Self.check(length: text.utf8.count, position)
            // PostgreSQL refuses U+0000 and SQLite would cut the text there when it is read.
            if text.utf8.contains(0) {
                throw DatabaseError(
                    .invalidValue, "argument $\(position) is a text with U+0000 in it; it cannot be stored")
            }
        }
    }

    private static func check(length: Int, _ position: Int) throws(DatabaseError) {
        guard length <= longest else {
            throw DatabaseError(.invalidValue, "argument $\(position) is longer than \(longest) bytes")
        }
    }
}
