import Database
import MerchantWire
import StoreWire

/// A row of the table `subscriptions`: the subscription's user and its state, by the store's latest statement.
struct SubscriptionRow {
    /// The subscription's user; empty while nobody has redeemed a period.
    var userID: UserID
    var productID: ProductID
    /// The start of the newest period.
    var purchasedAt: Int64
    var expiresAt: Int64
    var graceUntil: Int64?
    /// The time at which the store signed its latest statement about renewal and grace period.
    var statusSignedAt: Int64
    /// The account token of the newest period that has one; nil when none has.
    var accountToken: String?
    /// The redemption key of the newest period; nil when an earlier program wrote the row.
    var periodKey: String?

    /// Whether the newest period replaced a purchase's period before its end. The store refunded the rest of that
    /// period, and reports this only in evidence that it signed afterwards.
    func hasReplaced(_ purchase: VerifiedPurchase) -> Bool {
        guard let expiresAt = purchase.expiresAt, isAfter(purchase) else { return false }
        return Self.isEarly(purchasedAt, from: purchase.purchasedAt, to: expiresAt)
    }

    /// Whether a purchase replaces the newest period before its end.
    func isReplaced(by purchase: VerifiedPurchase) -> Bool {
        isBefore(purchase) && Self.isEarly(purchase.purchasedAt, from: purchasedAt, to: expiresAt)
    }

    /// Whether a moment is too early in a period for a renewal. A renewal begins when it is paid, up to a day before
    /// the period's end.
    private static func isEarly(_ moment: Int64, from start: Int64, to end: Int64) -> Bool {
        end - moment > min(86_400_000, (end - start) / 8)
    }

    /// Whether a later period was bought anew or renews one that was. The subscription then belongs to the user named
    /// by its account token.
    ///
    /// A renewal repeats the token of the purchase that it renews, even after the subscription has moved to another
    /// user. A different token therefore means that there was a purchase in between, which the merchant may not know
    /// yet.
    func isBoughtAnew(by purchase: VerifiedPurchase) -> Bool {
        guard isBefore(purchase) else { return false }
        return hasAnotherName(than: purchase) || purchase.isRenewal == false && expiresAt <= purchase.purchasedAt
    }

    /// Whether a purchase's account token differs from the newest known period's; false when either has none.
    func hasAnotherName(than purchase: VerifiedPurchase) -> Bool {
        guard let accountToken, let token = purchase.accountToken else { return false }
        return !token.hasSameBytes(as: accountToken)
    }

    /// Whether a purchase is the newest period.
    func isPeriod(of purchase: VerifiedPurchase) -> Bool { order(purchase) == .same }

    /// Whether a purchase's period is later than the newest known one.
    func isBefore(_ purchase: VerifiedPurchase) -> Bool { order(purchase) == .before }

    /// Whether a purchase's period is earlier than the newest known one.
    func isAfter(_ purchase: VerifiedPurchase) -> Bool { order(purchase) == .after }

    private enum Order {
        case before, same, after

        init(_ left: Int64, _ right: Int64) { self = left < right ? .before : left > right ? .after : .same }
    }

    /// The order of the newest known period and a purchase's period.
    ///
    /// App receipts and iOS 6 receipts have whole seconds. When one of two periods of the same second has no fraction,
    /// the later one has the higher number: stores number periods when they are bought.
    private func order(_ purchase: VerifiedPurchase) -> Order {
        let seconds = Order(purchasedAt / 1_000, purchase.purchasedAt / 1_000)
        guard seconds == .same else { return seconds }
        let numbers = periodKey.flatMap { RedemptionKey(text: $0).periodNumber }.flatMap { number in
            purchase.periodNumber.map { Order(number, $0) }
        }
        guard numbers.map({ $0 != .same }) ?? (productID != purchase.productID) else { return .same }
        let dates = Order(purchasedAt, purchase.purchasedAt)
        let areExact = purchasedAt % 1_000 != 0 && purchase.purchasedAt % 1_000 != 0
        return areExact && dates != .same ? dates : numbers ?? dates
    }

    /// The end of a period, from the purchase and from the recorded end.
    func end(of purchase: VerifiedPurchase, _ expiresAt: Int64) -> Int64 {
        isPeriod(of: purchase) && productID == purchase.productID
            ? max(expiresAt, self.expiresAt) : expiresAt
    }

    /// The row of a plan's subscription; nil for other kinds of products.
    static func find(of plan: RedemptionPlan, _ connection: Connection) throws -> SubscriptionRow? {
        guard plan.product.kind == .autoRenewableSubscription else { return nil }
        return try find(RedemptionKey.subscription(plan.purchase), connection)
    }

