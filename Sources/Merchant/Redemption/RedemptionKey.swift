import StoreWire

/// The key under which a purchase is recorded, so that it is redeemed once. It consists of the store that proved the
/// purchase, the environment, the app, and:
///
/// - for a consumable, the transaction's identifier;
/// - for a purchase that is owned forever, the original identifier, which a restored purchase shares;
/// - for an auto-renewable subscription, the original identifier and the period.
///
/// Keys of one kind have the length of their identifiers, which rise with time, so that new keys are close together in
/// the table.
struct RedemptionKey: Hashable, Sendable {
    let text: String

    /// The identifier that the key contains.
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

    /// Creates a key from its stored text.
    init(text: String) { self.text = text }

    /// The keys that a purchase may have if its product had another kind before.
    /// - Parameter identities: the identities of the other kinds.
    static func former(_ purchase: VerifiedPurchase, _ identities: Set<Identity>) -> [RedemptionKey] {
        Identity.allCases.filter { identities.contains($0) }.flatMap { identity in
            let key = RedemptionKey(purchase, identity)
            guard identity == .transaction, purchase.originalTransactionID != purchase.transactionID else {
                return [key]
            }
            // A restored purchase was redeemed under its first identifier.
            return [key, RedemptionKey(text: scope(purchase) + "t/" + purchase.originalTransactionID)]
        }
    }

    /// The key of a subscription as a whole.
    static func subscription(_ purchase: VerifiedPurchase) -> String {
        scope(purchase) + "s/" + purchase.originalTransactionID
    }

    /// The parts of a subscription's key: the environment, the app and the original transaction. Nil for a text that is
    /// not such a key.
    static func subscription(named key: String) -> (StoreEnvironment, BundleID, original: String)? {
        let parts = key.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, parts[3] == "s", !parts[4].isEmpty else { return nil }
        return (environment(of: key), BundleID(String(parts[2])), String(parts[4]))
    }

    /// The beginning of the keys of a subscription's periods.
    /// - Parameter subscription: the subscription's key.
    static func periods(of subscription: String) -> String {
        let parts = subscription.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false)
        return parts.prefix(3).joined(separator: "/") + "/p/" + (parts.last ?? "") + "/"
    }

    /// Creates the key of a period without a number.
    /// - Parameter subscription: the subscription's key.
    init(startingAt date: Int64, of subscription: String) {
        text = Self.periods(of: subscription) + "d\(date / 1_000)"
    }

    /// The environment of a purchase or subscription, read from its key.
    static func environment(of key: String) -> StoreEnvironment {
        key.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).dropFirst().first == "S"
            ? .sandbox : .production
    }

    /// The keys of the places that users can take under ``ConflictPolicy/family(members:)``; the first is the key
    /// itself.
    func places(_ count: Int) -> [String] {
        [text] + (2...max(count, 2)).prefix(max(count - 1, 0)).map { "\(text)#\($0)" }
    }

    /// The store's number of a subscription's period, read from the period's key. Nil for other keys, and for a period
    /// without a number.
    var periodNumber: Int64? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).suffix(3)
        guard parts.count == 3, parts.first == "p", let number = parts.last else { return nil }
        return Int64(number)
    }

    /// The largest number of users who may share one purchase.
    static let mostPlaces = 6

    /// The beginning of the keys of an app's purchases from a store.
    static func scope(_ anchor: String, _ environment: StoreEnvironment, _ bundleID: BundleID) -> String {
        anchor + "/" + (environment == .production ? "P/" : "S/") + bundleID.rawValue + "/"
    }

    /// The keys under which a transaction may have been redeemed, except as a period of a subscription.
    static func keys(of transactionID: String, _ original: String, in scope: String) -> [String] {
        [scope + "t/" + transactionID] + RedemptionKey(text: scope + "o/" + original).places(mostPlaces)
    }

    /// The beginning of the keys of a subscription's periods.
    static func periods(of original: String, in scope: String) -> String { scope + "p/" + original + "/" }

    private static func scope(_ purchase: VerifiedPurchase) -> String {
        scope(purchase.anchor, purchase.environment, purchase.bundleID)
    }

    /// The identifier of a period. The store numbers periods and keeps the number when a period is restored or
    /// extended. A period without a number is identified by its start in seconds, which every kind of receipt has.
    private static func period(_ purchase: VerifiedPurchase) -> String {
        purchase.webOrderLineItemID ?? "d\(purchase.purchasedAt / 1_000)"
    }
}
