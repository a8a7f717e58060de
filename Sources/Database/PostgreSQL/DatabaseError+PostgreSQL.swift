extension DatabaseError {
    /// Translates a server's SQLSTATE (https://www.postgresql.org/docs/15/errcodes-appendix.html).
    ///
    /// A violated constraint is described by its names. The message about a value that does not fit may quote the
    /// value, as `DETAIL` and `CONTEXT` do, so it is left out. All other errors keep the server's message.
    init(_ result: PostgreSQLResult) {
        let state = result.field("C") ?? ""
        let code = Self.code(
            sqlState: state, isAboutIndex: result.field("n") != nil || result.field("F") == "indextuple.c")
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
    /// - Parameter isAboutIndex: whether the error names an index, or the server's file that makes rows of indices
    ///   reports it.
    static func code(sqlState state: String, isAboutIndex: Bool = false) -> Code {
        switch state {
        case "23505": .uniqueViolation
        case "23514": .checkViolation
        case "23502": .notNullViolation
        case "23503", "23001": .foreignKeyViolation
        case "40001", "40P01": .serialization
        case "55P03", "57014": .busy
        case "53100": .full
        case "25006": .readOnly
        // The row of an index is too long, or the server takes no more writes until a vacuum, to avoid wraparound
        // (varsup.c, multixact.c). Other limits of class 54 are exceeded by the statement itself.
        case "54000": isAboutIndex ? .invalidValue : .unavailable
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
