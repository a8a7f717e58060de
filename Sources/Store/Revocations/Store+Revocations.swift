import Database
import StoreWire

/// Why something was given back (`cancellation_reason` of receipts).
public enum RevocationReason: Int64, Sendable, CaseIterable {
    /// Another reason, such as a purchase by accident.
    case other = 0
    /// The customer had an issue with the app.
    case app = 1
}

extension Store {
    /// Refunds a transaction: receipts carry its cancellation from now on, what it gave for good can be bought again, and
    /// the account's devices are told. Of what is owned once, every delivery of the same purchase goes with it.
    /// - Returns: the transaction as it is now.
    /// - Throws: ``StoreError`` `unknown_transaction`, or `wrong_state` when it was refunded before; ``DatabaseError``.
    public func refund(_ transactionID: TransactionID, reason: RevocationReason) async throws -> Transaction {
        let now = clock.milliseconds
        return try await database.write { connection in
            guard let found = try Transactions.find(transactionID, connection) else {
                throw StoreError(.unknownTransaction, "The ledger has no such transaction.")
            }
            guard try Transactions.revoke(found, at: now, reason: reason, connection) else {
                throw StoreError(.wrongState, "The transaction was refunded before.")
            }
            if found.kind.isOwnedOnce { try Ownership.remove(found, connection) }
            if found.kind != .consumable { try Revocations.insert(found, connection) }
            return try Transactions.find(transactionID, connection) ?? found
        }
    }
}

extension Transactions {
    /// Marks a transaction, and of what is owned once all deliveries of the purchase; false when it is marked already.
    static func revoke(
        _ transaction: Transaction, at milliseconds: Int64, reason: RevocationReason, _ connection: Connection
    ) throws -> Bool {
        let changed = try connection.execute(
            """
            UPDATE transactions SET revoked_at = $3, revocation_reason = $4
            WHERE account_id = $1 AND transaction_id = $2 AND revoked_at IS NULL
            """,
            [transaction.accountID.rawValue, transaction.transactionID.rawValue, milliseconds, reason.rawValue])
        guard changed == 1 else { return false }
        guard transaction.kind.isOwnedOnce else { return true }
        try connection.execute(
            """
            UPDATE transactions SET revoked_at = $4, revocation_reason = $5
            WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' AND original_transaction_id = $3
                AND revoked_at IS NULL
            """,
            [
                transaction.accountID.rawValue, transaction.bundleID.rawValue,
                transaction.originalTransactionID.rawValue, milliseconds, reason.rawValue,
            ])
        return true
    }
}

extension Ownership {
    /// Takes away what a purchase gave; what another purchase gave stays.
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
}

/// What devices are told of refunds, in the order of their numbers.
enum Revocations {
    /// The most that one answer names.
    static let page = 1000

    static func insert(_ transaction: Transaction, _ connection: Connection) throws {
        // Writes are as if run one after the other, so no two take the same number.
        let last = try connection.queryOne(
            "SELECT max(number) FROM revocations WHERE account_id = $1 AND bundle_id = $2",
            [transaction.accountID.rawValue, transaction.bundleID.rawValue]
        )?.optionalInt64(0)
        try connection.execute(
            """
            INSERT INTO revocations (account_id, bundle_id, number, product_id, transaction_id)
            VALUES ($1, $2, $3, $4, $5)
            """,
            [
                transaction.accountID.rawValue, transaction.bundleID.rawValue, (last ?? 0) + 1,
                transaction.productID.rawValue, transaction.transactionID.rawValue,
            ])
    }

    /// The products that were lost after a number and are not owned otherwise, and the last number looked at.
    static func lost(
        by accountID: AccountID, in bundleID: BundleID, after number: Int64, now: Int64, _ connection: Connection
    ) throws -> (productIDs: [ProductID], last: Int64) {
        let rows = try connection.query(
            """
            SELECT number, product_id FROM revocations WHERE account_id = $1 AND bundle_id = $2 AND number > $3
            ORDER BY number LIMIT $4
            """, [accountID.rawValue, bundleID.rawValue, number, page])
        var last = number
        var seen: Set<ProductID> = []
        var lost: [ProductID] = []
        for row in rows {
            last = try row.int64(0)
            let productID = ProductID(try row.string(1))
            guard seen.insert(productID).inserted else { continue }
            if try !holds(productID, accountID, bundleID, now: now, connection) { lost.append(productID) }
        }
        return (lost, last)
    }

    /// Whether another transaction still gives the product.
    private static func holds(
        _ productID: ProductID, _ accountID: AccountID, _ bundleID: BundleID, now: Int64, _ connection: Connection
    ) throws -> Bool {
        try connection.queryOne(
            """
            SELECT 1 FROM transactions
            WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' AND product_id = $3 AND revoked_at IS NULL
                AND (expires_date IS NULL OR expires_date > $4)
            """, [accountID.rawValue, bundleID.rawValue, productID.rawValue, now]) != nil
    }
}
