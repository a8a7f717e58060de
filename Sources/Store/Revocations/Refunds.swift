import Crypto
import Database
import Foundation
import StoreWire
import Synchronization

/// Why a payment, or a part of it, was given back. The raw values are those of the database.
enum RefundKind: String, Sendable {
    /// All that was paid.
    case whole
    /// The part of a subscription period that was not over, or of another product that was not used.
    case prorated
    /// The part of a subscription period that a change of plan replaced.
    case upgrade

    init(_ share: RefundShare) { self = share == .whole ? .whole : .prorated }
}

/// The table `refunds`: the amounts that were given back, each once.
///
/// Reversing a refund charges its amount again, which is a payment of its own. A later refund then has a row for each
/// payment from which it gives something back, the newest payment first.
enum Refunds {
    /// The highest identifier. Later ones must be higher.
    static func highestID(_ connection: Connection) throws -> TransactionID? {
        try connection.queryOne("SELECT max(refund_id) FROM refunds", [])?.optionalInt64(0)
            .map { TransactionID(rawValue: $0) }
    }

    /// Records the refund of a transaction, unless nothing is left to refund.
    /// - Parameters:
    ///   - date: when it is refunded.
    ///   - unusedSince: the date after which a period is unused; nil for the date of the refund.
    ///   - consumed: how much of another product was used, in thousandths of a per cent; nil for all.
    static func add(
        _ kind: RefundKind, _ transaction: Transaction, at date: Int64, unusedSince: Int64? = nil,
        consumed: Int64? = nil, _ recorder: Recorder, _ connection: Connection
    ) throws {
        let share =
            kind == .whole
            ? transaction.price : transaction.unusedShare(at: unusedSince ?? date, consumed: consumed)
        // What a change of plan gave back was unused, too.
        let amount = share.milliunits - transaction.refunded
        guard amount > 0 else { return }
        try Transactions.addRefund(amount, to: transaction.transactionID, connection)
        var rest = amount
        for payment in try history(of: transaction, connection).payments.reversed() {
            let part = min(rest, payment.left)
            try insert(part, kind, of: transaction, at: date, recorder, connection)
            rest -= part
        }
        try insert(rest, kind, of: transaction, at: date, recorder, connection)
    }

    private static func insert(
        _ amount: Int64, _ kind: RefundKind, of transaction: Transaction, at date: Int64, _ recorder: Recorder,
        _ connection: Connection
    ) throws {
        guard amount > 0 else { return }
        try connection.execute(
            """
            INSERT INTO refunds (refund_id, transaction_id, kind, amount, currency, refunded_at, is_told)
            VALUES ($1, $2, $3, $4, $5, $6, FALSE)
            """,
            [
                recorder.next().rawValue, transaction.transactionID.rawValue, kind.rawValue, amount,
                transaction.price.currency, date,
            ])
    }

    /// A payment of the processor: the purchase's, or one that reversed a refund.
    private struct Payment {
        let key: UUID
        let reference: String
        /// The part of it that was not given back, in milliunits.
        var left: Int64
    }

    private static let columns = "refund_id, amount, currency, reversed_at, reversal_reference, is_told"

    /// The refunds of a transaction for the payment processor. A refund that was reversed is one of them until the
    /// processor is told of it, because its amount was charged again.
    static func payments(of transaction: Transaction, _ connection: Connection) throws -> [PaymentRefund] {
        try history(of: transaction, connection).refunds
    }

    /// The payments of a transaction and its refunds for the processor, oldest first; both empty when the processor has
    /// no payment for it.
    private static func history(
        of transaction: Transaction, _ connection: Connection
    ) throws -> (payments: [Payment], refunds: [PaymentRefund]) {
        guard let key = transaction.idempotencyKey,
            let reference = try Purchase.find(key, connection)?.paymentReference
        else { return ([], []) }
        var payments = [Payment(key: key, reference: reference, left: transaction.price.milliunits)]
        var refunds: [PaymentRefund] = []
        var reversed: Int64 = 0
        let rows = try connection.query(
            "SELECT \(columns) FROM refunds WHERE transaction_id = $1 ORDER BY refund_id",
            [transaction.transactionID.rawValue])
        for row in rows {
            let id = TransactionID(rawValue: try row.int64(0))
            let amount = Money(milliunits: try row.int64(1), currency: try row.string(2))
            let payment = take(amount.milliunits, from: &payments)
            let isReversed = try row.optionalInt64(3) != nil
            if try !isReversed || !row.bool(5) {
                refunds.append(
                    PaymentRefund(
                        refundID: id, transactionID: transaction.transactionID, idempotencyKey: payment.key,
                        reference: payment.reference, amount: amount))
            }
            guard isReversed else { continue }
            reversed += amount.milliunits
            guard let reversal = try row.optionalString(4) else { continue }
            payments.append(Payment(key: reversalKey(id), reference: reversal, left: reversed))
            reversed = 0
        }
        return (payments, refunds)
    }

