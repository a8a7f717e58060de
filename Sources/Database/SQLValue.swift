/// A value that both engines can store.
public enum SQLValue: Sendable, Hashable {
    /// No value.
    case null
    /// A `BIGINT`.
    case integer(Int64)
    /// A `TEXT`: any Unicode text without U+0000.
    case text(String)
    /// A `BYTEA`: any bytes.
    case bytes([UInt8])
    /// A `BOOLEAN`. SQLite stores it as 0 or 1, and returns it as an integer.
    case boolean(Bool)
}

extension SQLValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral
{
    /// Creates ``integer(_:)`` from an integer literal.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates ``text(_:)`` from a string literal.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Creates ``boolean(_:)`` from `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Creates ``null`` from `nil`.
    public init(nilLiteral: ()) { self = .null }
}

/// The types that both engines know under the same name.
public enum SQLType: Sendable, Hashable {
    /// `BIGINT`.
    case integer
    /// `TEXT`.
    case text
    /// `BYTEA`.
    case bytes
    /// `BOOLEAN`.
    case boolean
}

/// A type whose values can be arguments of a statement.
///
/// A type with a convertible raw value needs no code: `extension ProductID: SQLConvertible {}`.
public protocol SQLConvertible {
    /// The value to store.
    var sqlValue: SQLValue { get }
    /// The type declared to PostgreSQL for a null, so that the server can prepare `$1 IS NULL`. Nil lets the server
    /// infer the type.
    static var sqlType: SQLType? { get }
}

extension SQLConvertible {
    /// Nil: PostgreSQL infers the type.
    public static var sqlType: SQLType? { nil }
}

extension SQLConvertible where Self: RawRepresentable, RawValue: SQLConvertible {
    /// The raw value as a database value.
    public var sqlValue: SQLValue { rawValue.sqlValue }
    /// The type of the raw value.
    public static var sqlType: SQLType? { RawValue.sqlType }
}

extension SQLValue: SQLConvertible {
    /// The value itself.
    public var sqlValue: SQLValue { self }
}

extension Int: SQLConvertible {
    /// The number as a `BIGINT`.
    public var sqlValue: SQLValue { .integer(Int64(self)) }
    /// `BIGINT`.
    public static var sqlType: SQLType? { .integer }
}

extension Int64: SQLConvertible {
    /// The number as a `BIGINT`.
    public var sqlValue: SQLValue { .integer(self) }
    /// `BIGINT`.
    public static var sqlType: SQLType? { .integer }
}

extension String: SQLConvertible {
    /// The string as a `TEXT`.
    public var sqlValue: SQLValue { .text(self) }
    /// `TEXT`.
    public static var sqlType: SQLType? { .text }
}

extension Bool: SQLConvertible {
    /// The value as a `BOOLEAN`.
    public var sqlValue: SQLValue { .boolean(self) }
    /// `BOOLEAN`.
    public static var sqlType: SQLType? { .boolean }
}

extension [UInt8]: SQLConvertible {
    /// The bytes as a `BYTEA`.
    public var sqlValue: SQLValue { .bytes(self) }
    /// `BYTEA`.
    public static var sqlType: SQLType? { .bytes }
}

extension Optional: SQLConvertible where Wrapped: SQLConvertible {
    /// The wrapped value, or ``SQLValue/null`` for nil.
    public var sqlValue: SQLValue { self?.sqlValue ?? .null }
    /// The type of the wrapped value.
    public static var sqlType: SQLType? { Wrapped.sqlType }
}
