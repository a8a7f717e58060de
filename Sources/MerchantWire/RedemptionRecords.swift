import StoreWire

/// A purchase that a user has redeemed, as the merchant's books have it.
public struct RedemptionRecord: Codable, Sendable, Equatable {
    /// The state of a redeemed purchase.
    public enum State: String, Codable, Sendable, CaseIterable {
        /// The user has what the purchase granted.
        case granted
        /// The purchase was refunded or is no longer shared.
        case revoked
    }

    /// The purchase's key in the books, as in webhooks and in the ledger.
    public var purchase: String
    /// The user who has the purchase.
    public var userID: UserID
    /// The product.
    public var productID: ProductID
    /// The transaction that was redeemed first.
    public var transactionID: String
    /// The first transaction of a restored purchase or a subscription.
    public var originalTransactionID: String
    /// The number of units.
    public var quantity: Int64
    /// The grants of the purchase.
    public var grants: [ProductGrant]
    /// The time of the purchase, in milliseconds since 1970.
    public var purchasedAt: Int64
    /// The time of the redemption, in milliseconds since 1970.
    public var redeemedAt: Int64
    /// The end of a subscription's period, in milliseconds since 1970; nil for other purchases.
    public var expiresAt: Int64?
    /// The time at which another plan replaced the period before its end, in milliseconds since 1970; nil otherwise.
    public var supersededAt: Int64?
    /// Whether the user still has what the purchase granted.
    public var state: State
    /// The credits that refunds and changes of plan took back.
    public var takenBack: [Balance]
    /// Whether the purchase was made in production or in the sandbox.
    public var environment: StoreEnvironment

    /// Creates a record.
    public init(
        purchase: String, userID: UserID, productID: ProductID, transactionID: String, originalTransactionID: String,
        quantity: Int64, grants: [ProductGrant], purchasedAt: Int64, redeemedAt: Int64, expiresAt: Int64? = nil,
        supersededAt: Int64? = nil, state: State, takenBack: [Balance] = [],
        environment: StoreEnvironment = .production
    ) {
        self.purchase = purchase
        self.userID = userID
        self.productID = productID
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.quantity = quantity
        self.grants = grants
        self.purchasedAt = purchasedAt
        self.redeemedAt = redeemedAt
        self.expiresAt = expiresAt
        self.supersededAt = supersededAt
        self.state = state
        self.takenBack = takenBack
        self.environment = environment
    }

    private enum CodingKeys: String, CodingKey {
        case purchase
        case userID = "userId"
        case productID = "productId"
        case transactionID = "transactionId"
        case originalTransactionID = "originalTransactionId"
        case quantity, grants, purchasedAt, redeemedAt, expiresAt, supersededAt, state, takenBack, environment
    }
}

/// A page of redeemed purchases: of a user, the last redeemed first; of all users, by the purchase's key.
public struct RedemptionRecordList: Codable, Sendable, Equatable {
    /// The redeemed purchases.
    public var redemptions: [RedemptionRecord]
    /// The value of `before` for the next page; nil on the last page.
    public var next: String?

    /// Creates a page.
    public init(redemptions: [RedemptionRecord], next: String?) {
        self.redemptions = redemptions
        self.next = next
    }
}

/// A user in a list.
public struct UserSummary: Codable, Sendable, Equatable {
    /// The user's name.
    public var userID: UserID
    /// The time of the last redemption, in milliseconds since 1970; nil for a user without a redeemed purchase.
    public var lastRedeemedAt: Int64?

    /// Creates a summary.
    public init(userID: UserID, lastRedeemedAt: Int64?) {
        self.userID = userID
        self.lastRedeemedAt = lastRedeemedAt
    }

    private enum CodingKeys: String, CodingKey {
        case userID = "userId"
        case lastRedeemedAt
    }
}

/// A page of the users who have credits, rights or purchases, in the order of their names' bytes.
public struct UserList: Codable, Sendable, Equatable {
    /// The users.
    public var users: [UserSummary]
    /// The value of `after` for the next page; nil on the last page.
    public var next: UserID?

    /// Creates a page.
    public init(users: [UserSummary], next: UserID?) {
        self.users = users
        self.next = next
    }
}
