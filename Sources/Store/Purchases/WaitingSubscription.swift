import Database
import Foundation
import StoreWire

/// The agreed first period of a subscription whose purchase waits.
///
/// Until the purchase is sold, the catalog may change and the account may use the group's introductory offer.
struct WaitingSubscription: Sendable, Equatable {
    var introduction: Transaction.Offer?
    var period: SubscriptionPeriod

    /// The first period of a sale; nil when the product is not a subscription.
    init?(_ sale: Store.Sale) {
        guard let period = sale.period else { return nil }
        (introduction, self.period) = (sale.introduction, period)
    }

    /// Applies the agreed period to a sale. Returns false when the account can no longer have the group's
    /// introductory offer.
    func apply(to sale: inout Store.Sale) -> Bool {
        guard introduction == nil || sale.lastInGroup == nil || sale.introduction == introduction else { return false }
        if sale.introduction != introduction || introduction == nil && sale.namedOffer == nil {
            sale.subscription?.remainingOffer = nil
            sale.offerTerms = nil
        }
        (sale.introduction, sale.period) = (introduction, period)
        return true
    }

    /// The agreed period of a waiting purchase; nil when it is not a subscription, or when an older version recorded
    /// it.
    static func find(_ key: UUID, _ connection: Connection) throws -> WaitingSubscription? {
        try connection.queryOne(
            "SELECT offer, period_unit, period_count FROM waiting_subscriptions WHERE idempotency_key = $1", [key.text]
        ).map { row in
            guard let unit = SubscriptionPeriod.Unit(rawValue: try row.string(1)) else {
                throw StoreError(.internalError, "A purchase waits for a period that this program does not know.")
            }
            return WaitingSubscription(
                introduction: try row.optionalString(0).flatMap { Transaction.Offer(rawValue: $0) },
                period: SubscriptionPeriod(unit: unit, count: try row.int(2)))
        }
    }

    func insert(_ key: UUID, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO waiting_subscriptions (idempotency_key, offer, period_unit, period_count) VALUES ($1, $2, $3, $4)
            """, [key.text, introduction?.rawValue, period.unit.rawValue, Int64(period.count)])
    }

    /// Deletes the row once the purchase is settled.
    static func delete(_ key: UUID, _ connection: Connection) throws {
        try connection.execute("DELETE FROM waiting_subscriptions WHERE idempotency_key = $1", [key.text])
    }

    private init(introduction: Transaction.Offer?, period: SubscriptionPeriod) {
        (self.introduction, self.period) = (introduction, period)
    }
}
