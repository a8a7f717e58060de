import Database
import Foundation
import StoreWire

/// Queries of restored transactions: deliveries of earlier transactions under new identifiers.
enum RestoredTransactions {
    /// The identifier and date under which a source was restored.
    struct Delivery: Sendable, Equatable {
        var transactionID: TransactionID
        var restoredAt: Int64
    }

    /// The deliveries of the sources between two identifiers, by this restore or, if the device has not finished them,
    /// by an earlier one.
    static func deliveries(
        _ request: RestoreRequest, of accountID: AccountID, sources: ClosedRange<TransactionID>,
        _ connection: Connection
    ) throws -> [TransactionID: Delivery] {
        // Two queries, each with its own index. The delivery of this restore comes last and takes precedence.
        let questions: [(String, String)] = [
            ("device_id = $2 AND finished_at IS NULL", request.deviceID.uuidString),
            ("restore_key = $2", request.idempotencyKey.uuidString),
        ]
        var found: [TransactionID: Delivery] = [:]
        for (condition, value) in questions {
            let rows = try connection.query(
                """
                SELECT source_transaction_id, transaction_id, restored_at FROM restored_transactions
                WHERE account_id = $1 AND \(condition) AND source_transaction_id BETWEEN $3 AND $4
                """,
                [accountID.rawValue, value, sources.lowerBound.rawValue, sources.upperBound.rawValue])
            for row in rows {
                found[TransactionID(rawValue: try row.int64(0))] = Delivery(
                    transactionID: TransactionID(rawValue: try row.int64(1)), restoredAt: try row.int64(2))
            }
        }
        return found
    }

