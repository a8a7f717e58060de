import StoreWire

/// What a purchase is known by, so that it is redeemed once: the store that proved it, environment and app, and with them the
/// transaction's id (consumables), the original id (what is owned for good: a restored purchase is the same), or the original id
/// and the period (auto-renewable subscriptions).
///
/// Keys of one kind are as long as their ids, which rise with time: those made one after another lie beside each other in the table.
struct RedemptionKey: Hashable, Sendable {
    let text: String

    init(_ purchase: VerifiedPurchase, kind: ProductKind) {
        let scope = Self.scope(purchase)
        switch kind {
        case .consumable: text = scope + "t/" + purchase.transactionID
        case .nonConsumable, .nonRenewingSubscription, .freeSubscription:
            text = scope + "o/" + purchase.originalTransactionID
        case .autoRenewableSubscription:
            text = scope + "p/" + purchase.originalTransactionID + "/" + Self.period(purchase)
        }
    }

    /// The subscription as a whole.
    static func subscription(_ purchase: VerifiedPurchase) -> String {
        scope(purchase) + "s/" + purchase.originalTransactionID
    }

    /// Where a purchase was made, or the first one of a subscription, by its key.
    static func environment(of key: String) -> StoreEnvironment {
        key.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).dropFirst().first == "S"
            ? .sandbox : .production
    }

    /// The key's places for several users under ``ConflictPolicy/family(members:)``, the first among them.
    func places(_ count: Int) -> [String] {
        [text] + (2...max(count, 2)).prefix(max(count - 1, 0)).map { "\(text)#\($0)" }
    }

    /// Most users that one purchase may have.
    static let mostPlaces = 6

    private static func scope(_ purchase: VerifiedPurchase) -> String {
        purchase.anchor + "/" + (purchase.environment == .production ? "P/" : "S/") + purchase.bundleID.rawValue + "/"
    }

    /// The store numbers periods, and keeps the number when a period is restored or made longer. One without is known by its start,
    /// in seconds, which every kind of receipt has.
    private static func period(_ purchase: VerifiedPurchase) -> String {
        purchase.webOrderLineItemID ?? "d\(purchase.purchasedAt / 1_000)"
    }
}
