import Database
import StoreWire

/// The rows of the ledger that the operator asks for. Properties that are nil select every row.
///
/// Only the account is served by an index. For the other filters the store looks at ``mostLooked`` rows at once.
public struct LedgerQuery: Sendable, Equatable {
    /// The state of a row.
    public enum State: String, Sendable, CaseIterable {
        /// Not finished by a device, and not refunded.
        case unfinished
        /// Finished by a device, and not refunded. Every purchase of an item is finished.
        case finished
        /// Refunded.
        case refunded
    }

    /// The most rows that one request looks at, apart from those of an account's index.
    public static let mostLooked = 20_000
    /// The kind of the purchases of items.
    public static let itemKind = "item"

    /// The app's bundle identifier. Items belong to no app.
    public var bundleID: BundleID?
    /// The product; `item.NUMBER` for an item.
    public var productID: ProductID?
    /// The kind of product as ``StoreWire/ProductKind`` writes it, or ``itemKind``.
    public var kind: String?
    /// The state.
    public var state: State?
    /// The first purchase date, in milliseconds since 1970.
    public var from: Int64?
    /// The purchase date before which the rows end, in milliseconds since 1970.
    public var until: Int64?
    /// The account.
    public var accountID: AccountID?
    /// The user name that the app gave with the payment.
    public var applicationUsername: String?
    /// The identifier before which the rows begin; nil for the newest.
    public var before: TransactionID?
    /// The most rows, 1 to 1,000.
    public var limit: Int

    /// Creates a query for the newest rows of all kinds.
    public init(before: TransactionID? = nil, accountID: AccountID? = nil, limit: Int = 50) {
        self.before = before
        self.accountID = accountID
        self.limit = min(max(limit, 1), 1_000)
    }

    /// Whether rows are selected by something that no index serves.
    var isFiltered: Bool {
        bundleID != nil || productID != nil || kind != nil || state != nil || from != nil || until != nil
            || applicationUsername != nil
    }

    /// The item that ``productID`` names; nil when it names a product.
    var item: Int64? {
        productID.flatMap { $0.rawValue.hasPrefix("item.") ? Int64($0.rawValue.dropFirst(5)) : nil }
    }

    /// Whether the purchase of an item can be selected.
    var includesItems: Bool {
        bundleID == nil && applicationUsername == nil && state != .unfinished
            && (kind ?? Self.itemKind) == Self.itemKind
            && (productID == nil || item != nil)
    }

    /// Whether the transaction of a product can be selected.
    var includesProducts: Bool { kind != Self.itemKind }
}

/// A part of a list that is ordered by identifiers, newest first.
public struct LedgerPage<Row: Sendable>: Sendable {
    /// The rows. There may be fewer than were asked for, even none, and more to find further on.
    public var rows: [Row]
    /// The identifier before which the list continues; nil at the end.
    public var next: TransactionID?

    /// Creates a part of a list.
    public init(rows: [Row], next: TransactionID?) {
        self.rows = rows
        self.next = next
    }

    /// Creates a part from the rows down to a floor.
    /// - Parameters:
    ///   - found: rows in their order, of which there may be more than the limit.
    ///   - floor: the lowest identifier that the query looked at; nil when it looked at all.
    init(_ found: [Row], limit: Int, floor: TransactionID?, id: (Row) -> TransactionID) {
        let isCut = found.count > limit
        rows = Array(found.prefix(limit))
        next = isCut ? rows.last.map(id) : floor
    }
}

/// A row of the ledger.
public enum LedgerRow: Sendable, Equatable {
    /// The transaction of a product.
    case product(Transaction)
    /// The purchase of an item of the storefront.
    case item(ItemPurchase)

    /// The account that bought.
    public var accountID: AccountID {
        switch self {
        case .product(let transaction): transaction.accountID
        case .item(let purchase): purchase.accountID
        }
    }

    /// The row's identifier.
    public var transactionID: TransactionID {
        switch self {
        case .product(let transaction): transaction.transactionID
        case .item(let purchase): purchase.transactionID
        }
    }
}

