import Database
import StoreReceipts
import StoreWire

/// The table `subscriptions`: the state of each account's subscription in each group.
enum Subscriptions {
    private static let columns = """
        original_transaction_id, account_id, bundle_id, subscription_group_id, original_purchase_date, state, product_id, \
        transaction_id, expires_date, renewal_product_id, will_renew, next_line_item_id, renewals, offer_periods_left, \
        offer_period_unit, offer_period_count, grace_ends, expiration_intent, due_at, revision, next_offer_id, rate, \
        price, price_currency, price_increase, next_offer_kind, recent_start_date, next_offer_mode, next_offer_price, \
        next_offer_currency, next_offer_period, next_offer_periods, next_offer_stacks, next_offer_ends
        """

    static func find(_ original: TransactionID, _ connection: Connection) throws -> Subscription? {
        try connection.queryOne(
            "SELECT \(columns) FROM subscriptions WHERE original_transaction_id = $1", [original.rawValue]
        ).map { try Subscription($0) }
    }

    /// The subscription of an account in a group.
    static func find(
        of accountID: AccountID, in bundleID: BundleID, group: SubscriptionGroupID, _ connection: Connection
    ) throws -> Subscription? {
        try connection.queryOne(
            """
            SELECT \(columns) FROM subscriptions
            WHERE account_id = $1 AND bundle_id = $2 AND subscription_group_id = $3
            """, [accountID.rawValue, bundleID.rawValue, group.rawValue]
        ).map { try Subscription($0) }
    }

    /// The subscriptions of an account, in an app or in all, in the order of their first purchases.
    static func all(
        of accountID: AccountID, in bundleID: BundleID? = nil, _ connection: Connection
    ) throws -> [Subscription] {
        try connection.query(
            """
            SELECT \(columns) FROM subscriptions WHERE account_id = $1 AND (CAST($2 AS TEXT) IS NULL OR bundle_id = $2)
            ORDER BY original_transaction_id
            """, [accountID.rawValue, bundleID?.rawValue]
        ).map { try Subscription($0) }
    }

    /// The subscriptions for which something is due, the earliest due date first.
    static func due(at date: Int64, limit: Int, _ connection: Connection) throws -> [Subscription] {
        try connection.query(
            """
            SELECT \(columns) FROM subscriptions WHERE due_at <= $1
            ORDER BY due_at, original_transaction_id LIMIT $2
            """, [date, limit]
        ).map { try Subscription($0) }
    }

    /// The subscriptions of an account and those that others share with it, the earliest due date first.
    static func concerning(_ accountID: AccountID, _ connection: Connection) throws -> [Subscription] {
        let shared = try FamilyShares.sources(of: accountID, connection).compactMap { try find($0, connection) }
        return (try all(of: accountID, connection) + shared).sorted {
            ($0.dueAt ?? .max, $0.originalTransactionID) < ($1.dueAt ?? .max, $1.originalTransactionID)
        }
    }

    /// The first subscription in an app; nil without one. This scans the table.
    static func first(in bundleID: BundleID, _ connection: Connection) throws -> Subscription? {
        try connection.queryOne(
            """
            SELECT \(columns) FROM subscriptions WHERE bundle_id = $1 ORDER BY original_transaction_id LIMIT 1
            """, [bundleID.rawValue]
        ).map { try Subscription($0) }
    }

    /// The most rows that ``active(for:limit:_:)`` looks at.
    private static let mostLookedAt = 5_000

    /// The next active subscriptions of a request's product that were bought before the request, in the order of their
    /// first purchases. Others can follow when these are fewer than the limit.
    /// - Returns: their first transactions, and the last one that was looked at; nil when no more follow.
    static func active(
        for request: MassExtensionRequest, limit: Int, _ connection: Connection
    ) throws -> (originals: [TransactionID], end: TransactionID?) {
        let floor = try connection.queryOne(
            """
            SELECT original_transaction_id FROM subscriptions WHERE original_transaction_id > $1
            ORDER BY original_transaction_id LIMIT 1 OFFSET $2
            """, [request.last.rawValue, mostLookedAt - 1]
        ).map { TransactionID(rawValue: try $0.int64(0)) }
        let originals = try connection.query(
            """
            SELECT original_transaction_id FROM subscriptions
            WHERE original_transaction_id > $1 AND original_transaction_id <= $2 AND bundle_id = $3 AND product_id = $4
                AND state = 'active' AND original_purchase_date <= $5
            ORDER BY original_transaction_id LIMIT $6
            """,
            [
                request.last.rawValue, floor?.rawValue ?? Int64.max, request.bundleID.rawValue,
                request.productID.rawValue, request.acceptedAt, limit,
            ]
        ).map { TransactionID(rawValue: try $0.int64(0)) }
        return (originals, originals.count == limit ? originals.last : floor)
    }

