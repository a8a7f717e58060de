import Database
import Foundation
import StoreWire

/// The purchase of an item: a row of the ledger.
public struct ItemPurchase: Sendable, Equatable {
    /// The purchase's identifier.
    public var transactionID: TransactionID
    /// The account that bought the item.
    public var accountID: AccountID
    /// The item's number.
    public var item: Int64
    /// The key of the request that bought it.
    public var idempotencyKey: UUID
    /// The amount that was paid; zero for a free item.
    public var price: Money
    /// The storefront that sold it, ISO 3166-1 alpha-3.
    public var storefront: String
    /// The app's newest version at that time; nil for other kinds.
    public var version: String?
    /// The time in milliseconds since 1970.
    public var purchaseDate: Int64
    /// The time of a refund, in milliseconds since 1970; nil without one.
    public var revokedAt: Int64?
    /// The reason of a refund; nil without one.
    public var revocationReason: RevocationReason?
    /// The payment processor's reference.
    var paymentReference: String

    static let columns = """
        transaction_id, account_id, item, idempotency_key, price, currency, storefront, version, payment_reference,
        purchase_date, revoked_at, revocation_reason
        """

    init(_ row: Row) throws {
        transactionID = TransactionID(rawValue: try row.int64(0))
        accountID = AccountID(rawValue: try row.string(1))
        item = try row.int64(2)
        guard let key = UUID(uuidString: try row.string(3)) else {
            throw StoreError(.unavailable, "The ledger has an item's purchase with an unreadable key.")
        }
        idempotencyKey = key
        price = Money(milliunits: try row.int64(4), currency: try row.string(5))
        storefront = try row.string(6)
        version = try row.optionalString(7)
        paymentReference = try row.string(8)
        purchaseDate = try row.int64(9)
        revokedAt = try row.optionalInt64(10)
        revocationReason = try row.optionalInt64(11).flatMap(RevocationReason.init)
    }

    init(
        _ transactionID: TransactionID, _ item: CatalogItem, _ price: Money, _ request: ItemPurchaseRequest,
        by account: Account, reference: String, at time: Int64
    ) {
        self.transactionID = transactionID
        accountID = account.accountID
        self.item = item.number
        idempotencyKey = request.idempotencyKey
        self.price = price
        storefront = account.storefront
        version = item.versions.first?.version
        paymentReference = reference
        purchaseDate = time
    }
}

/// The rows of `item_purchases`.
enum ItemPurchases {
    static func highestID(_ connection: Connection) throws -> TransactionID? {
        try connection.queryOne("SELECT max(transaction_id) FROM item_purchases", [])?.optionalInt64(0)
            .map { TransactionID(rawValue: $0) }
    }

    static func find(_ transactionID: TransactionID, _ connection: Connection) throws -> ItemPurchase? {
        try connection.queryOne(
            "SELECT \(ItemPurchase.columns) FROM item_purchases WHERE transaction_id = $1", [transactionID.rawValue]
        ).map { try ItemPurchase($0) }
    }

    static func find(key: UUID, _ connection: Connection) throws -> ItemPurchase? {
        try connection.queryOne(
            "SELECT \(ItemPurchase.columns) FROM item_purchases WHERE idempotency_key = $1", [key.uuidString]
        ).map { try ItemPurchase($0) }
    }

    /// The purchase by which an account owns an item.
    static func owned(_ item: Int64, by accountID: AccountID, _ connection: Connection) throws -> ItemPurchase? {
        try connection.queryOne(
            """
            SELECT \(ItemPurchase.columns) FROM item_purchases
            WHERE account_id = $1 AND item = $2 AND revoked_at IS NULL
            """, [accountID.rawValue, item]
        ).map { try ItemPurchase($0) }
    }

    /// The purchases that were not refunded, oldest first.
    static func owned(
        by accountID: AccountID, after: TransactionID?, limit: Int, _ connection: Connection
    ) throws -> [ItemPurchase] {
        try connection.query(
            """
            SELECT \(ItemPurchase.columns) FROM item_purchases
            WHERE account_id = $1 AND transaction_id > $2 AND revoked_at IS NULL ORDER BY transaction_id LIMIT $3
            """, [accountID.rawValue, after?.rawValue ?? 0, Int64(limit)]
        ).map { try ItemPurchase($0) }
    }

    /// The account's purchases that were refunded at the moment of another purchase.
    static func revoked(with purchase: ItemPurchase, _ connection: Connection) throws -> [ItemPurchase] {
        try connection.query(
            """
            SELECT \(ItemPurchase.columns) FROM item_purchases
            WHERE account_id = $1 AND revoked_at = $2 ORDER BY transaction_id LIMIT 1000
            """, [purchase.accountID.rawValue, purchase.purchaseDate]
        ).map { try ItemPurchase($0) }
    }

