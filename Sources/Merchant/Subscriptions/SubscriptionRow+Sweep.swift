import Database

/// The times at which the store is asked about subscriptions: the column `ask_after` of the table `subscriptions`.
extension SubscriptionRow {
    /// Takes the subscription that the store should be asked about first. No process takes it again before `leaseEnd`.
    /// - Returns: its key; nil when none is due.
    static func takeDue(at now: Int64, leaseEnd: Int64, _ connection: Connection) throws -> String? {
        try connection.queryOne(
            """
            UPDATE subscriptions SET ask_after = $2 WHERE ask_after <= $1 AND subscription_key IN (
                SELECT subscription_key FROM subscriptions WHERE ask_after <= $1
                ORDER BY ask_after, subscription_key LIMIT 1)
            RETURNING subscription_key
            """, [now, leaseEnd])?.string(0)
    }

    /// Sets the time from which the store should be asked; nil for never.
    static func ask(about key: String, after date: Int64?, _ connection: Connection) throws {
        try connection.execute("UPDATE subscriptions SET ask_after = $2 WHERE subscription_key = $1", [key, date])
    }

    /// Makes a page of subscriptions due at once.
    /// - Parameter key: the last subscription of the page before; empty for the first page.
    /// - Returns: the keys, in their order.
    static func makeDue(after key: String, limit: Int, at now: Int64, _ connection: Connection) throws -> [String] {
        try connection.query(
            """
            UPDATE subscriptions SET ask_after = $3 WHERE subscription_key IN (
                SELECT subscription_key FROM subscriptions WHERE subscription_key > $1
                ORDER BY subscription_key LIMIT $2)
            RETURNING subscription_key
            """, [key, limit, now]
        ).map { try $0.string(0) }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
