import MerchantWire
import StoreWire

/// A subscription as the merchant keeps it: its user and its facts.
struct SubscriptionRow: Sendable, Equatable {
    let key: String
    /// The subscription's user; empty while nobody has redeemed a period.
    var userID: UserID = ""
    /// The newest period among those that decided who the user is. A period that was refunded before the merchant
    /// received it decides nothing.
    var periodKey: RedemptionKey?
    var facts = Subscription()
    /// Whether an earlier program wrote the row, so that the periods in ``facts`` are not stored yet.
    var isEarlier = false

    private var period: Subscription.Period? { periodKey.flatMap { facts[$0] } }

    /// The account token of the newest deciding period that has one; nil when none has.
    var accountToken: String? {
        guard let period else { return nil }
        return facts.periods.last { $0.position <= period.position && $0.accountToken != nil }?.accountToken?.value
    }

    /// Records that a period decides who the user is, if it is the newest one.
    mutating func decide(by key: RedemptionKey) {
        if isBefore(key) { periodKey = key }
    }

    /// Whether a purchase's period is later than those that decided who the user is.
    private func isBefore(_ key: RedemptionKey) -> Bool {
        guard let period else { return true }
        return facts[key].map { period.position < $0.position && !$0.isCopy(of: period) } ?? false
    }

    /// Whether a purchase's period is earlier than the newest one that decided who the user is.
    func isAfter(_ key: RedemptionKey) -> Bool {
        guard let period else { return false }
        return facts[key].map { $0.position < period.position && !$0.isCopy(of: period) } ?? false
    }

    /// Whether a later period was bought anew or renews one that was. The subscription then belongs to the user named
    /// by its account token.
    ///
    /// A renewal repeats the token of the purchase that it renews, even after the subscription has moved to another
    /// user. A different token therefore means that there was a purchase in between, which the merchant may not know
    /// yet.
    func isBoughtAnew(by purchase: VerifiedPurchase, _ key: RedemptionKey) -> Bool {
        guard let period, isBefore(key) else { return false }
        return hasAnotherName(than: purchase) || purchase.isRenewal == false && period.end <= purchase.purchasedAt
    }

    /// Whether a purchase's account token differs from the newest known period's; false when either has none.
    func hasAnotherName(than purchase: VerifiedPurchase) -> Bool {
        guard let accountToken, let token = purchase.accountToken else { return false }
        return !token.hasSameBytes(as: accountToken)
    }
}
