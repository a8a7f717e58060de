import Database
import MerchantWire
import StoreWire

/// The table `subscriptions`.
extension SubscriptionRow {
    /// The user of a subscription; nil when the subscription is unknown.
    static func user(_ key: String, _ connection: Connection) throws -> UserID? {
        try connection.queryOne("SELECT user_id FROM subscriptions WHERE subscription_key = $1", [key])
            .map { UserID(try $0.string(0)) }
    }

    static func find(_ key: String, _ connection: Connection) throws -> SubscriptionRow? {
        guard
            let row = try connection.queryOne(
                """
                SELECT user_id, period_key, will_renew, will_renew_signed_at, renews_as, renews_as_signed_at,
                    status_signed_at, product_id, purchased_at, expires_at, account_token, grace_until
                FROM subscriptions WHERE subscription_key = $1
                """, [key])
        else { return nil }
        var found = SubscriptionRow(key: key, userID: UserID(try row.string(0)))
        found.periodKey = try row.optionalString(1).map { RedemptionKey(text: $0) }
        let statedAt = try row.int64(6)
        if let willRenew = try row.optionalBool(2) {
            found.facts.willRenew = .init(value: willRenew, signedAt: try row.optionalInt64(3) ?? statedAt)
        }
        if let renewsAs = try row.optionalString(4) {
            found.facts.renewsAs = .init(value: ProductID(renewsAs), signedAt: try row.optionalInt64(5) ?? statedAt)
        }
        let periods = try Subscription.Period.all(of: key, connection)
        for period in periods { found.facts.merge(Subscription(period)) }
        if periods.isEmpty { try found.addEarlier(row, statedAt: statedAt, connection) }
        return found
    }

    /// Adds what an earlier program knew: the newest period, in this table, and the redeemed periods.
    private mutating func addEarlier(_ row: Row, statedAt: Int64, _ connection: Connection) throws {
        for period in try RedemptionRow.periods(of: key, connection) { facts.merge(Subscription(period)) }
        isEarlier = true
        let start = try row.int64(8)
        let newest = periodKey ?? RedemptionKey(startingAt: start, of: key)
        periodKey = newest
        facts.merge(
            Subscription(
                Subscription.Period(
                    key: newest, productID: ProductID(try row.string(7)), purchasedAt: start,
                    expiresAt: try row.int64(9), endSignedAt: statedAt,
                    accountToken: try row.optionalString(10).map { .init(value: $0, signedAt: 0) },
                    grace: statedAt > 0 ? .init(value: try row.optionalInt64(11), signedAt: statedAt) : nil)))
    }

    /// Inserts a subscription without its periods.
    func insert(_ connection: Connection) throws {
        guard let newest = facts.periods.last else { return }
        try connection.execute(
            """
            INSERT INTO subscriptions (subscription_key, user_id, product_id, purchased_at, expires_at, status_signed_at)
            VALUES ($1, $2, $3, $4, $5, 0)
            """,
            [key, userID.rawValue, newest.productID.rawValue, newest.purchasedAt, newest.expiresAt])
    }

    /// Writes what has changed since the row was read.
    func update(_ before: SubscriptionRow?, _ connection: Connection) throws {
        let stored = before.map { $0.isEarlier ? Subscription() : $0.facts } ?? Subscription()
        for period in facts.periods where stored[period.key] != period { try period.write(key, connection) }
        guard let newest = facts.periods.last else { return }
        try connection.execute(
            """
            UPDATE subscriptions SET user_id = $2, product_id = $3, purchased_at = $4, expires_at = $5, period_key = $6,
                will_renew = $7, will_renew_signed_at = $8, renews_as = $9, renews_as_signed_at = $10, ask_after = $11
            WHERE subscription_key = $1
            """,
            [
                key, userID.rawValue, newest.productID.rawValue, newest.purchasedAt, newest.expiresAt, periodKey?.text,
                facts.willRenew?.value, facts.willRenew?.signedAt, facts.renewsAs?.value.rawValue,
                facts.renewsAs?.signedAt, facts.askAfter,
            ])
    }

    /// Locks a subscription's row, if there is one, until the end of the transaction. Every change of a subscription
    /// and its periods locks the subscription first.
    static func lock(_ key: String, _ connection: Connection) throws {
        try connection.execute("UPDATE subscriptions SET user_id = user_id WHERE subscription_key = $1", [key])
    }
}
