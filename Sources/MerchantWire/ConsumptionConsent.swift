import StoreWire

/// A user's consent to send the store information about the consumption of purchases, when the user asks for a refund.
public struct ConsumptionConsent: Codable, Sendable, Equatable {
    /// The user.
    public var userID: UserID
    /// Whether the user consents.
    public var isGiven: Bool
    /// When the consent was given or withdrawn, in milliseconds since 1970; nil when neither was recorded.
    public var changedAt: Int64?

    /// Creates a consent.
    public init(userID: UserID, isGiven: Bool, changedAt: Int64? = nil) {
        self.userID = userID
        self.isGiven = isGiven
        self.changedAt = changedAt
    }

    private enum CodingKeys: String, CodingKey {
        case userID = "userId"
        case isGiven, changedAt
    }
}

/// A request to record that a user gives or withdraws the consent.
public struct ConsumptionConsentRequest: Codable, Sendable, Equatable {
    /// Whether the user consents.
    public var isGiven: Bool

    /// Creates a request.
    public init(isGiven: Bool) { self.isGiven = isGiven }
}
