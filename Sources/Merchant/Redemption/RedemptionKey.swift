import StoreWire

/// What a purchase is known by, so that it is redeemed once: the store that proved it, environment and app, and with them the
/// transaction's id (consumables), the original id (what is owned for good: a restored purchase is the same), or the original id
/// and the period (auto-renewable subscriptions).
///
/// Keys of one kind are as long as their ids, which rise with time: those made one after another lie beside each other in the table.
struct RedemptionKey: Hashable, Sendable {
    let text: String

    /// Which of a purchase's ids it is known by.
    enum Identity: Hashable, Sendable, CaseIterable {
        case transaction
        case original
        case period

        init(_ kind: ProductKind) {
            switch kind {
            case .consumable: self = .transaction
            case .nonConsumable, .nonRenewingSubscription, .freeSubscription: self = .original
            case .autoRenewableSubscription: self = .period
            }
        }
    }

    init(_ purchase: VerifiedPurchase, kind: ProductKind) {
        self.init(purchase, Identity(kind))
    }

    init(_ purchase: VerifiedPurchase, _ identity: Identity) {
        let scope = Self.scope(purchase)
        switch identity {
        case .transaction: text = scope + "t/" + purchase.transactionID
        case .original: text = scope + "o/" + purchase.originalTransactionID
        case .period: text = scope + "p/" + purchase.originalTransactionID + "/" + Self.period(purchase)
        }
    }

    /// A key that was kept.
    init(text: String) { self.text = text }

    /// The keys that a purchase may be known by when its product was of another kind before.
    /// - Parameter identities: those of the other kinds.
    static func former(_ purchase: VerifiedPurchase, _ identities: Set<Identity>) -> [RedemptionKey] {
        Identity.allCases.filter { identities.contains($0) }.flatMap { identity in
            let key = RedemptionKey(purchase, identity)
            guard identity == .transaction, purchase.originalTransactionID != purchase.transactionID else {
                return [key]
            }
            // A restored purchase was redeemed under the id that it had first.
            return [key, RedemptionKey(text: scope(purchase) + "t/" + purchase.originalTransactionID)]
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
