/// An identifier that is a string. Each kind is a type of its own, so that one kind cannot be passed for another.
///
/// Identifiers are compared by their UTF-8 bytes, as databases, file systems and other languages compare them. Swift's
/// `String` compares by Unicode's canonical equivalence, which treats the two spellings of “José” as equal.
public protocol StringIdentifier: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible,
    ExpressibleByStringLiteral, Comparable
where RawValue == String {
    /// Wraps any text. The code that receives an identifier from outside checks that it is well-formed.
    init(rawValue: String)
}

extension StringIdentifier {
    /// Creates an identifier from its text.
    public init(_ rawValue: String) { self.init(rawValue: rawValue) }
    /// Creates an identifier from a string literal.
    public init(stringLiteral value: String) { self.init(rawValue: value) }
    /// The identifier's text.
    public var description: String { rawValue }
    /// Whether both identifiers consist of the same UTF-8 bytes.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool { left.rawValue.hasSameBytes(as: right.rawValue) }
    // Without this operator, overload resolution may choose the standard library's `!=` of `RawRepresentable`, which
    // compares the raw values.
    /// Whether the identifiers differ in any UTF-8 byte.
    @inlinable
    public static func != (left: Self, right: Self) -> Bool { !(left == right) }
    /// Orders identifiers by their UTF-8 bytes.
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
    }
    /// Feeds the identifier's UTF-8 bytes to the hasher.
    @inlinable
    public func hash(into hasher: inout Hasher) { rawValue.hashBytes(into: &hasher) }

    /// Whether the identifier consists of 1 to ``StoreLimits/identifier`` visible ASCII characters, as product and
    /// bundle identifiers do. App Store Connect allows letters, digits, hyphens, periods and underscores; Xcode's
    /// configuration files also allow other characters.
    public var isPlain: Bool {
        (1...StoreLimits.identifier).contains(rawValue.utf8.count)
            && rawValue.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Reads the identifier from a single string.
    /// - Throws: `DecodingError` when the value is not a string.
    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the identifier as a single string.
    /// - Throws: the error of `encoder`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// An app's reverse-DNS name, such as `com.example.monkeys`.
public struct BundleID: StringIdentifier {
    /// The identifier's text.
    public let rawValue: String
    /// Creates a bundle identifier.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// A product's identifier within its app, such as `com.example.monkeys.credits5`.
public struct ProductID: StringIdentifier {
    /// The identifier's text.
    public let rawValue: String
    /// Creates a product identifier.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The identifier of a customer's or tester's account at the store. It is random, and the merchant never sees it.
public struct AccountID: StringIdentifier {
    /// The identifier's text.
    public let rawValue: String
    /// Creates an account identifier.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// A subscription group's identifier in the catalog.
public struct SubscriptionGroupID: StringIdentifier {
    /// The identifier's text.
    public let rawValue: String
    /// Creates a subscription group identifier.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// A transaction's number at the store: a decimal of 15 digits in production, or of 16 digits beginning with 2 in the
/// sandbox. It is always below 2^53, and therefore exact in every JSON reader. Messages carry it as a string, as
/// Apple's do.
public struct TransactionID: RawRepresentable, Hashable, Sendable, Comparable, Codable, CustomStringConvertible {
    /// The number.
    public let rawValue: Int64
    /// Creates a transaction identifier without checking its range.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Reads the decimal form. Returns nil unless the text is a positive number below 2^53, written in ASCII digits
    /// only.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 16, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int64(text),
            value > 0, value < 1 << 53
        else { return nil }
        self.rawValue = value
    }

    /// The decimal form.
    public var description: String { String(rawValue) }
    /// Orders transaction identifiers by number.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// Reads the decimal form from a string.
    /// - Throws: `DecodingError` when the string is not a transaction identifier.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a transaction id")
        }
        self = value
    }

    /// Writes the decimal form as a string.
    /// - Throws: the error of `encoder`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
