import MerchantWire
import StoreWire
import Synchronization

/// Tells the operator of products whose kind on the merchant's list does not fit what the store says of them: no such purchase is redeemed.
public final class KindMismatchReports: Sendable {
    /// One such product.
    public struct Report: Sendable, Equatable {
        /// The app in which the purchase was made.
        public var bundleID: BundleID
        /// The product whose listed kind is wrong.
        public var productID: ProductID
        /// What the merchant's list says.
        public var listed: ProductKind
        /// What the store says; nil when it follows from the purchase's dates or ids alone.
        public var stated: ProductKind?

        /// What the store says, in words.
        public var storeStatement: String {
            switch stated {
            case listed: "\(listed.rawValue), with dates or ids that such a purchase cannot have"
            case let other?: other.rawValue
            case nil: "no such kind, by its dates and ids"
            }
        }
    }

    /// Of one product so many milliseconds apart.
    private static let pause: Int64 = 60_000
    /// Products that are remembered.
    private static let capacity = 1_000

    private struct State {
        var listener: (@Sendable (Report) -> Void)?
        var lastReported: [ProductID: Int64] = [:]
    }

    private let state = Mutex(State())

    /// Has reports told, one a minute of each product. The listener must not wait.
    public func listen(_ listener: @escaping @Sendable (Report) -> Void) {
        state.withLock { $0.listener = listener }
    }

    func report(_ purchase: VerifiedPurchase, listed: ProductKind, at now: Int64) {
        let listener = state.withLock { state -> (@Sendable (Report) -> Void)? in
            if let last = state.lastReported[purchase.productID], now >= last, now < last + Self.pause { return nil }
            if state.lastReported.count >= Self.capacity { state.lastReported.removeAll() }
            state.lastReported[purchase.productID] = now
            return state.listener
        }
        listener?(
            Report(
                bundleID: purchase.bundleID, productID: purchase.productID, listed: listed, stated: purchase.statedKind)
        )
    }
}

extension VerifiedPurchase {
    /// Whether what the store says cannot be true of a product of such a kind, so that the purchase would be known by the wrong identity.
    ///
    /// A signed transaction states the kind, and an app receipt does so in attribute 1707. Where nothing is stated, only an auto-renewable
    /// subscription has a date on which it expires, and has one always; and a purchase that was restored or renewed, which has another
    /// original id than its own, is no consumable. Kinds that are known by the original id are not told from one another.
    func contradicts(_ kind: ProductKind) -> Bool {
        switch kind {
        case .consumable:
            return statedKind ?? kind != kind || expiresAt != nil || originalTransactionID != transactionID
        case .nonConsumable:
            return statedKind == .consumable || statedKind == .autoRenewableSubscription || expiresAt != nil
        case .nonRenewingSubscription, .freeSubscription:
            return statedKind == .consumable || statedKind == .autoRenewableSubscription
        case .autoRenewableSubscription:
            return statedKind ?? kind != kind || expiresAt == nil
        }
    }
}
