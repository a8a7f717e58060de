import Foundation
internal import GRDBSQLite

/// A prepared statement. It must be let go before its connection is closed.
final class SQLiteStatement {
    /// Tells SQLite to copy what it is given (https://www.sqlite.org/c3ref/c_static.html).
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private let connection: OpaquePointer
    private let handle: OpaquePointer
    private let placeholders: Int

    /// Prepares the one statement in a text written with `?1`.
    ///
    /// - Parameter isKept: whether it will be run often.
    init(_ sql: String, on connection: OpaquePointer, placeholders: Int, isKept: Bool) throws(DatabaseError) {
        var handle: OpaquePointer?
        var hasMore = false
        let code = sql.withCString { text in
            var rest: UnsafePointer<CChar>?
            let code = sqlite3_prepare_v3(
                connection, text, -1, isKept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0, &handle, &rest)
            if code == SQLITE_OK { hasMore = Self.isStatement(rest, connection) }
            return code
        }
        guard code == SQLITE_OK else { throw Self.failure(code, connection) }
        guard let handle, !hasMore else {
            sqlite3_finalize(handle)
            let found = hasMore ? "more" : "none"
            throw DatabaseError(.invalidSQL, "a text holds one statement, and this one has \(found)")
        }
        self.connection = connection
        self.handle = handle
        self.placeholders = placeholders
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Whether there is more than spaces and comments; what SQLite cannot read is more, too.
    private static func isStatement(_ text: UnsafePointer<CChar>?, _ connection: OpaquePointer) -> Bool {
        guard let text, text.pointee != 0 else { return false }
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(connection, text, -1, 0, &handle, nil)
        sqlite3_finalize(handle)
        return code != SQLITE_OK || handle != nil
    }

    /// Gives the statement its arguments.
    ///
    /// - Throws: ``DatabaseError``: `invalidSQL` when their number is wrong, `invalidValue` for what cannot be kept.
    func bind(_ arguments: [any SQLConvertible]) throws(DatabaseError) {
        guard arguments.count == placeholders else {
            throw SQLText.wrongCount(placeholders: placeholders, arguments: arguments.count)
        }
        var position: Int32 = 0
        for argument in arguments {
            position += 1
            let value = argument.sqlValue
            try SQLArgument.check(value, position: Int(position))
            let code = bind(value, position)
            guard code == SQLITE_OK else { throw Self.failure(code, connection) }
        }
    }

    private func bind(_ value: SQLValue, _ position: Int32) -> Int32 {
        switch value {
        case .null:
            return sqlite3_bind_null(handle, position)
        case .integer(let integer):
            return sqlite3_bind_int64(handle, position, integer)
        case .boolean(let boolean):
            return sqlite3_bind_int64(handle, position, boolean ? 1 : 0)
        case .text(let text):
            return SQLArgument.withBytes(of: text) { bytes in
                bytes.withMemoryRebound(to: CChar.self) { characters in
                    // No address at all would be a null, and a text has none only when it is empty.
                    guard let start = characters.baseAddress else {
                        return sqlite3_bind_text(handle, position, "", 0, Self.transient)
                    }
                    return sqlite3_bind_text(handle, position, start, Int32(characters.count), Self.transient)
                }
            }
        case .bytes(let bytes):
            if bytes.isEmpty { return sqlite3_bind_zeroblob(handle, position, 0) }
            return bytes.withUnsafeBytes {
                sqlite3_bind_blob(handle, position, $0.baseAddress, Int32($0.count), Self.transient)
            }
        }
    }

    /// Runs the statement up to its next row; false when it is done.
    func step() throws(DatabaseError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw Self.failure(code, connection)
        }
    }

    /// Makes the statement ready to be run again, and forgets its arguments.
    func reset() {
        // The answer repeats the failure of the last step.
        sqlite3_reset(handle)
        if placeholders > 0 { sqlite3_clear_bindings(handle) }
    }

    /// The row on which the statement stands.
    func row() throws(DatabaseError) -> Row {
        let count = sqlite3_data_count(handle)
        var values: [SQLValue] = []
        values.reserveCapacity(Int(count))
        for column in 0..<count { values.append(try value(column)) }
        return Row(values)
    }

    private func value(_ column: Int32) throws(DatabaseError) -> SQLValue {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_NULL:
            return .null
        case SQLITE_INTEGER:
            return .integer(sqlite3_column_int64(handle, column))
        case SQLITE_FLOAT:
            throw DatabaseError(.columnType, "column \(column) is a fraction; only integers are kept")
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(handle, column)
            let count = Int(sqlite3_column_bytes(handle, column))
            return .bytes([UInt8](UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)))
        default:
            guard let start = sqlite3_column_text(handle, column) else {
                throw DatabaseError(.unavailable, "SQLite has no memory for a text")
            }
            let count = Int(sqlite3_column_bytes(handle, column))
            return .text(String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self))
        }
    }

    private static func failure(_ code: Int32, _ connection: OpaquePointer) -> DatabaseError {
        DatabaseError(sqlite: code, message: sqlite3_errmsg(connection).map { String(cString: $0) })
    }
}
