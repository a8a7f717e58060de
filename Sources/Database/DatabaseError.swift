/// A failure of the database.
///
/// `detail` is a message for the operator. It names tables, columns and constraints. It never contains a stored value,
/// an argument's value or a password.
public struct DatabaseError: Error, Equatable, CustomStringConvertible {
    /// The kind of failure, the same on both engines.
    public enum Code: String, Sendable {
        /// The server or the file cannot be reached. After a commit that failed in this way, the outcome is unknown.
        case unavailable
        /// A lock, a connection or a place in the queue did not become free in time. Trying again may help.
        case busy
        /// Conflicts with concurrent transactions did not end in time. Trying again may help.
        case serialization
        /// A row with this key exists already. `detail` names the constraint (PostgreSQL) or its columns (SQLite).
        case uniqueViolation
        /// A `CHECK` refused the row.
        case checkViolation
        /// A `NOT NULL` column was given no value.
        case notNullViolation
        /// A row refers to a missing row, or a deleted row is still referred to.
        case foreignKeyViolation
        /// The disk, or the space granted to the database, is full.
        case full
        /// A read transaction tried to change rows, or the database cannot be written.
        case readOnly
        /// The file or the server's data are damaged, or the file is not a database.
        case corrupted
        /// A newer version of the program has changed the database.
        case newerSchema
        /// The database lacks migrations, and other processes use it, so that they cannot be applied now.
        case olderSchema
        /// An applied migration differs from the program's migration of the same number.
        case changedMigration
        /// The program's own migrations are not numbered 1, 2, 3….
        case invalidMigrations
        /// The statement is wrong: its syntax, a name, its kind, or the number or types of its arguments.
        case invalidSQL
        /// The engine cannot store a value: a text with a NUL, a value that is too long, or an integer out of range.
        case invalidValue
        /// A column was read as another type than its own.
        case columnType
        /// Another process has exclusive use of the database (``SoleUse``), or the node number of this one
        /// (``Membership``). `detail` names the process.
        case inUse
        /// The machine's clock differs from that of the database's server by more than two seconds.
        case clockDiffers
        /// The server is a standby, which refuses changes.
        case isStandby
        /// The server lacks changes that it has confirmed, as a standby that lagged when it was promoted.
        case dataLost
        /// A setting that all processes on a database must have in common is another one in a running process.
        case settingsDiffer
        /// The path, address or schema name is malformed.
        case invalidLocation
        /// The database was closed, or a connection was used after its closure had returned.
        case closed
    }

    /// The kind of failure.
    public var code: Code
    /// The message for the operator.
    public var detail: String

    /// Creates an error from its kind and its message.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The code and the detail, as `CODE: DETAIL`.
    public var description: String { "\(code.rawValue): \(detail)" }
}
