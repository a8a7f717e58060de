import Database
import StoreWire

/// Transactions that members of a family got from a purchaser's.
extension Transactions {
    /// The accounts that have or had a purchaser's transaction as a share.
    static func receivers(of source: TransactionID, _ connection: Connection) throws -> [AccountID] {
        try connection.query(
            "SELECT DISTINCT account_id FROM transactions WHERE shared_from = $1 ORDER BY account_id", [source.rawValue]
        ).map { AccountID(try $0.string(0)) }
    }

    /// Revokes the members' transactions that were shared from a refunded one, for the reason of the refund as Apple's.
    /// When a share ends for another cause, Apple's reason is 0.
    /// - Returns: the transactions that were not revoked before.
    static func revokeShared(
        from source: Transaction, at date: Int64, _ recorder: Recorder, _ connection: Connection
    ) throws -> [Transaction] {
        try receivers(of: source.transactionID, connection).flatMap { member in
            try connection.query(
                """
                UPDATE transactions SET revoked_at = $3, revocation_reason = $4, changed = $5
                WHERE shared_from = $1 AND account_id = $2 AND revoked_at IS NULL RETURNING \(Transaction.columns)
                """,
                [
                    source.transactionID.rawValue, member.rawValue, date, source.revocationReason ?? 0,
                    try recorder.change(of: member, connection),
                ])
        }.map { try Transaction($0) }
    }

    /// Revokes a member's transactions of a share that ends: those that are not over.
    /// - Parameter andLast: whether the last one is revoked in any case: its renewal is overdue, or it has no end.
    /// - Returns: the transactions that were not revoked before.
    static func revokeShared(
        _ share: FamilyShare, andLast: Bool, at date: Int64, _ recorder: Recorder, _ connection: Connection
    ) throws -> [Transaction] {
        try connection.query(
            """
            UPDATE transactions SET revoked_at = $5, revocation_reason = 0, changed = $6
            WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' AND original_transaction_id = $3
                AND shared_from IS NOT NULL AND revoked_at IS NULL AND is_upgraded = FALSE
                AND (transaction_id = CAST($4 AS BIGINT) OR expires_date > $5)
            RETURNING \(Transaction.columns)
            """,
            [
                share.accountID.rawValue, share.bundleID.rawValue, share.originalTransactionID.rawValue,
                andLast ? share.transactionID.rawValue : nil, date,
                try recorder.change(of: share.accountID, connection),
            ]
        ).map { try Transaction($0) }
    }

    /// Takes the revocation of a member's last transaction back that was shared from a purchaser's.
    /// - Parameter date: when the refund revoked it.
    static func reinstateShared(
        from source: TransactionID, with accountID: AccountID, revokedAt date: Int64, _ recorder: Recorder,
        _ connection: Connection
    ) throws {
        try connection.execute(
            """
            UPDATE transactions SET revoked_at = NULL, revocation_reason = NULL, changed = $4
            WHERE transaction_id = (
                SELECT max(transaction_id) FROM transactions WHERE shared_from = $1 AND account_id = $2)
                AND revoked_at = $3
            """,
            [source.rawValue, accountID.rawValue, date, try recorder.change(of: accountID, connection)])
    }
}
