import MerchantWire
import StoreWire
import Synchronization

/// Reports products to the operator whose kind on the merchant's list differs from the kind in the store's evidence.
/// Such purchases are not redeemed.
public final class KindMismatchReports: Sendable {
    /// One product with a wrong kind.
    public struct Report: Sendable, Equatable {
        /// The app in which the purchase was made.
        public var bundleID: BundleID
        /// The product whose listed kind is wrong.
        public var productID: ProductID
        /// The kind on the merchant's list.
        public var listed: ProductKind
        /// The kind that the store states. Nil when the evidence states none, and the mismatch follows from its dates
        /// or identifiers.
        public var stated: ProductKind?

        /// The store's statement as text for the log.
        public var storeStatement: String {
            switch stated {
            case listed: "\(listed.rawValue), with dates or identifiers that contradict it"
            case let other?: other.rawValue
            case nil: "not stated, but dates and identifiers contradict the list"
            }
        }
    }

    /// The shortest time between two reports of one product, in milliseconds.
    private static let pause: Int64 = 60_000
    /// The number of products whose last report is remembered.
    private static let capacity = 1_000

    private struct State {
        var listener: (@Sendable (Report) -> Void)?
        var lastReported: [ProductID: Int64] = [:]
    }

    private let state = Mutex(State())

    /// Calls `listener` with each report, in place of an earlier listener; at most one report a minute for each
    /// product. The listener must return quickly.
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
    /// Whether the evidence contradicts a kind. Such a purchase would get the wrong redemption key.
    ///
    /// A signed transaction states the kind, and an app receipt states it in attribute 1707. Without a statement, two
    /// facts decide: an auto-renewable subscription always has an expiry date, and no other kind has one; and a
    /// restored or renewed purchase, whose original identifier differs from its own, is not a consumable. The check
    /// does not distinguish kinds that are identified by the original identifier.
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