    /// Takes a refund from payments, the newest first. Only a refund of an older version takes from several.
    /// - Returns: the first payment that it takes from.
    private static func take(_ amount: Int64, from payments: inout [Payment]) -> Payment {
        let first = payments.lastIndex { $0.left > 0 } ?? 0
        var rest = amount
        for index in payments.indices.reversed() {
            let part = min(rest, payments[index].left)
            payments[index].left -= part
            rest -= part
        }
        return payments[first]
    }

    /// Refunds that the payment processor was not told of, oldest first.
    /// - Parameter last: the refund after which they begin; nil for the oldest.
    static func untold(
        after last: TransactionID?, limit: Int, _ connection: Connection
    ) throws -> [PaymentRefund] {
        try connection.query(
            """
            SELECT refund_id, transaction_id FROM refunds
            WHERE is_told = FALSE AND refund_id > $1 ORDER BY refund_id LIMIT $2
            """, [last?.rawValue ?? 0, limit]
        ).flatMap { row -> [PaymentRefund] in
            let id = try row.int64(0)
            guard let transaction = try Transactions.find(TransactionID(rawValue: try row.int64(1)), connection)
            else { return [] }
            return try payments(of: transaction, connection).filter { $0.refundID.rawValue == id }
        }
    }

    static func markTold(_ ids: [TransactionID], _ connection: Connection) throws {
        for id in ids {
            try connection.execute("UPDATE refunds SET is_told = TRUE WHERE refund_id = $1", [id.rawValue])
        }
    }

    /// The refund that a reversal takes back: the one that holds and is not a change of plan, with the amount of all
    /// its rows and the identifier of the last one; nil without one.
    static func toReverse(
        of id: TransactionID, _ connection: Connection
    ) throws -> (id: TransactionID, amount: Money)? {
        try connection.queryOne(
            """
            SELECT max(refund_id), CAST(sum(amount) AS BIGINT), currency FROM refunds
            WHERE transaction_id = $1 AND kind <> 'upgrade' AND reversed_at IS NULL GROUP BY currency
            """, [id.rawValue]
        ).map { row in
            (
                TransactionID(rawValue: try row.int64(0)),
                Money(milliunits: try row.int64(1), currency: try row.string(2))
            )
        }
    }

    /// Records that the refund of a transaction was reversed, and the payment that charged its amount again.
    /// - Parameter id: the refund, as ``toReverse(of:_:)`` gives it.
    static func reverse(
        _ id: TransactionID, of transactionID: TransactionID, at date: Int64, reference: String,
        _ connection: Connection
    ) throws {
        try connection.execute(
            """
            UPDATE refunds SET reversed_at = $2
            WHERE transaction_id = $1 AND kind <> 'upgrade' AND reversed_at IS NULL
            """, [transactionID.rawValue, date])
        try connection.execute(
            "UPDATE refunds SET reversal_reference = $2 WHERE refund_id = $1", [id.rawValue, reference])
    }

    static func delete(of ids: [TransactionID], _ connection: Connection) throws {
        for id in ids {
            try connection.execute("DELETE FROM refunds WHERE transaction_id = $1", [id.rawValue])
        }
    }

    /// The key of the payment that reverses a refund.
    static func reversalKey(_ id: TransactionID) -> UUID {
        PaymentKey.derived(from: [id.rawValue, 0])
    }
}