/// A row of the ledger with everything that belongs to it.
public struct LedgerEntry: Sendable {
    /// The row.
    public var row: LedgerRow
    /// The account that bought; nil when it does not exist any more.
    public var account: Account?
    /// The transactions of the same purchase, oldest first, at most 1,000; empty for an item.
    public var chain: [Transaction]
    /// The deliveries to devices that restored the transaction, newest first, at most 1,000.
    public var deliveries: [RestoredDelivery]
    /// The attempt that the row came from; nil when no payment of a device created it.
    public var attempt: PurchaseAttempt?
}

/// The delivery of a transaction to a device that restored it.
public struct RestoredDelivery: Sendable, Equatable {
    /// The delivery's own identifier.
    public var transactionID: TransactionID
    /// The transaction that was restored.
    public var sourceID: TransactionID
    /// The device.
    public var deviceID: String
    /// When the transaction was restored, in milliseconds since 1970.
    public var restoredAt: Int64
    /// When the app finished the delivery; nil until then.
    public var finishedAt: Int64?
}

extension Store {
    /// The most rows of one kind that belong to a row of the ledger.
    static let mostRelated = 1_000

    /// Returns rows of the ledger for the operator, newest first.
    /// - Throws: ``DatabaseError``.
    public func ledger(_ query: LedgerQuery) async throws -> LedgerPage<LedgerRow> {
        try await database.read { try Self.ledger(query, $0) }
    }

    /// Reads rows of the ledger as ``ledger(_:)`` does, in a database transaction of the caller.
    static func ledger(_ query: LedgerQuery, _ connection: Connection) throws -> LedgerPage<LedgerRow> {
        let products = try Transactions.page(query, connection)
        let items = try ItemPurchases.page(query, connection)
        // Each part is complete down to its own cursor, and both together down to the higher one.
        let floor = [products.next, items.next].compactMap(\.self).max()
        let rows = products.rows.map { LedgerRow.product($0) } + items.rows.map { LedgerRow.item($0) }
        return LedgerPage(
            rows.filter { row in floor.map { row.transactionID >= $0 } ?? true }
                .sorted { $0.transactionID > $1.transactionID },
            limit: query.limit, floor: floor, id: \.transactionID)
    }

    /// Returns the newest deliveries to devices that restored an account's transactions, at most ``mostRelated``.
    /// - Throws: ``DatabaseError``.
    public func restores(of account: Account, limit: Int) async throws -> [RestoredDelivery] {
        try await database.read {
            try RestoredTransactions.newest(of: account.accountID, limit: min(limit, Self.mostRelated), $0)
        }
    }

    /// Returns a row of the ledger with everything that belongs to it. A restored transaction's identifier finds its
    /// source.
    /// - Throws: ``StoreError`` `unknown_transaction`; ``DatabaseError``.
    public func ledgerEntry(_ transactionID: TransactionID) async throws -> LedgerEntry {
        let entry = try await database.read { connection -> LedgerEntry? in
            let source = try RestoredTransactions.source(of: transactionID, connection) ?? transactionID
            if let found = try Transactions.find(source, connection) {
                return LedgerEntry(
                    row: .product(found), account: try Accounts.account(found.accountID, connection),
                    chain: try Transactions.chain(of: found, limit: Self.mostRelated, connection),
                    deliveries: try RestoredTransactions.deliveries(of: found, limit: Self.mostRelated, connection),
                    attempt: try PurchaseAttempt.bought(.product(found), connection))
            }
            return try ItemPurchases.find(transactionID, connection).map { purchase in
                LedgerEntry(
                    row: .item(purchase), account: try Accounts.account(purchase.accountID, connection), chain: [],
                    deliveries: [], attempt: PurchaseAttempt(purchase))
            }
        }
        guard let entry else { throw StoreError(.unknownTransaction, "The ledger has no such transaction.") }
        return entry
    }
}
