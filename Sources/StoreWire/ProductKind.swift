/// The type of a product. Messages between the device and the store, and the store's tables, use the raw values.
public enum ProductKind: String, Codable, Sendable, CaseIterable, Hashable {
    /// A product that is used up and can be bought again.
    case consumable
    /// A product that is bought once and kept for good.
    case nonConsumable
    /// A subscription for a limited time that the customer renews by buying it again.
    case nonRenewingSubscription
    /// A subscription that the store renews at the end of each period.
    case autoRenewableSubscription
    /// A subscription that is free and never ends. It was sold until 2017 (Newsstand), and the store still restores it.
    case freeSubscription

    /// The number in attribute 1707 of an app receipt: 0 non-consumable, 1 consumable, 2 non-renewing, 3
    /// auto-renewable. Apple does not document it; the numbers are those that public parsers read. A free subscription
    /// is written as 2, because no sample of one is known.
    public var receiptNumber: Int64 {
        switch self {
        case .nonConsumable: 0
        case .consumable: 1
        case .nonRenewingSubscription, .freeSubscription: 2
        case .autoRenewableSubscription: 3
        }
    }

    /// Whether an account can own the product only once. Buying it again delivers it again without charge.
    public var isOwnedOnce: Bool { self == .nonConsumable || self == .freeSubscription }
}