/// Keys of payments that the store makes by itself.
enum PaymentKey {
    /// A key that depends only on these numbers, so that a repeated payment charges once.
    static func derived(from numbers: [Int64]) -> UUID {
        var hash = SHA256()
        for number in numbers {
            withUnsafeBytes(of: number.bigEndian) { hash.update(bufferPointer: $0) }
        }
        var bytes = Array(hash.finalize().prefix(16))
        // RFC 9562: version 8, the variant of all.
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// Whether a key has the form of ``derived(from:)``. The keys of devices have another version.
    static func isDerived(_ key: UUID) -> Bool { key.uuid.6 >> 4 == 8 }
}

extension Transaction {
    /// The transaction of its payment: of a product that is owned once the first delivery, since later ones cost
    /// nothing.
    var paidTransactionID: TransactionID { kind.isOwnedOnce ? originalTransactionID : transactionID }

    /// The part of the price for what is unused, rounded down to the currency's smallest unit: of a subscription period
    /// the time after a date.
    /// - Parameter consumed: how much of another product was used, in thousandths of a per cent; nil for all.
    func unusedShare(at date: Int64, consumed: Int64? = nil) -> Money {
        guard let end = expiresDate else {
            let everything: Int64 = 100_000
            return price.share(everything - (consumed ?? everything), of: everything)
        }
        return price.share(end - max(date, purchaseDate), of: end - purchaseDate)
    }
}

extension Store {
    /// The most refunds that the payment processor is told of at once.
    private static let mostTold = 100

    /// Tells the payment processor of refunds that it does not know. A refund that cannot be told now holds up no
    /// other, and a later call tells it. A call that ended early is continued by the next one, so that refunds which
    /// fail each time do not hold up the later ones either.
    /// - Parameter mostFailures: the refunds that the call tries in vain before it ends, because the processor may be
    ///   away. A call that a customer waits for tries one.
    public func tellRefunds(mostFailures: Int = 10) async {
        var last = lastRefundTried.withLock { $0 }
        var failures = 0
        do {
            while failures < mostFailures {
                let payments = try await database.read { [last] connection in
                    try Refunds.untold(after: last, limit: Self.mostTold, connection)
                }
                guard !payments.isEmpty else {
                    lastRefundTried.withLock { $0 = nil }
                    return
                }
                var told: [PaymentRefund] = []
                for payment in payments where failures < mostFailures {
                    last = payment.refundID
                    do {
                        try await processor.refund(payment)
                        told.append(payment)
                    } catch {
                        failures += 1
                    }
                }
                try await markTold(told)
            }
            lastRefundTried.withLock { [last] in $0 = last }
        } catch {
            // The database is away. A later call tells the refunds.
        }
    }

    func markTold(_ payments: [PaymentRefund]) async throws {
        guard !payments.isEmpty else { return }
        try await database.write { try Refunds.markTold(payments.map(\.refundID), $0) }
    }