    /// The sum of the revisions of an account's subscriptions in an app, which every change raises; nil without any.
    static func revisions(
        of accountID: AccountID, in bundleID: BundleID, _ connection: Connection
    ) throws -> Int64? {
        try connection.queryOne(
            """
            SELECT CAST(sum(revision) AS BIGINT) FROM subscriptions WHERE account_id = $1 AND bundle_id = $2
            """, [accountID.rawValue, bundleID.rawValue])?.optionalInt64(0)
    }

    /// The earliest date on which something is due; nil for none.
    static func nextDueDate(_ connection: Connection) throws -> Int64? {
        try connection.queryOne("SELECT min(due_at) FROM subscriptions WHERE due_at IS NOT NULL", [])?.optionalInt64(0)
    }

    static func delete(of accountID: AccountID, _ connection: Connection) throws {
        for subscription in try all(of: accountID, connection) {
            try SubscriptionFeed.delete(of: subscription.originalTransactionID, connection)
            try ExtensionRequests.delete(of: subscription.originalTransactionID, connection)
        }
        try connection.execute("DELETE FROM subscriptions WHERE account_id = $1", [accountID.rawValue])
    }

    private static let saving = """
        INSERT INTO subscriptions (\(columns))
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
            $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34)
        ON CONFLICT (original_transaction_id) DO UPDATE SET state = excluded.state, product_id = excluded.product_id,
            transaction_id = excluded.transaction_id, expires_date = excluded.expires_date,
            renewal_product_id = excluded.renewal_product_id, will_renew = excluded.will_renew,
            next_line_item_id = excluded.next_line_item_id, renewals = excluded.renewals,
            offer_periods_left = excluded.offer_periods_left,
            offer_period_unit = excluded.offer_period_unit, offer_period_count = excluded.offer_period_count, grace_ends = excluded.grace_ends,
            expiration_intent = excluded.expiration_intent, due_at = excluded.due_at,
            revision = excluded.revision, next_offer_id = excluded.next_offer_id, rate = excluded.rate,
            price = excluded.price, price_currency = excluded.price_currency, price_increase = excluded.price_increase,
            next_offer_kind = excluded.next_offer_kind, recent_start_date = excluded.recent_start_date,
            next_offer_mode = excluded.next_offer_mode, next_offer_price = excluded.next_offer_price,
            next_offer_currency = excluded.next_offer_currency, next_offer_period = excluded.next_offer_period,
            next_offer_periods = excluded.next_offer_periods, next_offer_stacks = excluded.next_offer_stacks,
            next_offer_ends = excluded.next_offer_ends
        """

    /// Writes the subscription, and its news in their order. The members of a family who share it follow.
    /// - Parameters:
    ///   - period: the last period, if the caller has it. A purchaser's must have been bought just now, in the
    ///     account's storefront.
    ///   - isShared: whether a member may share it; false saves a query.
    static func save(
        _ subscription: Subscription, _ news: [SubscriptionNews], period: Transaction? = nil, isShared: Bool = true,
        _ recorder: Recorder, _ connection: Connection
    ) throws {
        let offer = subscription.remainingOffer
        var values: [SQLValue] = [
            .integer(subscription.originalTransactionID.rawValue), .text(subscription.accountID.rawValue),
            .text(subscription.bundleID.rawValue), .text(subscription.groupID.rawValue),
            .integer(subscription.originalPurchaseDate), .text(subscription.state.rawValue),
            .text(subscription.productID.rawValue), .integer(subscription.transactionID.rawValue),
            .integer(subscription.expiresDate), .text(subscription.renewalProductID.rawValue),
            .boolean(subscription.willRenew), .integer(subscription.nextLineItemID),
            .integer(Int64(subscription.renewals)), SQLValue(offer.map { Int64($0.periods) }),
            SQLValue(offer?.period.unit.rawValue), SQLValue(offer.map { Int64($0.period.count) }),
            SQLValue(subscription.graceEnds), SQLValue(subscription.expirationIntent?.rawValue),
            SQLValue(subscription.dueAt), .integer(Int64(subscription.revision + 1)),
            SQLValue(subscription.nextOffer?.id), .text(subscription.rate.rawValue),
            SQLValue(subscription.price?.milliunits), SQLValue(subscription.price?.currency),
            SQLValue(subscription.priceIncrease?.rawValue), SQLValue(subscription.nextOffer?.kindColumn),
            SQLValue(subscription.recentStartDate),
        ]
        values += AcceptedOffer.values(subscription.waitingOffer?.accepted)
        try connection.execute(saving, values: values)
        try SubscriptionFeed.add(news, of: subscription, period: period, recorder, connection)
        if isShared { try FamilyShares.follow(subscription, news, recorder, connection) }
    }
}

