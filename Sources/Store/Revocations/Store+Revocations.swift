import Database
import StoreWire

/// The reason for a refund (`cancellation_reason` of receipts).
public enum RevocationReason: Int64, Sendable, CaseIterable {
    /// Another reason, such as a purchase by accident.
    case other = 0
    /// The customer had an issue with the app.
    case app = 1
}

/// The result of a refund.
public struct RefundedPurchase: Sendable, Equatable {
    /// The requested transaction, then all other deliveries of the same purchase, oldest first.
    public var transactions: [Transaction]
    /// The amount that was refunded.
    public var amount: Money
}

/// How much of a payment a refund gives back.
public enum RefundShare: String, Sendable, CaseIterable {
    /// The price paid, less earlier refunds.
    case whole
    /// The part of a subscription period that is not over, less earlier refunds. With a customer's request, also the
    /// part of another product that was not used.
    case prorated
}

extension Store {
    /// Refunds a transaction. Receipts show its cancellation from now on, the account no longer owns the product, and
    /// its devices are notified. For a product that is owned once, all deliveries of the same purchase are refunded.
    /// The members of the family lose what was shared with them. The customer's request for it, if one waits, is
    /// approved.
    ///
    /// The store notifies the payment processor after the ledger has committed. If that fails, or the store stops in
    /// between, ``tellRefunds()`` does it later. A repeated call also does: the ledger stays unchanged, and the
    /// processor gets the same refund again, which has no further effect there.
    /// - Parameter share: how much is given back. A prorated refund is for subscription periods.
    /// - Returns: the refunded transactions in their new state, and the amount.
    /// - Throws: ``StoreError`` `unknown_transaction`; `invalid_request` for a prorated refund of another product;
    ///   `wrong_state` when the transaction was refunded before, after notifying the processor again, or when it is
    ///   shared by a family; `unavailable` when the ledger has the refund but the processor could not be reached;
    ///   ``DatabaseError``.
    public func refund(
        _ transactionID: TransactionID, reason: RevocationReason, share: RefundShare = .whole
    ) async throws -> RefundedPurchase {
        try await refund(transactionID, reason: reason, share: share, approving: nil)
    }

