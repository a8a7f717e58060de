/// What is sold. The raw values travel between the device and the store and stand in the store's tables.
public enum ProductKind: String, Codable, Sendable, CaseIterable, Hashable {
    case consumable
    case nonConsumable
    case nonRenewingSubscription
    case autoRenewableSubscription
    /// A subscription that costs nothing and does not end: sold until 2017 (Newsstand), still restored by the store.
    case freeSubscription

    /// The number in attribute 1707 of an app receipt: 0 non-consumable, 1 consumable, 2 non-renewing, 3 auto-renewable (undocumented, as read
    /// by the public parsers). A free subscription is written as 2, since no sample of one is known.
    public var receiptNumber: Int64 {
        switch self {
        case .nonConsumable: 0
        case .consumable: 1
        case .nonRenewingSubscription, .freeSubscription: 2
        case .autoRenewableSubscription: 3
        }
    }

    /// Whether a purchase stays in the receipt after it was finished; only consumables leave it.
    public var staysInReceipt: Bool { self != .consumable }

    /// Whether one account can own it only once, so that buying it again delivers it again without charge.
    public var isOwnedOnce: Bool { self == .nonConsumable || self == .freeSubscription }
}
