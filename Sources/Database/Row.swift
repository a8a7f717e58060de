/// One row of a query's result. The first column of the `SELECT` or `RETURNING` list has index 0.
///
/// Reading a column as another type than its own, or a null as a type that is not optional, throws
/// ``DatabaseError/Code/columnType``.
public struct Row: Sendable, Hashable {
    /// The columns' values in order.
    public let values: [SQLValue]

    init(_ values: [SQLValue]) {
        self.values = values
    }

    /// The text in column `index`.
    /// - Throws: ``DatabaseError`` `columnType`, also for a null.
    public func string(_ index: Int) throws -> String {
        try optionalString(index) ?? missing(index)
    }

    /// The 64-bit integer in column `index`.
    /// - Throws: ``DatabaseError`` `columnType`, also for a null.
    public func int64(_ index: Int) throws -> Int64 {
        try optionalInt64(index) ?? missing(index)
    }

    /// The integer in column `index`.
    /// - Throws: ``DatabaseError`` `columnType`, also for a null.
    public func int(_ index: Int) throws -> Int {
        Int(try int64(index))
    }

    /// The truth value in column `index`; SQLite's 0 and 1 are read as `false` and `true`.
    /// - Throws: ``DatabaseError`` `columnType`, also for a null.
    public func bool(_ index: Int) throws -> Bool {
        try optionalBool(index) ?? missing(index)
    }

    /// The bytes in column `index`.
    /// - Throws: ``DatabaseError`` `columnType`, also for a null.
    public func bytes(_ index: Int) throws -> [UInt8] {
        try optionalBytes(index) ?? missing(index)
    }

    /// The text in column `index`, or nil for a null.
    /// - Throws: ``DatabaseError`` `columnType`.
    public func optionalString(_ index: Int) throws -> String? {
        switch try value(index) {
        case .null: return nil
        case .text(let text): return text
        case let other: throw mismatch(index, other, "text")
        }
    }

    /// The 64-bit integer in column `index`, or nil for a null.
    /// - Throws: ``DatabaseError`` `columnType`.
    public func optionalInt64(_ index: Int) throws -> Int64? {
        switch try value(index) {
        case .null: return nil
        case .integer(let integer): return integer
        case let other: throw mismatch(index, other, "an integer")
        }
    }

    /// The integer in column `index`, or nil for a null.
    /// - Throws: ``DatabaseError`` `columnType`.
    public func optionalInt(_ index: Int) throws -> Int? {
        try optionalInt64(index).map { Int($0) }
    }

    /// The truth value in column `index`, or nil for a null.
    /// - Throws: ``DatabaseError`` `columnType`.
    public func optionalBool(_ index: Int) throws -> Bool? {
        switch try value(index) {
        case .null: return nil
        case .boolean(let boolean): return boolean
        case .integer(0): return false
        case .integer(1): return true
        case let other: throw mismatch(index, other, "a truth value")
        }
    }

    /// The bytes in column `index`, or nil for a null.
    /// - Throws: ``DatabaseError`` `columnType`.
    public func optionalBytes(_ index: Int) throws -> [UInt8]? {
        switch try value(index) {
        case .null: return nil
        case .bytes(let bytes): return bytes
        case let other: throw mismatch(index, other, "bytes")
        }
    }

    private func value(_ index: Int) throws -> SQLValue {
        guard values.indices.contains(index) else {
            throw DatabaseError(.columnType, "the row has \(values.count) columns, and no column \(index)")
        }
        return values[index]
    }

    private func missing<T>(_ index: Int) throws -> T {
        throw DatabaseError(.columnType, "column \(index) is null; read it as optional, or declare it NOT NULL")
    }

    private func mismatch(_ index: Int, _ value: SQLValue, _ wanted: String) -> DatabaseError {
        let found =
            switch value {
            case .null: "null"
            case .integer: "an integer"
            case .text: "text"
            case .bytes: "bytes"
            case .boolean: "a truth value"
            }
        return DatabaseError(.columnType, "column \(index) holds \(found), not \(wanted)")
    }
}