    /// Refunds a transaction as ``refund(_:reason:share:)`` does.
    /// - Parameters:
    ///   - share: how much is given back. With an approval, a prorated refund is for all products.
    ///   - approval: the approval of a customer's request; nil without one. With a date, the caller has done what was
    ///     due until then.
    /// - Throws: ``StoreError``, also `wrong_state` when the request was decided before; ``DatabaseError``.
    func refund(
        _ transactionID: TransactionID, reason: RevocationReason, share: RefundShare,
        approving approval: RefundApproval?
    ) async throws -> RefundedPurchase {
        let owner = try await database.read { try Transactions.find(transactionID, $0)?.accountID }
        if let owner, approval?.date == nil { try await settleSubscriptions(of: owner) }
        let now = approval?.date ?? clock.milliseconds
        let (refunded, payments, isNew, ended) = try await database.write { [recorder] connection in
            if let approval { try RefundRequests.checkWaits(approval.requestID, connection) }
            guard let found = try Transactions.find(transactionID, connection) else {
                throw StoreError(.unknownTransaction, "The ledger has no such transaction.")
            }
            guard share == .whole || found.kind == .autoRenewableSubscription || approval != nil else {
                throw StoreError(.invalidRequest, "Only the refund of a subscription period can be prorated.")
            }
            if let source = found.sharedFrom {
                throw StoreError(
                    .wrongState,
                    "A member of the family shares this purchase, and nothing was paid for it. Refund \(source) instead."
                )
            }
            if share == .prorated, let approval {
                guard
                    found.price.milliunits == 0
                        || found.unusedShare(at: approval.unusedSince ?? now, consumed: approval.consumed).milliunits
                            > found.refunded
                else { throw Self.nothingUnused }
            }
            let isNew = try Transactions.revoke(found, at: now, reason: reason, recorder, connection)
            var ended: Subscription?
            if isNew {
                for transaction in try Transactions.revoked(with: found, connection) {
                    try Refunds.add(
                        RefundKind(share), transaction, at: now, unusedSince: approval?.unusedSince,
                        consumed: approval?.consumed, recorder, connection)
                    try FamilyShares.revoke(transaction, at: now, recorder, connection)
                }
                if found.kind.isOwnedOnce { try Ownership.remove(found, connection) }
                if found.kind != .consumable { try Revocations.insert(found, connection) }
                if let after = try Transactions.find(transactionID, connection) {
                    try OneTimeNews.refund.tell(of: after, at: now, recorder, connection)
                }
                if found.kind == .autoRenewableSubscription,
                    var subscription = try Subscriptions.find(found.originalTransactionID, connection)
                {
                    ended = subscription
                    let news = subscription.refunded(found.transactionID, at: now)
                    try Subscriptions.save(subscription, news, recorder, connection)
                }
            }
            let transactions = try Transactions.revoked(with: found, connection)
            for transaction in transactions {
                try RefundRequests.close(of: transaction.transactionID, as: .approved, at: now, connection)
            }
            let payments = try transactions.flatMap { try Refunds.payments(of: $0, connection) }
            let amount = transactions.reduce(0) { $0 + $1.refunded } - found.refunded
            return (RefundedPurchase(found, transactions, amount: amount), payments, isNew, ended)
        }
        await voidDueRenewal(of: ended)
        changed(.transactions)
        if let accountID = refunded.transactions.first?.accountID { tell(accountID) }
        do {
            for payment in payments { try await processor.refund(payment) }
        } catch {
            throw StoreError(
                .unavailable,
                "The ledger has the refund, but the payment processor could not be reached. The store tries again each minute."
            )
        }
        try await markTold(payments)
        guard isNew else { throw StoreError(.wrongState, "The transaction was refunded before.") }
        return refunded
    }
}

extension RefundedPurchase {
    init(_ asked: Transaction, _ all: [Transaction], amount: Int64) {
        transactions =
            all.filter { $0.transactionID == asked.transactionID }
            + all.filter { $0.transactionID != asked.transactionID }
        self.amount = Money(milliunits: amount, currency: asked.price.currency)
    }
}

/// The refunds that devices are notified of, numbered for each account and app.
enum Revocations {
    /// The most refunds in one answer.
    static let page = 1000

    /// The number of the account's last refund in an app; 0 for none.
    static func lastNumber(
        of accountID: AccountID, in bundleID: BundleID, _ connection: Connection
    ) throws -> Int64 {
        try connection.queryOne(
            "SELECT max(number) FROM revocations WHERE account_id = $1 AND bundle_id = $2",
            [accountID.rawValue, bundleID.rawValue]
        )?.optionalInt64(0) ?? 0
    }

    static func insert(_ transaction: Transaction, _ connection: Connection) throws {
        // Write transactions are serializable, so no two take the same number.
        let last = try lastNumber(of: transaction.accountID, in: transaction.bundleID, connection)
        try connection.execute(
            """
            INSERT INTO revocations (account_id, bundle_id, number, product_id, transaction_id)
            VALUES ($1, $2, $3, $4, $5)
            """,
            [
                transaction.accountID.rawValue, transaction.bundleID.rawValue, last + 1,
                transaction.productID.rawValue, transaction.transactionID.rawValue,
            ])
    }

    /// The products that the account lost by refunds after a number and does not have otherwise, the last number read,
    /// and whether more follow.
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
        guard !lost.isEmpty else { return (lost, last, rows.count > page) }
        // No transaction shows a grace period. The refund of an earlier period takes nothing from it.
        let subscriptions =
            try Subscriptions.all(of: accountID, in: bundleID, connection)
            + FamilyShares.subscriptions(of: accountID, in: bundleID, connection)
        let active = Set(subscriptions.filter { $0.isActive(at: now) }.map(\.productID))
        return (lost.filter { !active.contains($0) }, last, rows.count > page)
    }
}
