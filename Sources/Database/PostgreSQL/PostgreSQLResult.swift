import CPostgreSQL

/// Owns a result of `libpq`, and frees it.
final class PostgreSQLResult {
    private let result: OpaquePointer

    init(_ result: OpaquePointer) {
        self.result = result
    }

    deinit {
        PQclear(result)
    }

    /// Whether the statement succeeded.
    var isSuccess: Bool {
        let status = PQresultStatus(result)
        return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
    }

    /// The command tag, such as `INSERT 0 1` or `ROLLBACK`.
    var command: String { String(cString: PQcmdStatus(result)) }

    /// The number of rows inserted, updated or deleted.
    var changes: Int {
        let command = command
        guard ["INSERT", "UPDATE", "DELETE"].contains(where: command.hasPrefix) else { return 0 }
        return Int(String(cString: PQcmdTuples(result))) ?? 0
    }

    /// Decodes all rows from the binary format.
    func rows() throws(DatabaseError) -> [Row] {
        let columns = PQnfields(result)
        let decoders = try (0..<columns).map { column throws(DatabaseError) in
            try PostgreSQLType.decoder(PQftype(result, column), column: Int(column))
        }
        var rows: [Row] = []
        rows.reserveCapacity(Int(PQntuples(result)))
        for row in 0..<PQntuples(result) {
            var values: [SQLValue] = []
            values.reserveCapacity(Int(columns))
            for column in 0..<columns {
                values.append(value(row, column, decoders[Int(column)]))
            }
            rows.append(Row(values))
        }
        return rows
    }

    private func value(_ row: Int32, _ column: Int32, _ decode: PostgreSQLType.Decoder) -> SQLValue {
        guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else { return .null }
        return decode(UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column))))
    }

    /// A field of an error, by its letter in the protocol
    /// (https://www.postgresql.org/docs/15/protocol-error-fields.html).
    func field(_ letter: Character) -> String? {
        guard let ascii = letter.asciiValue, let text = PQresultErrorField(result, Int32(ascii)) else { return nil }
        return String(cString: text)
    }
}

/// The server's types that the module supports, by their fixed OIDs (`pg_type.dat`).
enum PostgreSQLType {
    /// Decodes a value's bytes.
    typealias Decoder = (UnsafeRawBufferPointer) -> SQLValue

    /// The OID of a declared type; 0 lets the server infer the type.
    static func number(_ type: SQLType?) -> Oid {
        switch type {
        case nil: 0
        case .boolean: 16
        case .bytes: 17
        case .integer: 20
        case .text: 25
        }
    }

    static func decoder(_ type: Oid, column: Int) throws(DatabaseError) -> Decoder {
        switch type {
        case 16:
            return { .boolean($0.first != 0) }
        case 17:
            return { .bytes([UInt8]($0)) }
        case 20, 21, 23:
            return { .integer(integer($0)) }
        // text; name, unknown, bpchar and varchar, which catalogs and literals have; void is an empty text.
        case 25, 19, 705, 1042, 1043, 2278:
            return { .text(String(decoding: $0, as: UTF8.self)) }
        default:
            throw DatabaseError(
                .columnType, "column \(column) has the type with OID \(type); CAST it to BIGINT, TEXT, BYTEA or BOOLEAN"
            )
        }
    }

    /// Decodes a big-endian integer of 2, 4 or 8 bytes.
    private static func integer(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        let negative = (bytes.first ?? 0) >= 0x80
        return bytes.reduce(negative ? -1 : 0) { $0 << 8 | Int64($1) }
    }

    /// Appends a value in the binary format.
    static func encode(_ value: SQLValue, into bytes: inout [UInt8]) {
        switch value {
        case .null: break
        case .boolean(let boolean): bytes.append(boolean ? 1 : 0)
        case .bytes(let content): bytes.append(contentsOf: content)
        case .text(let text): bytes.append(contentsOf: text.utf8)
        case .integer(let integer): withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
        }
    }
}
