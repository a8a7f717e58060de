import Database
import StoreWire

/// The table `subscription_news`: everything that happened to subscriptions, in its order.
enum SubscriptionFeed {
    /// Writes news with the state of the subscription, and a notification of each if the app's server receives them.
    /// - Parameters:
    ///   - subscription: its state after what happened.
    ///   - period: the last period, if the caller has it. A purchaser's must have been bought just now, in the
    ///     account's storefront.
    static func add(
        _ news: [SubscriptionNews], of subscription: Subscription, period: Transaction? = nil, _ recorder: Recorder,
        _ connection: Connection
    ) throws {
        guard let last = news.last else { return }
        let snapshot = try SubscriptionSnapshot(subscription, period: period, at: last.date, recorder, connection)
        // A new subscription has no news yet, and its page of the index is the one that all sales write to.
        let isNew = news.first?.subtype == .initialBuy
        let newest = isNew ? nil : try newestNumber(of: subscription.originalTransactionID, connection)
        for item in news {
            let number = recorder.next(above: newest)
            let isOfPeriod = item.transactionID == subscription.transactionID
            let transaction = isOfPeriod ? nil : try Transactions.find(item.transactionID, connection)
            try connection.execute(
                """
                INSERT INTO subscription_news (number, original_transaction_id, type, subtype, date, transaction_id,
                    snapshot, consumption_reason)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                """,
                [
                    .integer(number.rawValue), .integer(subscription.originalTransactionID.rawValue),
                    .text(item.type.rawValue), SQLValue(item.subtype?.rawValue), .integer(item.date),
                    .integer(item.transactionID.rawValue),
                    SQLValue(snapshot?.json(transaction, item.consumptionReason)),
                    SQLValue(item.consumptionReason?.rawValue),
                ] as [SQLValue])
            try Notifications.add(item, as: number, of: subscription, snapshot, transaction, recorder, connection)
        }
    }

    /// Writes the summary of an extension of all subscriptions of a product. It is about no single subscription, so its
    /// transactions are 0.
    /// - Parameter summary: an object with the member `summary`.
    static func add(
        summary: String, of bundleID: BundleID, at date: Int64, _ recorder: Recorder, _ connection: Connection
    ) throws {
        let number = recorder.next(above: try newestNumber(of: TransactionID(rawValue: 0), connection))
        try connection.execute(
            """
            INSERT INTO subscription_news (number, original_transaction_id, type, subtype, date, transaction_id,
                snapshot)
            VALUES ($1, 0, $2, $3, $4, 0, $5)
            """,
            [
                number.rawValue, SubscriptionNews.Kind.massExtension.rawValue,
                SubscriptionNews.Subtype.summary.rawValue, date, summary,
            ])
        try Notifications.add(summary: summary, of: bundleID, at: date, as: number, recorder, connection)
    }

    /// The news of all subscriptions after a number, in the order of their numbers.
    static func page(after number: Int64, limit: Int, _ connection: Connection) throws -> [SubscriptionFeedItem] {
        try connection.query(
            """
            SELECT type, subtype, date, transaction_id, consumption_reason, number, original_transaction_id, snapshot
            FROM subscription_news WHERE number > $1 ORDER BY number LIMIT $2
            """, [number, limit]
        ).map { row in
            SubscriptionFeedItem(
                number: try row.int64(5), originalTransactionID: TransactionID(rawValue: try row.int64(6)),
                news: try news(row), snapshot: try row.optionalString(7))
        }
    }

    /// The newest news of a subscription, the newest first.
    static func newest(
        of original: TransactionID, limit: Int, _ connection: Connection
    ) throws -> [SubscriptionNews] {
        try connection.query(
            """
            SELECT type, subtype, date, transaction_id, consumption_reason FROM subscription_news
            WHERE original_transaction_id = $1 ORDER BY number DESC LIMIT $2
            """, [original.rawValue, limit]
        ).map { try news($0) }
    }

    private static func news(_ row: Row) throws -> SubscriptionNews {
        guard let type = SubscriptionNews.Kind(rawValue: try row.string(0)) else {
            throw StoreError(.internalError, "There is news of a kind that this program does not know.")
        }
        return SubscriptionNews(
            type: type, subtype: try row.optionalString(1).flatMap(SubscriptionNews.Subtype.init(rawValue:)),
            date: try row.int64(2), transactionID: TransactionID(rawValue: try row.int64(3)),
            consumptionReason: try row.optionalString(4).flatMap(RefundReason.init(rawValue:)))
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

    /// The number of a subscription's newest news if another process may have written it. Later ones must be higher,
    /// although its clock may be ahead.
    private static func newestNumber(of original: TransactionID, _ connection: Connection) throws -> Int64? {
        guard connection.isShared else { return nil }
        return try connection.queryOne(
            "SELECT max(number) FROM subscription_news WHERE original_transaction_id = $1", [original.rawValue])?
            .optionalInt64(0)
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
