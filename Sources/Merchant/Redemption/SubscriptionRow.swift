import MerchantWire
import StoreWire

/// A subscription's user and its state, by the store's latest statement.
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

    /// Whether a purchase is a newer period, or states the newest one as exactly as it is known.
    func isAdvanced(by purchase: VerifiedPurchase) -> Bool {
        isBefore(purchase) || isPeriod(of: purchase) && purchasedAt <= purchase.purchasedAt
    }

    /// Whether the newest period is recorded as a purchase states it.
    func isRecorded(_ purchase: VerifiedPurchase, expiresAt: Int64) -> Bool {
        expiresAt == self.expiresAt && purchase.purchasedAt == purchasedAt && purchase.productID == productID
            && (purchase.accountToken == nil || purchase.accountToken == accountToken) && periodKey != nil
    }

    /// The end of a period, from the purchase and from the recorded end.
    func end(of purchase: VerifiedPurchase, _ expiresAt: Int64) -> Int64 {
        isPeriod(of: purchase) && productID == purchase.productID
            ? max(expiresAt, self.expiresAt) : expiresAt
    }
}
