internal import CornerstoreSQLite

extension DatabaseError {
    /// Translates an error of SQLite.
    init(_ error: SQLiteError) {
        let code: Code =
            switch error.code {
            case .unavailable: .unavailable
            case .busy, .interrupted: .busy
            case .uniqueViolation: .uniqueViolation
            case .checkViolation: .checkViolation
            case .notNullViolation: .notNullViolation
            case .foreignKeyViolation: .foreignKeyViolation
            case .full: .full
            case .readOnly: .readOnly
            case .damaged: .corrupted
            case .invalidSQL: .invalidSQL
            case .invalidValue: .invalidValue
            case .columnType: .columnType
            case .closed: .closed
            }
        self.init(code, error.detail)
    }

    /// Keeps a ``DatabaseError``, translates an error of SQLite, and gives any other error the code `unavailable`.
    init(anySQLite error: any Error) {
        switch error {
        case let error as DatabaseError: self = error
        case let error as SQLiteError: self.init(error)
        default: self.init(.unavailable, "the database cannot be opened: \(type(of: error))")
        }
    }
}