    static func find(_ key: String, _ connection: Connection) throws -> SubscriptionRow? {
        try connection.queryOne(
            """
            SELECT user_id, product_id, purchased_at, expires_at, grace_until, status_signed_at, account_token,
                period_key
            FROM subscriptions WHERE subscription_key = $1
            """, [key]
        ).map { row in
            SubscriptionRow(
                userID: UserID(try row.string(0)), productID: ProductID(try row.string(1)),
                purchasedAt: try row.int64(2), expiresAt: try row.int64(3), graceUntil: try row.optionalInt64(4),
                statusSignedAt: try row.int64(5), accountToken: try row.optionalString(6),
                periodKey: try row.optionalString(7))
        }
    }

    /// Inserts a subscription.
    /// - Parameter period: the redemption key of the purchase's period.
    static func insert(
        _ key: String, _ purchase: VerifiedPurchase, period: RedemptionKey, expiresAt: Int64, for owner: UserID,
        _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO subscriptions (subscription_key, user_id, product_id, purchased_at, expires_at, status_signed_at,
                account_token, period_key)
            VALUES ($1, $2, $3, $4, $5, 0, $6, $7)
            """,
            [
                key, owner.rawValue, purchase.productID.rawValue, purchase.purchasedAt, expiresAt,
                purchase.accountToken, period.text,
            ])
    }

    /// Locks a subscription's row, if there is one, until the end of the transaction. Every change of a subscription
    /// and its periods locks the subscription first.
    static func lock(_ key: String, _ connection: Connection) throws {
        try connection.execute("UPDATE subscriptions SET user_id = user_id WHERE subscription_key = $1", [key])
    }

    /// Assigns a subscription without a user to its first user.
    static func claim(_ key: String, for owner: UserID, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE subscriptions SET user_id = $2 WHERE subscription_key = $1 AND user_id = ''",
            [key, owner.rawValue])
    }

    static func transfer(_ key: String, to owner: UserID, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE subscriptions SET user_id = $2 WHERE subscription_key = $1", [key, owner.rawValue])
    }

    /// Records a newer period. The rights of another plan, for every user who has them, end when the new plan begins.
    static func advance(
        _ key: String, _ row: SubscriptionRow, _ purchase: VerifiedPurchase, period: RedemptionKey, expiresAt: Int64,
        _ settlement: Settlement, _ connection: Connection
    ) throws {
        guard row.isBefore(purchase) || row.isPeriod(of: purchase) && purchase.purchasedAt >= row.purchasedAt else {
            return
        }
        if purchase.productID != row.productID {
            settlement.afterPostings {
                try Rights.endPlan(row.productID, from: key, at: purchase.purchasedAt, connection)
            }
        }
        guard
            expiresAt != row.expiresAt || purchase.purchasedAt != row.purchasedAt || purchase.productID != row.productID
                || purchase.accountToken != nil && purchase.accountToken != row.accountToken || row.periodKey == nil
        else { return }
        try connection.execute(
            """
            UPDATE subscriptions SET product_id = $2, purchased_at = $3,
                expires_at = CASE WHEN expires_at > $4 AND purchased_at / 1000 = $5 AND product_id = $2
                    THEN expires_at ELSE $4 END,
                account_token = coalesce($6, account_token), period_key = $7
            WHERE subscription_key = $1
            """,
            [
                key, purchase.productID.rawValue, purchase.purchasedAt, expiresAt, purchase.purchasedAt / 1_000,
                purchase.accountToken, period.text,
            ])
    }

    /// Ends the current period, which the store has revoked. A later purchase counts as bought anew.
    static func end(_ key: String, _ purchase: VerifiedPurchase, at moment: Int64, _ connection: Connection) throws {
        try connection.execute(
            """
            UPDATE subscriptions SET expires_at = $3
            WHERE subscription_key = $1 AND purchased_at / 1000 = $2 AND expires_at > $3 AND product_id = $4
            """, [key, purchase.purchasedAt / 1_000, moment, purchase.productID.rawValue])
    }

    /// Restores the end of the current period, as the purchase states it.
    static func restoreEnd(_ key: String, _ purchase: VerifiedPurchase, _ connection: Connection) throws {
        guard let expiresAt = purchase.expiresAt else { return }
        try connection.execute(
            """
            UPDATE subscriptions SET expires_at = $3
            WHERE subscription_key = $1 AND purchased_at / 1000 = $2 AND expires_at < $3 AND product_id = $4
            """, [key, purchase.purchasedAt / 1_000, expiresAt, purchase.productID.rawValue])
    }
}
