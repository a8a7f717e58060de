internal import GRDBSQLite

extension DatabaseError {
    /// Puts SQLite's result codes (https://www.sqlite.org/rescode.html) into the module's.
    ///
    /// - Parameter code: the extended result code.
    init(sqlite code: Int32, message: String?) {
        // SQLite's message names tables and columns; values are bound and never part of it.
        self.init(
            Self.constraint(extendedCode: code) ?? Self.code(primaryCode: code & 0xFF),
            message ?? "SQLite answered \(code)")
    }

    /// SQLite's own names for these are macros that Swift does not see: the primary code and a number in the second byte.
    private static func constraint(extendedCode: Int32) -> Code? {
        guard extendedCode & 0xFF == SQLITE_CONSTRAINT else { return nil }
        return switch extendedCode >> 8 {
        case 6, 8, 10: .uniqueViolation  // PRIMARYKEY, UNIQUE, ROWID
        case 1: .checkViolation  // CHECK
        case 5: .notNullViolation  // NOTNULL
        case 3: .foreignKeyViolation  // FOREIGNKEY
        default: nil
        }
    }

    private static func code(primaryCode: Int32) -> Code {
        switch primaryCode {
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_FULL: .full
        case SQLITE_READONLY: .readOnly
        case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupted
        case SQLITE_CONSTRAINT: .checkViolation
        case SQLITE_TOOBIG, SQLITE_MISMATCH: .invalidValue
        case SQLITE_ERROR, SQLITE_MISUSE, SQLITE_RANGE, SQLITE_AUTH: .invalidSQL
        default: .unavailable
        }
    }

    /// Takes over the module's own errors, and calls anything unknown unavailable.
    init(anySQLite error: any Error) {
        if let error = error as? DatabaseError {
            self = error
        } else {
            self.init(.unavailable, "the database failed with a \(type(of: error))")
        }
    }
}
