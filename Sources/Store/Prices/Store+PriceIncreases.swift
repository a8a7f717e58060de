import Database
import StoreWire

/// A price increase of a subscription that needs one account's consent.
public struct PriceIncrease: Sendable, Equatable {
    /// The customer's answer. Without one, the subscription ends with its current period.
    public enum Answer: String, Sendable {
        /// The customer agreed to the new price.
        case accepted
        /// The customer refused the new price.
        case declined
    }

    /// The account that is asked.
    public var accountID: AccountID
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The subscription whose price increases.
    public var productID: ProductID
    /// The price of a period before the increase.
    public var oldPrice: Money
    /// The price of a period after the increase, in the same currency.
    public var newPrice: Money
    /// When the increase was ordered, in milliseconds since 1970 by the store's clock.
    public var askedAt: Int64
    /// The customer's answer; nil before there is one.
    public var answer: Answer?
    /// When the customer answered, in milliseconds since 1970 by the store's clock.
    public var answeredAt: Int64?
    /// Whether the catalog's price rose, for all customers; false when the increase was ordered for this one.
    public var followsCatalog = false
}

extension Store {
    /// Orders a price increase of a subscription for one account, whose device then asks the customer. It replaces an
    /// earlier increase of the same product, answered or not.
    /// - Parameter price: the new price in milliunits of the currency in which the account pays.
    /// - Throws: ``StoreError`` `unknown_app`, `product_not_available`, `invalid_request` when the product is not an
    ///   auto-renewable subscription or the price is not higher, `wrong_state` when no period of the account's own
    ///   subscription to it lasts, also in a grace period, because the overdue renewal costs the old price, or
    ///   `internal_error` when the account's storefront is unknown; ``DatabaseError``.
    public func increasePrice(
        of productID: ProductID, in bundleID: BundleID, to price: Int64, for account: Account
    ) async throws -> PriceIncrease {
        try checkSold(productID, in: bundleID, to: account)
        let storefront = try storefront(of: account)
        guard let product = catalog.value.app(bundleID)?.product(productID), var old = product.price(in: storefront),
            let plan = product.subscription
        else { throw StoreError(.invalidRequest, "Only an auto-renewable subscription's price can be increased.") }
        if plan.preservesPrice {
            let kept = try await database.read {
                try Subscriptions.find(of: account.accountID, in: bundleID, group: plan.groupID, $0)?.price
            }
            if let kept, kept.currency == old.currency { old.milliunits = min(old.milliunits, kept.milliunits) }
        }
        guard price > old.milliunits, price <= Money.largest else {
            throw StoreError(
                .invalidRequest, "The new price must be above \(old.decimal) \(old.currency) and at most a million.")
        }
        try await settleSubscriptions(of: account.accountID)
        let increase = PriceIncrease(
            accountID: account.accountID, bundleID: bundleID, productID: productID, oldPrice: old,
            newPrice: Money(milliunits: price, currency: old.currency), askedAt: clock.milliseconds)
        try await database.write { [recorder] connection in
            let subscriptions = try Subscriptions.all(of: account.accountID, in: bundleID, connection)
            guard subscriptions.contains(where: { $0.productID == productID && $0.isInPeriod(at: increase.askedAt) })
            else {
                throw StoreError(
                    .wrongState,
                    "The account's last period is not of \(productID.rawValue.prefix(255)), has ended, or its renewal is overdue. A price increase is only for subscribers whose last charged period is of the product and has not ended."
                )
            }
            try PriceIncreases.order(increase, connection)
            try Self.change(increase, recorder, connection) {
                $0.announceIncrease(needsConsent: true, at: increase.askedAt)
            }
        }
        changed(.offers)
        tell(account.accountID)
        return increase
    }

    /// Returns the price increases of an account in the order of apps and products.
    /// - Throws: ``DatabaseError``.
    public func priceIncreases(of account: Account) async throws -> [PriceIncrease] {
        try await database.read { try PriceIncreases.all(of: account.accountID, $0) }
    }

