import StoreWire

/// One of the store's transactions as the merchant's books have it.
public struct TransactionReport: Codable, Sendable, Equatable {
    /// The redemptions of the transaction's purchase: none when nobody has redeemed it, and one for each user of a
    /// shared one.
    public var redemptions: [RedemptionRecord]
    /// The ledger entries of the purchase, oldest first: grants, refunds, returned refunds and expired credits.
    public var entries: [PurchaseEntry]

    /// Creates a report.
    public init(redemptions: [RedemptionRecord], entries: [PurchaseEntry]) {
        self.redemptions = redemptions
        self.entries = entries
    }
}

/// A ledger entry of a purchase, with the account that it belongs to.
public struct PurchaseEntry: Codable, Sendable, Equatable {
    /// The user.
    public var userID: UserID
    /// The currency.
    public var currency: CurrencyID
    /// The entry.
    public var entry: LedgerEntry

    /// Creates an entry.
    public init(userID: UserID, currency: CurrencyID, entry: LedgerEntry) {
        self.userID = userID
        self.currency = currency
        self.entry = entry
    }

    private enum CodingKeys: String, CodingKey {
        case userID = "userId"
        case currency, entry
    }
}
