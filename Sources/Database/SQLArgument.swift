import Foundation

/// One argument of a statement, checked so that both engines can store it.
struct SQLArgument {
    /// The greatest size of a text or of bytes: far above any receipt, and far below the engines' own limits.
    static let longest = 64 << 20

    let value: SQLValue
    /// The type to declare to PostgreSQL; nil when the server infers it.
    let type: SQLType?

    init(_ argument: any SQLConvertible, position: Int) throws(DatabaseError) {
        value = argument.sqlValue
        type =
            switch value {
            case .null: Swift.type(of: argument).sqlType
            case .integer: .integer
            case .boolean: .boolean
            case .bytes: .bytes
            case .text: .text
            }
        try Self.check(value, position: position)
    }

    /// Checks the arguments of a statement.
    static func all(_ arguments: [any SQLConvertible]) throws(DatabaseError) -> [SQLArgument] {
        var checked: [SQLArgument] = []
        checked.reserveCapacity(arguments.count)
        for argument in arguments {
            checked.append(try SQLArgument(argument, position: checked.count + 1))
        }
        return checked
    }

    /// Checks that both engines can store a value.
    static func check(_ value: SQLValue, position: Int) throws(DatabaseError) {
        switch value {
        case .null, .integer, .boolean:
            break
        case .bytes(let bytes):
            try check(length: bytes.count, position)
        case .text(let text):
            try check(length: text.utf8.count, position)
            // PostgreSQL refuses U+0000, and SQLite would end the text there when it is read.
            guard !withBytes(of: text, Self.hasNul) else {
                throw DatabaseError(
                    .invalidValue, "argument $\(position) contains U+0000, which a text cannot store")
            }
        }
    }

    /// Calls `body` with a text's bytes in UTF-8, in place where possible, otherwise with a copy.
    static func withBytes<T>(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> T) -> T {
        text.utf8.withContiguousStorageIfAvailable(body) ?? Array(text.utf8).withUnsafeBufferPointer(body)
    }

    private static func hasNul(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let start = bytes.baseAddress else { return false }
        return memchr(start, 0, bytes.count) != nil
    }

    private static func check(length: Int, _ position: Int) throws(DatabaseError) {
        guard length <= longest else {
            throw DatabaseError(.invalidValue, "argument $\(position) is longer than \(longest) bytes")
        }
    }
}