    /// Takes a refund back and charges its amount again. The purchase holds again: the account owns the product, and
    /// receipts show no cancellation. Each delivery of a product that is owned once stands for the whole purchase, also
    /// one that cost nothing. A subscription is active until its period ends, and does not renew.
    ///
    /// A crash between the payment and its record charges nobody twice: repeat the call.
    /// - Returns: the transaction in its new state, and the amount that was charged.
    /// - Throws: ``StoreError`` `unknown_transaction`; `wrong_state` when the transaction is not refunded or the
    ///   payment is declined, or when a member of a family shared it; `unavailable` when the payment processor cannot
    ///   be reached; ``DatabaseError``.
    public func reverseRefund(_ transactionID: TransactionID) async throws -> RefundedPurchase {
        let notRefunded = StoreError(.wrongState, "The transaction is not refunded.")
        let (found, refund) = try await database.read { connection in
            let found = try Transactions.find(transactionID, connection)
            return (found, try found.flatMap { try Refunds.toReverse(of: $0.paidTransactionID, connection) })
        }
        guard let found, let account = try await accounts.account(found.accountID) else {
            throw StoreError(.unknownTransaction, "The ledger has no such transaction.")
        }
        guard found.revokedAt != nil else { throw notRefunded }
        if let source = found.sharedFrom {
            throw StoreError(
                .wrongState,
                "A member of the family shared this purchase, and nothing was paid for it. Reverse the refund of \(source) instead."
            )
        }
        var reference = Self.freeReference
        if let refund {
            let request = PurchaseRequest(
                idempotencyKey: Refunds.reversalKey(refund.id), bundleID: found.bundleID, productID: found.productID,
                quantity: 1, applicationUsername: nil, simulatesAskToBuy: false, agreedPrice: nil)
            switch try await authorize(refund.amount, request, account.accountID) {
            case .declined(let message):
                throw StoreError(.wrongState, "The amount could not be charged again: \(message)")
            case .approved(let made): reference = made
            }
        }
        let now = clock.milliseconds
        let (recorder, paid, catalog) = (recorder, reference, catalog.value)
        let after = try await database.write { connection -> Transaction in
            let paidID = found.paidTransactionID
            guard try Refunds.toReverse(of: paidID, connection)?.id == refund?.id,
                try Transactions.reinstate(found, recorder, connection)
            else { throw notRefunded }
            if let refund {
                try Refunds.reverse(refund.id, of: paidID, at: now, reference: paid, connection)
                try Transactions.addRefund(-refund.amount.milliunits, to: paidID, connection)
            }
            guard let after = try Transactions.find(transactionID, connection) else { throw notRefunded }
            if found.kind.isOwnedOnce,
                let first = try Transactions.find(found.originalTransactionID, connection)
            {
                _ = try Ownership(first).insert(connection)
            }
            // Of a product that is owned once, the first transaction is shared.
            try FamilyShares.reinstate(
                found.kind.isOwnedOnce ? found.originalTransactionID : transactionID,
                of: found.originalTransactionID, revokedAt: found.revokedAt ?? now, recorder, connection)
            if found.kind == .autoRenewableSubscription,
                var subscription = try Subscriptions.find(found.originalTransactionID, connection)
            {
                let news = subscription.refundReversed(transactionID, at: now)
                try Subscriptions.save(subscription, news, recorder, connection)
            }
            if try FamilyShares.canShare(found, connection, catalog.isShareable) {
                // Members who joined meanwhile get the purchase, too.
                let source =
                    found.kind.isOwnedOnce
                    ? try Transactions.find(found.originalTransactionID, connection) : after
                if let source, source.isCurrent(at: now) {
                    try FamilyShares.share(source, at: now, recorder, connection)
                }
            }
            try OneTimeNews.refundReversed.tell(of: after, at: now, recorder, connection)
            return after
        }
        changed(.transactions)
        // The members of the family get their shares back.
        tell(found.accountID)
        schedule.add(found.expiresDate)
        let nothing = Money(milliunits: 0, currency: after.price.currency)
        return RefundedPurchase(transactions: [after], amount: refund?.amount ?? nothing)
    }

    /// Refuses a refund that the customer asked for. Only the news, and the app's notifications, tell of it. The
    /// customer's request, if one waits, is declined.
    /// - Throws: ``StoreError`` `unknown_transaction`; `wrong_state` when the transaction is refunded;
    ///   `invalid_request` when a family shares it; ``DatabaseError``.
    public func declineRefund(_ transactionID: TransactionID) async throws {
        let (now, recorder) = (clock.milliseconds, recorder)
        try await database.write { try Self.declineRefund(transactionID, at: now, recorder, $0) }
        changed(.transactions)
    }

    /// Refuses a refund as ``declineRefund(_:)`` does, in a database transaction of the caller.
    /// - Parameter date: when it is refused, in milliseconds since 1970.
    static func declineRefund(
        _ transactionID: TransactionID, at date: Int64, _ recorder: Recorder, _ connection: Connection
    ) throws {
        guard let found = try Transactions.find(transactionID, connection) else {
            throw StoreError(.unknownTransaction, "The ledger has no such transaction.")
        }
        guard found.revokedAt == nil else { throw StoreError(.wrongState, "The transaction is refunded.") }
        guard found.sharedFrom == nil else {
            throw StoreError(
                .invalidRequest, "A member of the family shares this purchase, and nothing was paid for it.")
        }
        if let subscription = try Subscriptions.find(found.originalTransactionID, connection) {
            let news = subscription.refundDeclined(transactionID, at: date)
            try SubscriptionFeed.add(news, of: subscription, recorder, connection)
        }
        try OneTimeNews.refundDeclined.tell(of: found, at: date, recorder, connection)
        try RefundRequests.close(of: transactionID, as: .declined, at: date, connection)
    }
}
