internal import GRDB

extension DatabaseError {
    /// Puts SQLite's result codes (https://www.sqlite.org/rescode.html) into the module's.
    init(_ error: GRDB.DatabaseError) {
        let code: Code =
            switch error.extendedResultCode {
            case .SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY, .SQLITE_CONSTRAINT_ROWID: .uniqueViolation
            case .SQLITE_CONSTRAINT_CHECK: .checkViolation
            case .SQLITE_CONSTRAINT_NOTNULL: .notNullViolation
            case .SQLITE_CONSTRAINT_FOREIGNKEY: .foreignKeyViolation
            default: Self.code(error.resultCode)
            }
        // SQLite's message names tables and columns; values are bound and never part of it.
        self.init(code, error.message ?? "SQLite answered \(error.extendedResultCode.rawValue)")
    }

    private static func code(_ result: ResultCode) -> Code {
        switch result {
        case .SQLITE_BUSY, .SQLITE_LOCKED: .busy
        case .SQLITE_FULL: .full
        case .SQLITE_READONLY: .readOnly
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupted
        case .SQLITE_CONSTRAINT: .checkViolation
        case .SQLITE_TOOBIG, .SQLITE_MISMATCH: .invalidValue
        case .SQLITE_ERROR, .SQLITE_MISUSE, .SQLITE_RANGE, .SQLITE_AUTH: .invalidSQL
        default: .unavailable
        }
    }

    /// Takes over the module's own errors, and calls anything unknown unavailable.
    init(anySQLite error: any Error) {
        switch error {
        case let error as DatabaseError: self = error
        case let error as GRDB.DatabaseError: self.init(error)
        default: self.init(.unavailable, "the database failed with a \(type(of: error))")
        }
    }

    /// The caller's own errors stay as they are.
    static func translating(_ error: any Error) -> any Error {
        (error as? GRDB.DatabaseError).map { DatabaseError($0) } ?? error
    }
}
