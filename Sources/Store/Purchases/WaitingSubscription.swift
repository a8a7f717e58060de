import Database
import Foundation
import StoreWire

/// The first period of a subscription that waits for somebody's word, as the customer agreed to it with its amount: until it is sold the catalog may change, and
/// the account may use up the group's introduction.
struct WaitingSubscription: Sendable, Equatable {
    var introduction: Transaction.Offer?
    var period: SubscriptionPeriod

    /// Nil for what is no subscription.
    init?(_ sale: Store.Sale) {
        guard let period = sale.period else { return nil }
        (introduction, self.period) = (sale.introduction, period)
    }

    /// Makes a sale what was agreed to; false when the account is not new to the group any more.
    func apply(to sale: inout Store.Sale) -> Bool {
        guard introduction == nil || sale.lastInGroup == nil else { return false }
        (sale.introduction, sale.period) = (introduction, period)
        return true
    }

    /// What was agreed to under a key; nil for what is no subscription, and for what an earlier program let wait.
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

    /// Forgets it once the purchase has its end.
    static func delete(_ key: UUID, _ connection: Connection) throws {
        try connection.execute("DELETE FROM waiting_subscriptions WHERE idempotency_key = $1", [key.text])
    }

    private init(introduction: Transaction.Offer?, period: SubscriptionPeriod) {
        (self.introduction, self.period) = (introduction, period)
    }
}
