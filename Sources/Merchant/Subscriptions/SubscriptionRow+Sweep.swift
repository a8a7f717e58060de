import Database

/// The times at which the store is asked about subscriptions, by the clock of the subscription's store: the column
/// `ask_after` of the table `subscriptions`.
extension SubscriptionRow {
    /// The time of a row's store, with production's as $1 and the sandbox's as $2. A key begins with the store's
    /// anchor, followed by `/P/` or `/S/` (``RedemptionKey``).
    private static let time = """
        CASE substr(ltrim(subscription_key, '\(anchorCharacters)'), 1, 3) WHEN '/S/' THEN CAST($2 AS BIGINT)
            ELSE CAST($1 AS BIGINT) END
        """
    private static let anchorCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:"

    /// Takes the subscription that the store should be asked about first. No process takes it again before the lease is
    /// over by the store's clock.
    /// - Parameter lease: the length of the lease in milliseconds.
    /// - Returns: its key; nil when none is due.
    static func takeDue(at times: BookTimes, for lease: Int64, _ connection: Connection) throws -> String? {
        try connection.queryOne(
            """
            UPDATE subscriptions SET ask_after = \(time) + CAST($4 AS BIGINT)
            WHERE ask_after <= \(time) AND subscription_key IN (
                SELECT subscription_key FROM subscriptions WHERE ask_after <= $3 AND ask_after <= \(time)
                ORDER BY ask_after, subscription_key LIMIT 1)
            RETURNING subscription_key
            """, [times.production, times.sandbox, times.latest, lease])?.string(0)
    }

    /// Sets the time from which the store should be asked; nil for never.
    static func ask(about key: String, after date: Int64?, _ connection: Connection) throws {
        try connection.execute("UPDATE subscriptions SET ask_after = $2 WHERE subscription_key = $1", [key, date])
    }

    /// Makes a page of subscriptions due at once, whatever the clocks say.
    /// - Parameter key: the last subscription of the page before; empty for the first page.
    /// - Returns: the keys, in their order.
    static func makeDue(after key: String, limit: Int, _ connection: Connection) throws -> [String] {
        try connection.query(
            """
            UPDATE subscriptions SET ask_after = 0 WHERE subscription_key IN (
                SELECT subscription_key FROM subscriptions WHERE subscription_key > $1
                ORDER BY subscription_key LIMIT $2)
            RETURNING subscription_key
            """, [key, limit]
        ).map { try $0.string(0) }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
