import Database
import StoreWire

/// The table `subscription_news`: everything that happened to subscriptions, in its order.
enum SubscriptionFeed {
    /// - Parameter numbers: creates the news' numbers, which grow.
    static func add(
        _ news: [SubscriptionNews], of subscription: Subscription, numbers: TransactionIDs, _ connection: Connection
    ) throws {
        try add(news, of: subscription.originalTransactionID, numbers: numbers, connection)
    }

    /// - Parameters:
    ///   - original: the first transaction of the subscription.
    ///   - numbers: creates the news' numbers, which grow.
    static func add(
        _ news: [SubscriptionNews], of original: TransactionID, numbers: TransactionIDs, _ connection: Connection
    ) throws {
        for item in news {
            try connection.execute(
                """
                INSERT INTO subscription_news (number, original_transaction_id, type, subtype, date, transaction_id)
                VALUES ($1, $2, $3, $4, $5, $6)
                """,
                [
                    .integer(numbers.next().rawValue), .integer(original.rawValue),
                    .text(item.type.rawValue), SQLValue(item.subtype?.rawValue), .integer(item.date),
                    .integer(item.transactionID.rawValue),
                ] as [SQLValue])
        }
    }

    /// The newest news of a subscription, the newest first.
    static func newest(
        of original: TransactionID, limit: Int, _ connection: Connection
    ) throws -> [SubscriptionNews] {
        try connection.query(
            """
            SELECT type, subtype, date, transaction_id FROM subscription_news WHERE original_transaction_id = $1
            ORDER BY number DESC LIMIT $2
            """, [original.rawValue, limit]
        ).map { row in
            guard let type = SubscriptionNews.Kind(rawValue: try row.string(0)) else {
                throw StoreError(.internalError, "There is news of a kind that this program does not know.")
            }
            return SubscriptionNews(
                type: type, subtype: try row.optionalString(1).flatMap(SubscriptionNews.Subtype.init(rawValue:)),
                date: try row.int64(2), transactionID: TransactionID(rawValue: try row.int64(3)))
        }
    }

    /// How often something happened to a subscription since a date.
    static func count(
        _ type: SubscriptionNews.Kind, of original: TransactionID, since date: Int64, _ connection: Connection
    ) throws -> Int {
        try connection.queryOne(
            """
            SELECT count(*) FROM subscription_news
            WHERE original_transaction_id = $1 AND type = $2 AND date >= $3
            """, [original.rawValue, type.rawValue, date])?.int(0) ?? 0
    }

    /// The highest number. Later ones, and identifiers of periods, must be higher.
    static func highestNumber(_ connection: Connection) throws -> TransactionID? {
        try connection.queryOne("SELECT max(number) FROM subscription_news", [])?.optionalInt64(0)
            .map { TransactionID(rawValue: $0) }
    }

    static func delete(of original: TransactionID, _ connection: Connection) throws {
        try connection.execute(
            "DELETE FROM subscription_news WHERE original_transaction_id = $1", [original.rawValue])
    }
}
