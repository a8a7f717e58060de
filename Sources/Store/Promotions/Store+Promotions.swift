import Database
import Foundation
import StoreWire

extension Store {
    /// How long a device can take a promoted purchase, in milliseconds. After a day the customer's tap is outdated.
    static let promotionLifetime: Int64 = 24 * 3600 * 1000
    /// The most promoted purchases of one account that can wait at once.
    static let mostPromotions = 20

    /// Returns when a promoted purchase that a device can take at `now` was made, in milliseconds. A later one was made
    /// before the store's clock was set back. One that another process made just now may be later than `now` by the
    /// seconds by which their clocks differ.
    static func creationOfPromotions(at now: Int64) -> ClosedRange<Int64> {
        now - promotionLifetime...now + promotionLifetime
    }

    /// Promotes a product to an account, as if the customer had tapped it in the store. The account's device receives
    /// the promotion with its next notices and asks the app whether to continue.
    /// - Returns: the promotion's id.
    /// - Throws: ``StoreError`` `unknown_app`, `product_not_available`, `wrong_state` when too many promotions wait, or
    ///   `internal_error` when the account's storefront is unknown; ``DatabaseError``.
    public func promote(_ productID: ProductID, in bundleID: BundleID, to account: Account) async throws -> UUID {
        try checkSold(productID, in: bundleID, to: account)
        let promotionID = UUID()
        let now = clock.milliseconds
        let made = Self.creationOfPromotions(at: now)
        try await database.write { connection in
            try connection.execute(
                "DELETE FROM promotions WHERE account_id = $1 AND created_at NOT BETWEEN $2 AND $3",
                [account.accountID.rawValue, made.lowerBound, made.upperBound])
            let waiting = try connection.queryOne(
                "SELECT count(*) FROM promotions WHERE account_id = $1", [account.accountID.rawValue])?.int(0)
            guard waiting ?? 0 < Self.mostPromotions else {
                throw StoreError(
                    .wrongState, "\(Self.mostPromotions) promoted purchases of this account are already waiting.")
            }
            try connection.execute(
                """
                INSERT INTO promotions (account_id, promotion_id, bundle_id, product_id, created_at)
                VALUES ($1, $2, $3, $4, $5)
                """,
                [account.accountID.rawValue, promotionID.uuidString, bundleID.rawValue, productID.rawValue, now])
        }
        changed(.offers)
        tell(account.accountID)
        return promotionID
    }

    /// The promoted purchases of an account that wait for a device, oldest first.
    /// - Throws: ``DatabaseError``.
    public func promotions(of account: Account) async throws -> [WaitingPromotion] {
        let made = Self.creationOfPromotions(at: clock.milliseconds)
        return try await database.read { try Promotions.waiting(for: account.accountID, made: made, $0) }
    }

    /// Takes a promoted purchase for one device, which removes it for the others. The operator withdraws one so, too.
    /// - Throws: ``StoreError`` `wrong_state` when it was taken before, is outdated or does not exist;
    ///   ``DatabaseError``.
    public func takePromotion(_ promotionID: UUID, of account: Account) async throws {
        let made = Self.creationOfPromotions(at: clock.milliseconds)
        let taken = try await database.write { connection in
            try connection.execute(
                """
                DELETE FROM promotions
                WHERE account_id = $1 AND promotion_id = $2 AND created_at BETWEEN $3 AND $4
                """,
                [account.accountID.rawValue, promotionID.uuidString, made.lowerBound, made.upperBound])
        }
        guard taken == 1 else { throw StoreError(.wrongState, "The promoted purchase is no longer available.") }
        changed(.offers)
    }

    /// Checks that the storefront of an account sells a product.
    /// - Throws: ``StoreError`` `unknown_app`, `product_not_available`, or `internal_error` when the account's
    ///   storefront is unknown.
    func checkSold(_ productID: ProductID, in bundleID: BundleID, to account: Account) throws {
        guard let app = catalog.value.app(bundleID) else {
            throw StoreError(
                .unknownApp, "The catalog has no app with the bundle identifier \(bundleID.rawValue.prefix(255)).")
        }
        let storefront = try storefront(of: account)
        guard app.product(productID)?.price(in: storefront) != nil else {
            throw StoreError(
                .productNotAvailable,
                "The product \(productID.rawValue.prefix(255)) is not available in the storefront \(storefront.countryCode)."
            )
        }
    }
}

/// A promoted purchase that waits for a device of its account.
public struct WaitingPromotion: Sendable, Equatable {
    /// The promotion's identifier.
    public var promotionID: UUID
    /// The account.
    public var accountID: AccountID
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The product.
    public var productID: ProductID
    /// When the operator promoted the product, in milliseconds since 1970 by the store's clock.
    public var createdAt: Int64
}

/// Queries of promoted purchases.
enum Promotions {
    static func waiting(
        for accountID: AccountID, made: ClosedRange<Int64>, _ connection: Connection
    ) throws -> [WaitingPromotion] {
        try connection.query(
            """
            SELECT promotion_id, bundle_id, product_id, created_at FROM promotions
            WHERE account_id = $1 AND created_at BETWEEN $2 AND $3 ORDER BY created_at, promotion_id LIMIT $4
            """, [accountID.rawValue, made.lowerBound, made.upperBound, Store.mostPromotions]
        ).compactMap { row in
            guard let promotionID = UUID(uuidString: try row.string(0)) else { return nil }
            return WaitingPromotion(
                promotionID: promotionID, accountID: accountID, bundleID: BundleID(try row.string(1)),
                productID: ProductID(try row.string(2)), createdAt: try row.int64(3))
        }
    }

    static func delete(of accountID: AccountID, _ connection: Connection) throws {
        try connection.execute("DELETE FROM promotions WHERE account_id = $1", [accountID.rawValue])
    }

    static func waiting(
        for accountID: AccountID, in bundleID: BundleID, made: ClosedRange<Int64>, _ connection: Connection
    ) throws -> [PromotionDescription] {
        try connection.query(
            """
            SELECT promotion_id, product_id FROM promotions
            WHERE account_id = $1 AND bundle_id = $2 AND created_at BETWEEN $3 AND $4
            ORDER BY created_at, promotion_id LIMIT $5
            """, [accountID.rawValue, bundleID.rawValue, made.lowerBound, made.upperBound, Store.mostPromotions]
        ).compactMap { row in
            guard let promotionID = UUID(uuidString: try row.string(0)) else { return nil }
            return PromotionDescription(promotionID: promotionID, productID: ProductID(try row.string(1)))
        }
    }
}