    /// The newest purchases before an identifier. A filter other than the account looks at
    /// ``LedgerQuery/mostLooked`` rows.
    static func page(_ query: LedgerQuery, _ connection: Connection) throws -> LedgerPage<ItemPurchase> {
        guard query.includesItems else { return LedgerPage(rows: [], next: nil) }
        let before = query.before?.rawValue ?? Int64(1) << 53
        let account: [any SQLConvertible] = query.accountID.map { [$0.rawValue] } ?? []
        var floor: TransactionID?
        if query.isFiltered {
            let bounds: [any SQLConvertible] = [before, LedgerQuery.mostLooked - 1]
            floor = try connection.queryOne(
                """
                SELECT transaction_id FROM item_purchases
                WHERE transaction_id < $1 \(account.isEmpty ? "" : "AND account_id = $3")
                ORDER BY transaction_id DESC LIMIT 1 OFFSET $2
                """, bounds + account
            ).map { TransactionID(rawValue: try $0.int64(0)) }
        }
        let state =
            switch query.state {
            case nil: ""
            case .refunded: "AND revoked_at IS NOT NULL"
            case .finished, .unfinished: "AND revoked_at IS NULL"
            }
        let selection: [any SQLConvertible] = [
            before, floor?.rawValue ?? 0, query.item, query.from, query.until, query.limit + 1,
        ]
        let found = try connection.query(
            """
            SELECT \(ItemPurchase.columns) FROM item_purchases
            WHERE transaction_id < $1 AND transaction_id >= $2 \(account.isEmpty ? "" : "AND account_id = $7")
                AND (CAST($3 AS BIGINT) IS NULL OR item = $3) AND (CAST($4 AS BIGINT) IS NULL OR purchase_date >= $4)
                AND (CAST($5 AS BIGINT) IS NULL OR purchase_date < $5) \(state)
            ORDER BY transaction_id DESC LIMIT $6
            """, selection + account
        ).map { try ItemPurchase($0) }
        return LedgerPage(found, limit: query.limit, floor: floor, id: \.transactionID)
    }

    /// Deletes the purchases of an account, for a tester's cleared history.
    /// - Returns: the number of purchases.
    static func delete(of accountID: AccountID, _ connection: Connection) throws -> Int {
        try connection.execute("DELETE FROM item_purchases WHERE account_id = $1", [accountID.rawValue])
    }

    /// The number of purchases by item in a storefront and time, without those refunded; the best-selling item first.
    static func sales(
        in storefront: String, from first: Int64, until end: Int64, limit: Int, _ connection: Connection
    ) throws -> [ItemSales] {
        try connection.query(
            """
            SELECT item, COUNT(*) FROM item_purchases
            WHERE storefront = $1 AND purchase_date >= $2 AND purchase_date < $3 AND revoked_at IS NULL
            GROUP BY item ORDER BY COUNT(*) DESC, item LIMIT $4
            """, [storefront, first, end, Int64(limit)]
        ).map { ItemSales(item: try $0.int64(0), count: try $0.int64(1)) }
    }

    static func insert(
        _ purchase: ItemPurchase, in environment: StoreEnvironment, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO item_purchases (transaction_id, account_id, item, idempotency_key, price, currency, storefront,
                version, payment_reference, purchase_date)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            """,
            [
                purchase.transactionID.rawValue, purchase.accountID.rawValue, purchase.item,
                purchase.idempotencyKey.uuidString, purchase.price.milliunits, purchase.price.currency,
                purchase.storefront, purchase.version, purchase.paymentReference, purchase.purchaseDate,
            ])
        // A tester's history can be cleared, so only production's rows show whether the server has the transaction.
        guard environment == .production else { return }
        connection.witness(
            "SELECT 1 FROM item_purchases WHERE transaction_id = $1", [.integer(purchase.transactionID.rawValue)])
    }

    /// Marks a purchase as refunded. Returns false when it was before.
    static func revoke(
        _ transactionID: TransactionID, at time: Int64, reason: RevocationReason, _ connection: Connection
    ) throws -> Bool {
        try connection.execute(
            """
            UPDATE item_purchases SET revoked_at = $2, revocation_reason = $3
            WHERE transaction_id = $1 AND revoked_at IS NULL
            """, [transactionID.rawValue, time, reason.rawValue]) == 1
    }
}
