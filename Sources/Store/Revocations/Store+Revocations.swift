import Database
import StoreWire

/// Why something was given back (`cancellation_reason` of receipts).
public enum RevocationReason: Int64, Sendable, CaseIterable {
    /// Another reason, such as a purchase by accident.
    case other = 0
    /// The customer had an issue with the app.
    case app = 1
}

/// What a refund gave back.
public struct RefundedPurchase: Sendable, Equatable {
    /// The transaction that was asked for, then every other delivery of the same purchase, oldest first.
    public var transactions: [Transaction]
    /// What was paid for them.
    public var amount: Money
}

extension Store {
    /// Refunds a transaction: receipts carry its cancellation from now on, what it gave for good can be bought again, and
    /// the account's devices are told. Of what is owned once, every delivery of the same purchase goes with it.
    ///
    /// The payment processor is told after the ledger was committed. Where it could not be told, or the store was stopped in between, the
    /// refund is ordered again: the ledger stays as it is, and the processor, to which the same transaction is the same refund, is told again.
    /// - Returns: what was given back, as it is now.
    /// - Throws: ``StoreError`` `unknown_transaction`; `wrong_state` when it was refunded before, with the processor told again; `unavailable` when
    ///   the ledger has the refund and the processor could not be told; ``DatabaseError``.
    public func refund(_ transactionID: TransactionID, reason: RevocationReason) async throws -> RefundedPurchase {
        let now = clock.milliseconds
        let (refunded, payments, isNew) = try await database.write { connection in
            guard let found = try Transactions.find(transactionID, connection) else {
                throw StoreError(.unknownTransaction, "The ledger has no such transaction.")
            }
            let isNew = try Transactions.revoke(found, at: now, reason: reason, connection)
            if isNew {
                if found.kind.isOwnedOnce { try Ownership.remove(found, connection) }
                if found.kind != .consumable { try Revocations.insert(found, connection) }
            }
            let transactions = try Transactions.revoked(with: found, connection)
            return (
                RefundedPurchase(found, transactions),
                try transactions.compactMap { try PaymentRefund($0, connection) },
                isNew
            )
        }
        do {
            for payment in payments { try await processor.refund(payment) }
        } catch {
            throw StoreError(
                .unavailable,
                "The ledger has the refund, but the payment processor could not be told. Refund the transaction again to tell it."
            )
        }
        guard isNew else { throw StoreError(.wrongState, "The transaction was refunded before.") }
        return refunded
    }
}

extension RefundedPurchase {
    init(_ asked: Transaction, _ all: [Transaction]) {
        transactions =
            all.filter { $0.transactionID == asked.transactionID }
            + all.filter { $0.transactionID != asked.transactionID }
        // Of the deliveries of one purchase the first alone was paid for.
        amount = all.map(\.price).first { $0.milliunits > 0 } ?? asked.price
    }
}

extension PaymentRefund {
    /// What was paid for a transaction; nil when nothing was.
    init?(_ transaction: Transaction, _ connection: Connection) throws {
        guard transaction.price.milliunits > 0, let key = transaction.idempotencyKey,
            let reference = try Purchase.find(key, connection)?.paymentReference
        else { return nil }
        self.init(
            transactionID: transaction.transactionID, idempotencyKey: key, reference: reference,
            amount: transaction.price)
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

    /// A revoked transaction and, of what is owned once, all deliveries of the purchase, oldest first.
    static func revoked(with transaction: Transaction, _ connection: Connection) throws -> [Transaction] {
        guard transaction.kind.isOwnedOnce else {
            return try find(transaction.transactionID, connection).map { [$0] } ?? []
        }
        return try connection.query(
            """
            SELECT \(Transaction.columns) FROM transactions
            WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' AND original_transaction_id = $3
                AND revoked_at IS NOT NULL
            ORDER BY transaction_id
            """,
            [
                transaction.accountID.rawValue, transaction.bundleID.rawValue,
                transaction.originalTransactionID.rawValue,
            ]
        ).map { try Transaction($0) }
    }

    /// Whether a transaction gives the account the product now.
    static func hold(
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

    /// The products that were lost after a number and are not owned otherwise, the last number looked at, and whether there are more after it.
    static func lost(
        by accountID: AccountID, in bundleID: BundleID, after number: Int64, now: Int64, _ connection: Connection
    ) throws -> (productIDs: [ProductID], last: Int64, hasMore: Bool) {
        let rows = try connection.query(
            """
            SELECT number, product_id FROM revocations WHERE account_id = $1 AND bundle_id = $2 AND number > $3
            ORDER BY number LIMIT $4
            """, [accountID.rawValue, bundleID.rawValue, number, page + 1])
        var last = number
        var seen: Set<ProductID> = []
        var lost: [ProductID] = []
        for row in rows.prefix(page) {
            last = try row.int64(0)
            let productID = ProductID(try row.string(1))
            guard seen.insert(productID).inserted else { continue }
            if try !Transactions.hold(productID, accountID, bundleID, now: now, connection) { lost.append(productID) }
        }
        return (lost, last, rows.count > page)
    }
}