extension Subscription {
    fileprivate init(_ row: Row) throws {
        guard let state = State(rawValue: try row.string(5)) else {
            throw StoreError(.internalError, "A subscription is in a state that this program does not know.")
        }
        var offer: RemainingOffer?
        if let periods = try row.optionalInt64(13), let count = try row.optionalInt64(15),
            let unit = try row.optionalString(14).flatMap(SubscriptionPeriod.Unit.init(rawValue:))
        {
            offer = RemainingOffer(
                periods: Int(periods), period: SubscriptionPeriod(unit: unit, count: Int(count)))
        }
        var price: Money?
        if let milliunits = try row.optionalInt64(22), let currency = try row.optionalString(23) {
            price = Money(milliunits: milliunits, currency: currency)
        }
        self.init(
            accountID: AccountID(try row.string(1)), bundleID: BundleID(try row.string(2)),
            groupID: SubscriptionGroupID(try row.string(3)),
            originalTransactionID: TransactionID(rawValue: try row.int64(0)), originalPurchaseDate: try row.int64(4),
            state: state, productID: ProductID(try row.string(6)),
            transactionID: TransactionID(rawValue: try row.int64(7)), expiresDate: try row.int64(8),
            renewalProductID: ProductID(try row.string(9)),
            waitingOffer: try WaitingOffer(row), price: price,
            priceIncrease: try row.optionalString(24).flatMap(PriceIncreaseStatus.init(rawValue:)),
            rate: RenewalRate(rawValue: try row.string(21)) ?? .real, recentStartDate: try row.optionalInt64(26),
            willRenew: try row.bool(10),
            nextLineItemID: try row.int64(11), renewals: try row.int(12), remainingOffer: offer,
            graceEnds: try row.optionalInt64(16),
            expirationIntent: try row.optionalInt64(17).flatMap(PendingRenewal.ExpirationIntent.init(rawValue:)),
            dueAt: try row.optionalInt64(18), revision: try row.int(19))
    }
}

extension WaitingOffer {
    /// Reads the offer of a row of ``Subscriptions``; nil for none.
    fileprivate init?(_ row: Row) throws {
        guard let name = NamedOffer(id: try row.optionalString(20), kind: try row.optionalString(25)) else {
            return nil
        }
        self.init(name: name, accepted: try AcceptedOffer(row))
    }
}

extension AcceptedOffer {
    /// Reads the terms of a row of ``Subscriptions``; nil in rows of older versions.
    fileprivate init?(_ row: Row) throws {
        guard let mode = try row.optionalString(27).flatMap(OfferDescription.PaymentMode.init(rawValue:)),
            let milliunits = try row.optionalInt64(28), let currency = try row.optionalString(29),
            let period = try row.optionalString(30).flatMap({ SubscriptionPeriod(iso8601: $0) }),
            let count = try row.optionalInt(31), let stacks = try row.optionalBool(32),
            let ends = try row.optionalBool(33)
        else { return nil }
        self.init(
            OfferDescription(
                offerID: nil, price: Money(milliunits: milliunits, currency: currency), paymentMode: mode,
                period: period, numberOfPeriods: count),
            stacks: stacks, endsSubscription: ends)
    }

    /// The values of the columns `next_offer_mode` to `next_offer_ends`.
    fileprivate static func values(_ accepted: AcceptedOffer?) -> [SQLValue] {
        guard let accepted else { return Array(repeating: .null, count: 7) }
        let offer = accepted.offer
        return [
            .text(offer.paymentMode.rawValue), .integer(offer.price.milliunits), .text(offer.price.currency),
            .text(offer.period.description), .integer(Int64(offer.numberOfPeriods)), .boolean(accepted.stacks),
            .boolean(accepted.endsSubscription),
        ]
    }
}
