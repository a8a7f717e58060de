import StoreWire

/// The merchant's name of a user: the subject of the user's token. The store never receives it.
public struct UserID: StringIdentifier {
    /// The name as text.
    public let rawValue: String
    /// Creates an identifier from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The name of a currency of credits, such as `credits` or `gems`.
public struct CurrencyID: StringIdentifier {
    /// The name as text.
    public let rawValue: String
    /// Creates an identifier from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The name of an entitlement, such as `pro` or `filters.sepia`.
public struct EntitlementID: StringIdentifier {
    /// The name as text.
    public let rawValue: String
    /// Creates an identifier from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The name of a file that users download from the merchant, such as `issue-12`.
public struct ContentItemID: StringIdentifier {
    /// The name as text.
    public let rawValue: String
    /// Creates an identifier from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
}
