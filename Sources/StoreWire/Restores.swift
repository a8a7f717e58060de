import Foundation

/// Asks for a page of the account's finished purchases, to be delivered again. Sent to ``StoreRoute/restores``.
///
/// An account can restore non-consumables, auto-renewable subscriptions (each period) and free subscriptions. The same
/// `idempotencyKey` gives the same transactions: when a device asks for a page again after a lost answer, the
/// transactions have the same ids.
public struct RestoreRequest: Codable, Sendable, Equatable {
    /// The idempotency key of the restore, the same for all of its pages.
    public var idempotencyKey: UUID
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The device's own id. A transaction that an earlier restore gave to this device, and that it has not finished,
    /// comes again with the same id.
    public var deviceID: UUID
    /// Restores only purchases with exactly this user name; nil restores all. At most
    /// ``StoreLimits/applicationUsername`` bytes of UTF-8.
    public var applicationUsername: String?
    /// The `next` value of the page before; nil for the first page.
    public var after: TransactionID?

    /// Creates a restore request.
    public init(
        idempotencyKey: UUID, bundleID: BundleID, deviceID: UUID, applicationUsername: String?, after: TransactionID?
    ) {
        self.idempotencyKey = idempotencyKey
        self.bundleID = bundleID
        self.deviceID = deviceID
        self.applicationUsername = applicationUsername
        self.after = after
    }

    private enum CodingKeys: String, CodingKey {
        case idempotencyKey
        case bundleID = "bundleId"
        case deviceID = "deviceId"
        case applicationUsername, after
    }
}

/// A page of restored transactions, in the order in which they were bought. Each transaction has its own id and a
/// `purchaseDate`, which is that of the restore. Its `originalTransactionID` and `originalPurchaseDate` are those of
/// the first transaction.
public struct RestoreResponse: Decodable, Sendable, Equatable {
    /// The restored transactions.
    public var transactions: [TransactionDescription]
    /// Send this value as `after` to get the next page; nil on the last page.
    public var next: TransactionID?

    /// Creates a restore response.
    public init(transactions: [TransactionDescription], next: TransactionID?) {
        self.transactions = transactions
        self.next = next
    }
}
