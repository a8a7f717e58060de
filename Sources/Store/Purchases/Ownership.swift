import Database
import StoreWire

/// An account's permanent ownership of a product, such as a non-consumable.
public struct Ownership: Sendable, Equatable {
    /// The account.
    public var accountID: AccountID
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The product.
    public var productID: ProductID
    /// The first transaction of the purchase.
    public var originalTransactionID: TransactionID
    /// When the product was bought, in milliseconds since 1970.
    public var originalPurchaseDate: Int64

    init(_ first: Transaction) {
        accountID = first.accountID
        bundleID = first.bundleID
        productID = first.productID
        originalTransactionID = first.transactionID
        originalPurchaseDate = first.purchaseDate
    }

    static func find(
        _ accountID: AccountID, _ bundleID: BundleID, _ productID: ProductID, _ connection: Connection
    ) throws -> Ownership? {
        try connection.queryOne(
            """
            SELECT original_transaction_id, original_purchase_date FROM ownerships
            WHERE account_id = $1 AND bundle_id = $2 AND product_id = $3
            """, [accountID.rawValue, bundleID.rawValue, productID.rawValue]
        ).map { row in
            Ownership(
                accountID: accountID, bundleID: bundleID, productID: productID,
                originalTransactionID: TransactionID(rawValue: try row.int64(0)), originalPurchaseDate: try row.int64(1)
            )
        }
    }

    /// The products that an account owns.
    static func all(of accountID: AccountID, limit: Int, _ connection: Connection) throws -> [Ownership] {
        try connection.query(
            """
            SELECT bundle_id, product_id, original_transaction_id, original_purchase_date FROM ownerships
            WHERE account_id = $1 ORDER BY bundle_id, product_id LIMIT $2
            """, [accountID.rawValue, limit]
        ).map { row in
            Ownership(
                accountID: accountID, bundleID: BundleID(try row.string(0)), productID: ProductID(try row.string(1)),
                originalTransactionID: TransactionID(rawValue: try row.int64(2)), originalPurchaseDate: try row.int64(3)
            )
        }
    }

    static func delete(of accountID: AccountID, _ connection: Connection) throws {
        try connection.execute("DELETE FROM ownerships WHERE account_id = $1", [accountID.rawValue])
    }

    /// Records the ownership. Returns false when the account already owns the product.
    func insert(_ connection: Connection) throws -> Bool {
        try connection.execute(
            """
            INSERT INTO ownerships (account_id, bundle_id, product_id, original_transaction_id, original_purchase_date)
            VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
            """,
            [
                accountID.rawValue, bundleID.rawValue, productID.rawValue, originalTransactionID.rawValue,
                originalPurchaseDate,
            ]) > 0
    }

    /// Removes the ownership that a purchase created. Ownership from another purchase stays.
    static func remove(_ transaction: Transaction, _ connection: Connection) throws {
        try connection.execute(
            """
            DELETE FROM ownerships
            WHERE account_id = $1 AND bundle_id = $2 AND product_id = $3 AND original_transaction_id = $4
            """,
            [
                transaction.accountID.rawValue, transaction.bundleID.rawValue, transaction.productID.rawValue,
                transaction.originalTransactionID.rawValue,
            ])
    }

    private init(
        accountID: AccountID, bundleID: BundleID, productID: ProductID, originalTransactionID: TransactionID,
        originalPurchaseDate: Int64
    ) {
        self.accountID = accountID
        self.bundleID = bundleID
        self.productID = productID
        self.originalTransactionID = originalTransactionID
        self.originalPurchaseDate = originalPurchaseDate
    }
}
