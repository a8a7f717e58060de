import Database
import MerchantWire
import StoreWire

extension Ledger {
    /// Returns how many credits of one purchase its user has spent.
    ///
    /// Credits with a lifetime are counted one purchase at a time, in their lots. Of the others, those that were
    /// granted first count as spent first: the credits that the account had before the grant are spent before it.
    /// - Parameters:
    ///   - reference: the purchase's redemption key.
    ///   - currency: the account's ``CreditAccount/name``.
    ///   - ends: whether the credits have a lifetime.
    /// - Returns: the granted and the spent credits; nil when the account has no grant of the purchase among its newest
    ///   20,000 entries.
    static func spent(
        of reference: String, _ user: UserID, _ currency: CurrencyID, ends: Bool, _ connection: Connection
    ) throws -> (granted: Int64, spent: Int64)? {
        let grant = try entries(of: reference, user, currency, connection).first { $0.kind == .grant && $0.amount > 0 }
        guard let grant else { return nil }
        if ends {
            let left = try Lots.remaining(of: reference, user, currency, connection)
            let expired = try expired(of: reference, user, currency, connection)
            return (grant.amount, min(max(grant.amount - left - expired, 0), grant.amount))
        }
        let spends =
            try connection.queryOne(
                """
                SELECT CAST(coalesce(-sum(amount), 0) AS BIGINT) FROM ledger_entries
                WHERE user_id = $1 AND currency = $2 AND entry > $3 AND amount < 0
                    AND (kind = 'spend' OR kind = 'adjustment')
                """, [user.rawValue, currency.rawValue, grant.entry])?.int64(0) ?? 0
        let before = max(grant.balance - grant.amount, 0)
        return (grant.amount, min(max(spends - before, 0), grant.amount))
    }
}
