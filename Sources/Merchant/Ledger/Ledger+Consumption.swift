import Database
import MerchantWire
import StoreWire

extension Ledger {
    /// Returns how many credits of one purchase its user has spent.
    ///
    /// Credits with a lifetime are counted one purchase at a time, in their lots. Of the other credits, the earliest
    /// grants count as spent first, so the account's balance belongs to the latest grants. Credits that a refund took
    /// back count as neither spent nor left.
    /// - Parameters:
    ///   - reference: the purchase's redemption key.
    ///   - currency: the account's ``CreditAccount/name``.
    ///   - ends: whether the credits have a lifetime.
    /// - Returns: the granted and the spent credits; nil when the account has no grant of the purchase among its newest
    ///   20,000 entries.
    static func spent(
        of reference: String, _ user: UserID, _ currency: CurrencyID, ends: Bool, _ connection: Connection
    ) throws -> (granted: Int64, spent: Int64)? {
        let entries = try entries(of: reference, user, currency, connection)
        guard let grant = entries.first(where: { $0.kind == .grant && $0.amount > 0 }) else { return nil }
        let takenBack = max(-entries.reduce(0) { $0 + ($1.kind.isRefund ? $1.amount : 0) }, 0)
        if ends {
            let left = try Lots.remaining(of: reference, user, currency, connection)
            let expired = try expired(of: reference, user, currency, connection)
            return (grant.amount, max(grant.amount - left - expired - takenBack, 0))
        }
        let standing = try posting(of: user, currency, connection)
        let lasting = standing.balance - (try Lots.remaining(of: user, currency, connection))
        let later = try lastingCredits(after: grant.entry, user, currency, connection)
        let left = min(max(lasting - later, 0), grant.amount)
        return (grant.amount, max(grant.amount - left - takenBack, 0))
    }

    /// Returns the credits without a lifetime that an account got after an entry, less those that refunds of the same
    /// purchases took back.
    private static func lastingCredits(
        after entry: Int64, _ user: UserID, _ currency: CurrencyID, _ connection: Connection
    ) throws -> Int64 {
        let account: [any SQLConvertible] = [user.rawValue, currency.rawValue, entry]
        let adjusted =
            try connection.queryOne(
                """
                SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM ledger_entries
                WHERE user_id = $1 AND currency = $2 AND entry > $3 AND kind = 'adjustment' AND amount > 0
                """, account)?.int64(0) ?? 0
        // The grants of purchases repeat, so there are few different ones.
        let granted = try connection.query(
            """
            SELECT coalesce(credits, grants), CAST(sum(amount) AS BIGINT) FROM ledger_entries
                JOIN redemptions ON redemption_key = reference
            WHERE ledger_entries.user_id = $1 AND currency = $2 AND entry > $3
                AND kind IN ('grant', 'refund', 'refundReversal')
                AND reference IN (SELECT reference FROM ledger_entries
                    WHERE user_id = $1 AND currency = $2 AND entry > $3 AND kind = 'grant')
            GROUP BY coalesce(credits, grants)
            """, account)
        let name = CreditAccount(named: currency).currency
        return try granted.reduce(adjusted) { sum, row in
            let lasts = try ProductCatalog.grants(try row.string(0)).contains { grant in
                if case .credits(name, _, nil) = grant { true } else { false }
            }
            return lasts ? sum + (try row.int64(1)) : sum
        }
    }
}

extension LedgerEntry.Kind {
    /// Whether a refund or its reversal made the entry.
    fileprivate var isRefund: Bool { self == .refund || self == .refundReversal }
}
