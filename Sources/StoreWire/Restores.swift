import Foundation

/// Asks for a page of what an account bought earlier and has finished, to be delivered again. Sent to ``StoreRoute/restores``.
///
/// What can be restored are non-consumables, auto-renewable subscriptions (each period) and free subscriptions. The same `idempotencyKey` gives
/// the same transactions: a page that is asked for again after a lost answer has the ids that it had.
public struct RestoreRequest: Codable, Sendable, Equatable {
    /// The restore's own key, the same for all of its pages.
    public var idempotencyKey: UUID
    public var bundleID: BundleID
    /// The device's own id. What an earlier restore gave it and it has not finished comes with the same id, not with another.
    public var deviceID: UUID
    /// Only what was bought under this name, to the letter; nil for all. At most ``StoreLimits/applicationUsername`` bytes of UTF-8.
    public var applicationUsername: String?
    /// What the page before gave as `next`; nil for the first page.
    public var after: TransactionID?

    public init(
        idempotencyKey: UUID, bundleID: BundleID, deviceID: UUID, applicationUsername: String?, after: TransactionID?
    ) {
        self.idempotencyKey = idempotencyKey
        self.bundleID = bundleID
        self.deviceID = deviceID
        self.applicationUsername = applicationUsername
        self.after = after
    }
}

/// A page of restored transactions, in the order in which they were bought. Each has an id and a `purchaseDate` of its own, those of the restore,
/// and in `originalTransactionID` and `originalPurchaseDate` those of the first transaction.
public struct RestoreResponse: Codable, Sendable, Equatable {
    public var transactions: [TransactionDescription]
    /// Give it back as `after` for the next page; nil on the last.
    public var next: TransactionID?

    public init(transactions: [TransactionDescription], next: TransactionID?) {
        self.transactions = transactions
        self.next = next
    }
}