    static func insert(
        _ delivery: Delivery, of source: Transaction, _ request: RestoreRequest, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO restored_transactions
                (account_id, transaction_id, source_transaction_id, restore_key, device_id, restored_at)
            VALUES ($1, $2, $3, $4, $5, $6)
            """,
            [
                source.accountID.rawValue, delivery.transactionID.rawValue, source.transactionID.rawValue,
                request.idempotencyKey.uuidString, request.deviceID.uuidString, delivery.restoredAt,
            ])
    }

    /// The most devices of an account whose deliveries are kept, by their last restore.
    static let devices = 32

    /// Whether the table has no delivery to the device.
    static func isNew(_ deviceID: UUID, of accountID: AccountID, _ connection: Connection) throws -> Bool {
        try connection.queryOne(
            "SELECT 1 FROM restored_transactions WHERE account_id = $1 AND device_id = $2 LIMIT 1",
            [accountID.rawValue, deviceID.uuidString]) == nil
    }

    /// Deletes the finished deliveries of a page by earlier restores, after the page was delivered again. Each device
    /// then has one row for each source, or two while a restore is under way.
    ///
    /// This never deletes the highest identifier, because the page's new identifiers are higher.
    static func forgetFinished(
        _ request: RestoreRequest, of accountID: AccountID, sources: ClosedRange<TransactionID>,
        _ connection: Connection
    ) throws {
        try connection.execute(
            """
            DELETE FROM restored_transactions
            WHERE account_id = $1 AND device_id = $2 AND restore_key <> $3 AND finished_at IS NOT NULL
                AND source_transaction_id BETWEEN $4 AND $5
            """,
            [
                accountID.rawValue, request.deviceID.uuidString, request.idempotencyKey.uuidString,
                sources.lowerBound.rawValue, sources.upperBound.rawValue,
            ])
    }

    /// Deletes the deliveries to all but the ``devices`` devices of the account that restored last. This reads every
    /// device of the account, so it is called only for a new device.
    static func forgetDevices(of accountID: AccountID, _ connection: Connection) throws {
        // SQLite requires a limit before an offset. The grouping follows the index.
        try connection.execute(
            """
            DELETE FROM restored_transactions WHERE account_id = $1 AND device_id IN (
                SELECT device_id FROM restored_transactions WHERE account_id = $1
                GROUP BY account_id, device_id ORDER BY max(transaction_id) DESC LIMIT 1000000 OFFSET $2)
            """, [accountID.rawValue, devices])
    }

    /// The restored transaction with an identifier: its source with that identifier and the date of the restore.
    static func find(_ transactionID: TransactionID, _ connection: Connection) throws -> Transaction? {
        guard
            let row = try connection.queryOne(
                """
                SELECT account_id, source_transaction_id, restored_at, finished_at FROM restored_transactions
                WHERE transaction_id = $1
                """, [transactionID.rawValue]),
            let source = try Transactions.find(
                TransactionID(rawValue: try row.int64(1)), of: AccountID(try row.string(0)), connection)
        else { return nil }
        var restored = source.restored(
            Delivery(transactionID: transactionID, restoredAt: try row.int64(2)))
        restored.finishedAt = try row.optionalInt64(3)
        return restored
    }

    /// The transaction that was restored under an identifier; nil when no restore gave it.
    static func source(of transactionID: TransactionID, _ connection: Connection) throws -> TransactionID? {
        try connection.queryOne(
            "SELECT source_transaction_id FROM restored_transactions WHERE transaction_id = $1",
            [transactionID.rawValue]
        ).map { TransactionID(rawValue: try $0.int64(0)) }
    }

    private static let deliveryColumns = "transaction_id, source_transaction_id, device_id, restored_at, finished_at"

    /// The deliveries of a transaction to all devices, newest first.
    static func deliveries(
        of source: Transaction, limit: Int, _ connection: Connection
    ) throws -> [RestoredDelivery] {
        try connection.query(
            """
            SELECT \(deliveryColumns) FROM restored_transactions
            WHERE account_id = $1 AND source_transaction_id = $2 ORDER BY transaction_id DESC LIMIT $3
            """, [source.accountID.rawValue, source.transactionID.rawValue, limit]
        ).map { try delivery($0) }
    }

    /// The deliveries to all devices of an account, newest first.
    static func newest(
        of accountID: AccountID, limit: Int, _ connection: Connection
    ) throws -> [RestoredDelivery] {
        try connection.query(
            """
            SELECT \(deliveryColumns) FROM restored_transactions
            WHERE account_id = $1 ORDER BY transaction_id DESC LIMIT $2
            """, [accountID.rawValue, limit]
        ).map { try delivery($0) }
    }

    private static func delivery(_ row: Row) throws -> RestoredDelivery {
        RestoredDelivery(
            transactionID: TransactionID(rawValue: try row.int64(0)),
            sourceID: TransactionID(rawValue: try row.int64(1)), deviceID: try row.string(2),
            restoredAt: try row.int64(3), finishedAt: try row.optionalInt64(4))
    }

    /// Deletes all deliveries to an account's devices.
    static func delete(of accountID: AccountID, _ connection: Connection) throws {
        try connection.execute("DELETE FROM restored_transactions WHERE account_id = $1", [accountID.rawValue])
    }

    /// Finishes a restored transaction. Returns false when it does not exist, and true also when it was finished
    /// before.
    static func finish(
        _ transactionID: TransactionID, of accountID: AccountID, at milliseconds: Int64, _ connection: Connection
    ) throws -> Bool {
        let changed = try connection.execute(
            """
            UPDATE restored_transactions SET finished_at = COALESCE(finished_at, $3)
            WHERE account_id = $1 AND transaction_id = $2
            """,
            [accountID.rawValue, transactionID.rawValue, milliseconds])
        return changed > 0
    }

    /// The highest identifier of a restored transaction.
    static func highestID(_ connection: Connection) throws -> TransactionID? {
        try connection.queryOne("SELECT max(transaction_id) FROM restored_transactions", [])?.optionalInt64(0)
            .map { TransactionID(rawValue: $0) }
    }
}

extension Transaction {
    /// The transaction as it is delivered again. It has no idempotency key, because no payment created it.
    func restored(_ delivery: RestoredTransactions.Delivery) -> Transaction {
        var restored = self
        restored.transactionID = delivery.transactionID
        restored.purchaseDate = delivery.restoredAt
        restored.idempotencyKey = nil
        restored.finishedAt = nil
        return restored
    }
}
