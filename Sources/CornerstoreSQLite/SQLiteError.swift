internal import CornerstoreCSQLite

/// A failure of SQLite.
public struct SQLiteError: Error, Equatable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable, CaseIterable {
        /// The file cannot be opened, read or written.
        case unavailable
        /// Another connection holds a lock.
        case busy
        /// A row with this key exists already.
        case uniqueViolation
        /// A `CHECK`, or another constraint without a code of its own, refused the row.
        case checkViolation
        /// A `NOT NULL` column was given no value.
        case notNullViolation
        /// A row refers to a missing row, or a deleted row is still referred to.
        case foreignKeyViolation
        /// The disk, or the space granted to the database, is full.
        case full
        /// The file or the connection cannot be written.
        case readOnly
        /// The file is damaged, or it is not a database.
        case damaged
        /// The statement is wrong: its syntax, a name, or the number of its arguments.
        case invalidSQL
        /// A value is too long, or has a type that its column does not accept.
        case invalidValue
        /// A column holds a value of another type than the reader expects.
        case columnType
        /// The statement was still running at the connection's ``SQLiteConnection/deadline``.
        case interrupted
        /// The connection was closed.
        case closed
    }

    /// The kind of failure.
    public var code: Code
    /// The message, mostly SQLite's own. It names tables and columns, and never contains an argument's value.
    public var detail: String

    /// Creates an error from its kind and its message.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Translates a result code of SQLite (https://www.sqlite.org/rescode.html).
    ///
    /// - Parameter extended: The extended result code: the primary code in the low byte, its detail above.
    init(extended: Int32, message: String?) {
        self.init(Self.code(extended), message ?? "SQLite failed with result code \(extended)")
    }

    /// Takes SQLite's message about the last failure on a connection.
    init(extended: Int32, on connection: OpaquePointer?) {
        let message = connection.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
        self.init(extended: extended, message: message)
    }

    private static func code(_ extended: Int32) -> Code {
        switch extended & 0xFF {
        case SQLITE_CONSTRAINT: constraint(extended >> 8)
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_FULL: .full
        case SQLITE_INTERRUPT: .interrupted
        case SQLITE_READONLY: .readOnly
        case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
        case SQLITE_TOOBIG, SQLITE_MISMATCH: .invalidValue
        case SQLITE_ERROR, SQLITE_MISUSE, SQLITE_RANGE, SQLITE_AUTH: .invalidSQL
        default: .unavailable
        }
    }

    /// SQLite defines these codes as macros that Swift does not import.
    private static func constraint(_ detail: Int32) -> Code {
        switch detail {
        case 6, 8, 10: .uniqueViolation  // PRIMARYKEY, UNIQUE, ROWID
        case 5: .notNullViolation  // NOTNULL
        case 3: .foreignKeyViolation  // FOREIGNKEY
        default: .checkViolation
        }
    }

    /// The code and the message, as `CODE: MESSAGE`.
    public var description: String { "\(code.rawValue): \(detail)" }
}
