import Database
import StoreWire

/// The times at which the store is asked about subscriptions, by the clock of the subscription's store: the column
/// `ask_after` of the table `subscriptions`.
extension SubscriptionRow {
    /// Takes the subscription of an environment that the store should be asked about first, or one of the other
    /// environment when none is due. No process takes it again before the lease is over by the store's clock.
    /// - Parameters:
    ///   - lease: the length of the lease in milliseconds.
    ///   - first: the environment whose subscriptions go first.
    /// - Returns: its key; nil when none is due.
    static func takeDue(
        at times: BookTimes, for lease: Int64, first: StoreEnvironment, _ connection: Connection
    ) throws -> String? {
        let order: [StoreEnvironment] = first == .production ? [.production, .sandbox] : [.sandbox, .production]
        for environment in order {
            let taken = try connection.queryOne(
                """
                UPDATE subscriptions SET ask_after = $2
                WHERE ask_after <= $1 AND subscription_key IN (\(dueStatement(in: environment)))
                RETURNING subscription_key
                """, [times[environment], times[environment] + lease])
            if let taken { return try taken.string(0) }
        }
        return nil
    }

    /// The statement that finds the due subscription of an environment, with the environment's time as $1. A key begins
    /// with the store's anchor, followed by `/P/` or `/S/` (``RedemptionKey``). Each environment has an index of its
    /// own, so that subscriptions of the other one, whose clock may be far behind, are not read.
    static func dueStatement(in environment: StoreEnvironment) -> String {
        """
        SELECT subscription_key FROM subscriptions
        WHERE substr(ltrim(subscription_key, '\(anchorCharacters)'), 1, 3) \(environment == .sandbox ? "=" : "<>") '/S/'
            AND ask_after <= $1
        ORDER BY ask_after, subscription_key LIMIT 1
        """
    }

    private static let anchorCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:"

    /// Sets the time from which the store should be asked; nil for never.
    static func ask(about key: String, after date: Int64?, _ connection: Connection) throws {
        try connection.execute("UPDATE subscriptions SET ask_after = $2 WHERE subscription_key = $1", [key, date])
    }

    /// Makes a page of subscriptions due at once, whatever the clocks say.
    /// - Parameter key: the last subscription of the page before; empty for the first page.
    /// - Returns: the keys in the database's order, which depends on the collation of a PostgreSQL database.
    static func makeDue(after key: String, limit: Int, _ connection: Connection) throws -> [String] {
        let keys = try connection.query(
            """
            SELECT subscription_key FROM subscriptions WHERE subscription_key > $1
            ORDER BY subscription_key LIMIT $2
            """, [key, limit]
        ).map { try $0.string(0) }
        guard let last = keys.last else { return [] }
        try connection.execute(
            "UPDATE subscriptions SET ask_after = 0 WHERE subscription_key > $1 AND subscription_key <= $2",
            [key, last])
        return keys
    }
}