    /// Returns the newest price increases of all accounts, at most ``mostPriceIncreases``, each with the account's
    /// e-mail address.
    /// - Throws: ``DatabaseError``.
    public func priceIncreases() async throws -> [(increase: PriceIncrease, email: String?)] {
        try await database.read { connection in
            try PriceIncreases.newest(Self.mostPriceIncreases, connection).map { increase in
                (increase, try Accounts.account(increase.accountID, connection)?.email)
            }
        }
    }

    /// The most rows of ``priceIncreases()``.
    public static let mostPriceIncreases = 200

    /// Withdraws a price increase that the customer has not answered. The subscription keeps its price.
    /// - Throws: ``StoreError`` `wrong_state` when the customer has answered, or when there is no increase of this
    ///   product; ``DatabaseError``.
    public func withdrawPriceIncrease(
        of productID: ProductID, in bundleID: BundleID, for account: Account
    ) async throws {
        try await database.write { [recorder] connection in
            let before = try PriceIncreases.all(of: account.accountID, connection).first {
                $0.bundleID == bundleID && $0.productID == productID
            }
            let withdrawn = try connection.execute(
                """
                DELETE FROM price_increases
                WHERE account_id = $1 AND bundle_id = $2 AND product_id = $3 AND answer IS NULL
                """, [account.accountID.rawValue, bundleID.rawValue, productID.rawValue])
            if withdrawn > 0, let before {
                try Self.change(before, recorder, connection) { subscription in
                    subscription.withdrawIncrease()
                    return []
                }
            }
            guard withdrawn == 0 else { return }
            let known = try PriceIncreases.all(of: account.accountID, connection).first {
                $0.bundleID == bundleID && $0.productID == productID
            }
            throw StoreError(
                .wrongState,
                known == nil
                    ? "The account has no price increase of \(productID.rawValue.prefix(255))."
                    : "The customer has answered this price increase. Order another one instead.")
        }
        changed(.offers)
    }

    /// Records a customer's answer. The first answer is final; repeating it has no effect.
    /// - Throws: ``StoreError`` `price_changed` when no increase to this price was ordered, or `wrong_state` when the
    ///   customer gave the other answer before; ``DatabaseError``.
    public func answerPriceIncrease(_ request: PriceConsentRequest, of account: Account) async throws {
        let now = clock.milliseconds
        let answer: PriceIncrease.Answer = request.accepts ? .accepted : .declined
        try await database.write { [recorder] connection in
            let changed = try connection.execute(
                """
                UPDATE price_increases SET answer = $6, answered_at = $7
                WHERE account_id = $1 AND bundle_id = $2 AND product_id = $3 AND new_price = $4 AND currency = $5
                    AND answer IS NULL
                """,
                [
                    account.accountID.rawValue, request.bundleID.rawValue, request.productID.rawValue,
                    request.newPrice.milliunits, request.newPrice.currency, answer.rawValue, now,
                ])
            let known = try PriceIncreases.all(of: account.accountID, connection).first {
                $0.bundleID == request.bundleID && $0.productID == request.productID && $0.newPrice == request.newPrice
            }
            if changed == 1, let known {
                return try Self.change(known, recorder, connection) {
                    $0.answerIncrease(agrees: answer == .accepted, at: now)
                }
            }
            guard let known else {
                throw StoreError(.priceChanged, "No price increase to this price is waiting for an answer.")
            }
            guard known.answer == answer else {
                throw StoreError(.wrongState, "The customer already gave the other answer to this price increase.")
            }
        }
        changed(.offers)
    }

    /// Gives a customer's answer to the price increase of a product, as the customer's device does with
    /// ``answerPriceIncrease(_:of:)``, and returns the answered increase.
    /// - Throws: ``StoreError`` `wrong_state` when the account has no price increase of this product, or when the
    ///   customer gave the other answer before, `price_changed` when the increase is replaced meanwhile;
    ///   ``DatabaseError``.
    public func answerPriceIncrease(
        of productID: ProductID, in bundleID: BundleID, for account: Account, accepts: Bool
    ) async throws -> PriceIncrease {
        func find() async throws -> PriceIncrease {
            let all = try await priceIncreases(of: account)
            guard let known = all.first(where: { $0.bundleID == bundleID && $0.productID == productID }) else {
                throw StoreError(
                    .wrongState, "The account has no price increase of \(productID.rawValue.prefix(255)).")
            }
            return known
        }
        let asked = try await find()
        try await answerPriceIncrease(
            PriceConsentRequest(
                bundleID: bundleID, productID: productID, newPrice: asked.newPrice, accepts: accepts), of: account)
        return try await find()
    }
}

