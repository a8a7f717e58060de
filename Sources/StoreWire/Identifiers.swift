/// A name that one party gave to a thing, kept apart by type so that one kind cannot be passed for another.
///
/// Names are compared by their UTF-8 bytes, as databases, file systems and other languages compare them. Swift's
/// `String` compares by Unicode's canonical equivalence, under which the two spellings of “José” are one text.
public protocol StringIdentifier: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible,
    ExpressibleByStringLiteral, Comparable
where RawValue == String {
    /// Wraps any text; what is well-formed is decided where the name enters.
    init(rawValue: String)
}

extension StringIdentifier {
    public init(_ rawValue: String) { self.init(rawValue: rawValue) }
    public init(stringLiteral value: String) { self.init(rawValue: value) }
    public var description: String { rawValue }
    public static func == (left: Self, right: Self) -> Bool { left.rawValue.hasSameBytes(as: right.rawValue) }
    // Without this, overload resolution may take the standard library's `!=` of RawRepresentable, which compares the raw values.
    public static func != (left: Self, right: Self) -> Bool { !(left == right) }
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
    }
    public func hash(into hasher: inout Hasher) { rawValue.hashBytes(into: &hasher) }

    /// Whether the name consists of 1 to ``StoreLimits/identifier`` visible ASCII characters, as product and bundle
    /// identifiers do. App Store Connect allows letters, digits, hyphens, periods and underscores; Xcode's
    /// configuration files hold others as well.
    public var isPlain: Bool {
        (1...StoreLimits.identifier).contains(rawValue.utf8.count)
            && rawValue.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// An app's reverse-DNS name, `com.example.monkeys`.
public struct BundleID: StringIdentifier {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// A product's name within its app, `com.example.monkeys.credits5`.
public struct ProductID: StringIdentifier {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// A customer's or tester's account at the store. Random, and never shown to the merchant.
public struct AccountID: StringIdentifier {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// A subscription group's name in the catalog.
public struct SubscriptionGroupID: StringIdentifier {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// A transaction's number at the store: a decimal of 15 digits (production) or 16 beginning with 2 (sandbox), always below 2^53, and
/// therefore exact in every JSON reader. It travels as a string, as at Apple's.
public struct TransactionID: RawRepresentable, Hashable, Sendable, Comparable, Codable, CustomStringConvertible {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Reads the decimal form; nil when the text is not a positive number below 2^53 in plain digits.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 16, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int64(text),
            value > 0, value < 1 << 53
        else { return nil }
        self.rawValue = value
    }

    public var description: String { String(rawValue) }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a transaction id")
        }
        self = value
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
