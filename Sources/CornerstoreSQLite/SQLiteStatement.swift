internal import CornerstoreCSQLite

/// A prepared statement of a ``SQLiteConnection``.
///
/// The first argument has position 1 and the first column has index 0, as in SQLite.
public final class SQLiteStatement {
    /// The type of a column's value.
    public enum Kind: Sendable {
        case null
        case integer
        case fraction
        case text
        case bytes
    }

    /// Tells SQLite to copy an argument (https://www.sqlite.org/c3ref/c_static.html).
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private let connection: OpaquePointer
    private let handle: OpaquePointer
    /// The number of arguments that the statement takes.
    public let argumentCount: Int

    /// Prepares the one statement in a text.
    init(_ sql: String, on connection: OpaquePointer, isKept: Bool) throws(SQLiteError) {
        var handle: OpaquePointer?
        var hasMore = false
        let code = sql.withCString { text in
            var rest: UnsafePointer<CChar>?
            let code = sqlite3_prepare_v3(
                connection, text, -1, isKept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0, &handle, &rest)
            if code == SQLITE_OK { hasMore = Self.isStatement(rest, connection) }
            return code
        }
        guard code == SQLITE_OK else { throw SQLiteError(extended: code, on: connection) }
        guard let handle, !hasMore else {
            sqlite3_finalize(handle)
            throw SQLiteError(
                .invalidSQL, "the text holds \(hasMore ? "more than one" : "no") statement; exactly one is allowed")
        }
        self.connection = connection
        self.handle = handle
        argumentCount = Int(sqlite3_bind_parameter_count(handle))
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Whether a text holds more than spaces and comments. True for a text that SQLite cannot parse.
    private static func isStatement(_ text: UnsafePointer<CChar>?, _ connection: OpaquePointer) -> Bool {
        guard let text, text.pointee != 0 else { return false }
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(connection, text, -1, 0, &handle, nil)
        sqlite3_finalize(handle)
        return code != SQLITE_OK || handle != nil
    }

    // MARK: Arguments

    // An argument that is not set is null.

    /// Sets an argument to an integer.
    /// - Throws: ``SQLiteError``.
    public func bind(_ integer: Int64, at position: Int) throws(SQLiteError) {
        try check(sqlite3_bind_int64(handle, Int32(clamping: position), integer))
    }

    /// Sets an argument to a text.
    /// - Throws: ``SQLiteError``.
    public func bind(_ text: String, at position: Int) throws(SQLiteError) {
        let code = text.withBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                bind(characters, Int32(clamping: position))
            }
        }
        try check(code)
    }

    private func bind(_ characters: UnsafeBufferPointer<CChar>, _ position: Int32) -> Int32 {
        // An empty text may have no address, and SQLite binds null for a null pointer.
        guard let start = characters.baseAddress else {
            return sqlite3_bind_text64(handle, position, "", 0, Self.transient, UInt8(SQLITE_UTF8))
        }
        return sqlite3_bind_text64(
            handle, position, start, UInt64(characters.count), Self.transient, UInt8(SQLITE_UTF8))
    }

    /// Sets an argument to bytes.
    /// - Throws: ``SQLiteError``.
    public func bind(_ bytes: [UInt8], at position: Int) throws(SQLiteError) {
        let code =
            bytes.isEmpty
            ? sqlite3_bind_zeroblob(handle, Int32(clamping: position), 0)
            : bytes.withUnsafeBytes {
                sqlite3_bind_blob64(
                    handle, Int32(clamping: position), $0.baseAddress, UInt64($0.count), Self.transient)
            }
        try check(code)
    }

    // MARK: Running

    /// Runs the statement to its next row.
    ///
    /// - Returns: Whether there is a row. False when the statement has ended.
    /// - Throws: ``SQLiteError``.
    public func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw SQLiteError(extended: code, on: connection)
        }
    }

    /// Runs the statement to its end and resets it.
    ///
    /// - Returns: The number of rows inserted, updated or deleted; 0 for a statement that changes no rows.
    /// - Throws: ``SQLiteError``.
    @discardableResult
    public func run() throws(SQLiteError) -> Int {
        defer { reset() }
        // sqlite3_changes still has the count of an earlier statement when this one changes no rows.
        let before = sqlite3_total_changes(connection)
        while try step() {}
        return sqlite3_total_changes(connection) == before ? 0 : Int(sqlite3_changes(connection))
    }

    /// Prepares the statement for another run and sets its arguments to null.
    public func reset() {
        // The result repeats the failure of the last step.
        sqlite3_reset(handle)
        if argumentCount > 0 { sqlite3_clear_bindings(handle) }
    }

    // MARK: The current row

    /// The number of columns in the current row; 0 when there is no current row.
    public var columnCount: Int { Int(sqlite3_data_count(handle)) }

    /// The type of a column's value. Ask before you read the value, because reading may convert it.
    public func kind(_ column: Int) -> Kind {
        switch sqlite3_column_type(handle, Int32(clamping: column)) {
        case SQLITE_NULL: .null
        case SQLITE_INTEGER: .integer
        case SQLITE_FLOAT: .fraction
        case SQLITE_BLOB: .bytes
        default: .text
        }
    }

    /// A column's value as an integer; 0 for null.
    public func int64(_ column: Int) -> Int64 {
        sqlite3_column_int64(handle, Int32(clamping: column))
    }

    /// A column's value as a text; empty for null.
    ///
    /// - Throws: ``SQLiteError``: `unavailable` when SQLite has no memory for the text.
    public func text(_ column: Int) throws(SQLiteError) -> String {
        let column = Int32(clamping: column)
        guard let start = sqlite3_column_text(handle, column) else {
            guard sqlite3_column_type(handle, column) != SQLITE_NULL else { return "" }
            throw SQLiteError(.unavailable, "SQLite is out of memory for the text in column \(column)")
        }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// A column's value as bytes; a text's bytes in UTF-8; empty for null.
    public func bytes(_ column: Int) -> [UInt8] {
        let start = sqlite3_column_blob(handle, Int32(clamping: column))
        let count = Int(sqlite3_column_bytes(handle, Int32(clamping: column)))
        return [UInt8](UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }

    private func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw SQLiteError(extended: code, on: connection) }
    }
}
