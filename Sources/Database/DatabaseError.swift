/// Why the database did not do what was asked.
///
/// `detail` says what and where, in words for the operator. It names tables, columns and constraints, and never holds a
/// value that was stored or looked for, nor a password.
public struct DatabaseError: Error, Equatable, CustomStringConvertible {
    /// What kind of failure it was; the same on both engines.
    public enum Code: String, Sendable {
        /// The server or the file cannot be reached. When this comes from a commit, the outcome is unknown.
        case unavailable
        /// Others held what was needed for too long: a lock, a connection, or a place in the queue. Trying again may
        /// help.
        case busy
        /// Concurrent transactions kept contradicting this one. Trying again may help.
        case serialization
        /// A row with this key is already there. `detail` names the constraint (PostgreSQL) or its columns (SQLite).
        case uniqueViolation
        /// A `CHECK` refused the row.
        case checkViolation
        /// A `NOT NULL` column was given no value.
        case notNullViolation
        /// A reference to a row that is not there, or the removal of one that is referred to.
        case foreignKeyViolation
        /// The disk, or the space granted to the database, is full.
        case full
        /// A change was asked for in a read, or the database cannot be written.
        case readOnly
        /// The file or the server's data are damaged, or the file is no database.
        case corrupted
        /// The database was made by a newer program.
        case newerSchema
        /// A migration that was applied differs from the program's.
        case changedMigration
        /// The program's own list of migrations is not numbered 1, 2, 3….
        case invalidMigrations
        /// The statement is wrong: syntax, names, number or types of its arguments, or a kind that is not allowed.
        case invalidSQL
        /// A value that the engine cannot keep: text with a NUL, too long, or out of the column's range.
        case invalidValue
        /// A column was read as a type that it does not have.
        case columnType
        /// Another process has the database to itself (``SoleUse``). `detail` names it.
        case inUse
        /// The path, address or schema name is malformed.
        case invalidLocation
        /// The database was closed, or a connection was used after its closure had returned.
        case closed
    }

    /// What kind of failure it was.
    public var code: Code
    /// What was wrong and where, in words for the operator.
    public var detail: String

    /// Makes an error of a kind with its words.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The code and the detail, as `CODE: DETAIL`.
    public var description: String { "\(code.rawValue): \(detail)" }
}
