import Database
import StoreWire

/// An account's permanent ownership of a product, such as a non-consumable.
struct Ownership: Sendable, Equatable {
    var accountID: AccountID
    var bundleID: BundleID
    var productID: ProductID
    var originalTransactionID: TransactionID
    var originalPurchaseDate: Int64

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
