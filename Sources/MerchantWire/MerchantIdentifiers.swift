import StoreWire

/// Who the app's user is, in the merchant's own words: the subject of the user's token. The store never learns it.
public struct UserID: StringIdentifier {
    /// The name as text.
    public let rawValue: String
    /// Creates an identifier from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The name of what credits are counted in: `credits`, `gems`.
public struct CurrencyID: StringIdentifier {
    /// The name as text.
    public let rawValue: String
    /// Creates an identifier from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The name of something that a user may use: `pro`, `filters.sepia`.
public struct EntitlementID: StringIdentifier {
    /// The name as text.
    public let rawValue: String
    /// Creates an identifier from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The name of something that is downloaded from the merchant: `issue-12`.
public struct ContentItemID: StringIdentifier {
    /// The name as text.
    public let rawValue: String
    /// Creates an identifier from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
}