extension Store {
    /// Changes the subscription that a price increase is about, if the account still has the product.
    private static func change(
        _ increase: PriceIncrease, _ recorder: Recorder, _ connection: Connection,
        _ change: (inout Subscription) -> [SubscriptionNews]
    ) throws {
        let all = try Subscriptions.all(of: increase.accountID, in: increase.bundleID, connection)
        guard let before = all.first(where: { $0.productID == increase.productID }) else { return }
        var after = before
        let news = change(&after)
        if after != before || !news.isEmpty { try Subscriptions.save(after, news, recorder, connection) }
    }
}

/// Queries of price increases.
enum PriceIncreases {
    /// The most increases to read, which is more than one account can have subscriptions.
    private static let most = 1000

    static func delete(of accountID: AccountID, _ connection: Connection) throws {
        try connection.execute("DELETE FROM price_increases WHERE account_id = $1", [accountID.rawValue])
    }

    static func delete(
        of accountID: AccountID, _ bundleID: BundleID, _ productID: ProductID, _ connection: Connection
    ) throws {
        try connection.execute(
            "DELETE FROM price_increases WHERE account_id = $1 AND bundle_id = $2 AND product_id = $3",
            [accountID.rawValue, bundleID.rawValue, productID.rawValue])
    }

    /// Inserts an increase. It replaces an earlier one of the product.
    static func order(_ increase: PriceIncrease, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO price_increases (\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            ON CONFLICT (account_id, bundle_id, product_id) DO UPDATE SET
                old_price = excluded.old_price, new_price = excluded.new_price, currency = excluded.currency,
                asked_at = excluded.asked_at, answer = excluded.answer, answered_at = excluded.answered_at,
                follows_catalog = excluded.follows_catalog
            """,
            [
                .text(increase.accountID.rawValue), .text(increase.bundleID.rawValue),
                .text(increase.productID.rawValue), .integer(increase.oldPrice.milliunits),
                .integer(increase.newPrice.milliunits), .text(increase.newPrice.currency), .integer(increase.askedAt),
                SQLValue(increase.answer?.rawValue), SQLValue(increase.answeredAt), .boolean(increase.followsCatalog),
            ] as [SQLValue])
    }

    private static let columns =
        "account_id, bundle_id, product_id, old_price, new_price, currency, asked_at, answer, answered_at, follows_catalog"

    static func all(of accountID: AccountID, _ connection: Connection) throws -> [PriceIncrease] {
        try connection.query(
            "SELECT \(columns) FROM price_increases WHERE account_id = $1 ORDER BY bundle_id, product_id LIMIT $2",
            [accountID.rawValue, most]
        ).map { try increase($0) }
    }

    /// The last increase of the product that a subscription's next renewal buys; nil for none.
    static func next(of subscription: Subscription, _ connection: Connection) throws -> PriceIncrease? {
        try all(of: subscription.accountID, connection).first {
            $0.bundleID == subscription.bundleID && $0.productID == subscription.renewalProductID
        }
    }

    static func newest(_ count: Int, _ connection: Connection) throws -> [PriceIncrease] {
        try connection.query(
            """
            SELECT \(columns) FROM price_increases
            ORDER BY asked_at DESC, account_id, bundle_id, product_id LIMIT $1
            """, [count]
        ).map { try increase($0) }
    }

    private static func increase(_ row: Row) throws -> PriceIncrease {
        let currency = try row.string(5)
        return PriceIncrease(
            accountID: AccountID(try row.string(0)), bundleID: BundleID(try row.string(1)),
            productID: ProductID(try row.string(2)),
            oldPrice: Money(milliunits: try row.int64(3), currency: currency),
            newPrice: Money(milliunits: try row.int64(4), currency: currency), askedAt: try row.int64(6),
            answer: try row.optionalString(7).flatMap(PriceIncrease.Answer.init(rawValue:)),
            answeredAt: try row.optionalInt64(8), followsCatalog: try row.bool(9))
    }
}
