extension DatabaseError {
    /// Translates a server's SQLSTATE (https://www.postgresql.org/docs/15/errcodes-appendix.html).
    ///
    /// A violated constraint is described by its names. The message about a value that does not fit may quote the
    /// value, as `DETAIL` and `CONTEXT` do, so it is left out. All other errors keep the server's message.
    init(_ result: PostgreSQLResult) {
        let state = result.field("C") ?? ""
        let code = Self.code(sqlState: state)
        let message = result.field("M") ?? "no message"
        switch code {
        case .uniqueViolation, .checkViolation, .notNullViolation, .foreignKeyViolation:
            let parts = ["t": "table", "c": "column", "n": "constraint"]
            let names = "tcn".compactMap { letter in
                result.field(letter).map { "\(parts[String(letter)] ?? "") \($0)" }
            }
            self.init(code, "\(names.joined(separator: ", ")) (\(state))")
        case .invalidValue:
            self.init(code, "a value does not fit its type, column or index (\(state))")
        default:
            self.init(code, "\(message) (\(state))")
        }
    }

    /// The kind of failure of a SQLSTATE.
    static func code(sqlState state: String) -> Code {
        switch state {
        case "23505": .uniqueViolation
        case "23514": .checkViolation
        case "23502": .notNullViolation
        case "23503", "23001": .foreignKeyViolation
        case "40001", "40P01": .serialization
        case "55P03", "57014": .busy
        case "53100": .full
        case "25006": .readOnly
        // The row of an index is too long. Other limits of class 54 are exceeded by the statement itself.
        case "54000": .invalidValue
        default:
            switch state.prefix(2) {
            case "22": .invalidValue
            case "23": .checkViolation
            case "25", "26", "34", "42", "54", "0A": .invalidSQL
            case "XX": state == "XX000" ? .unavailable : .corrupted
            default: .unavailable
            }
        }
    }
}
