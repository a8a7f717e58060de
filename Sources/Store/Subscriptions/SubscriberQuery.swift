import StoreWire

/// The current periods of subscriptions that the operator asks for. Properties that are nil select every one.
///
/// No index serves them, because a purchase would pay for it. The store looks at ``LedgerQuery/mostLooked``
/// transactions at once.
public struct SubscriberQuery: Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: BundleID?
    /// The subscription group.
    public var groupID: SubscriptionGroupID?
    /// The subscription product.
    public var productID: ProductID?
    /// The transaction before which the rows begin; nil for the newest.
    public var before: TransactionID?
    /// The most rows, 1 to ``most``.
    public var limit: Int

    /// The most rows of one request.
    public static let most = 200

    /// Creates a query for the newest periods of all apps.
    public init(
        bundleID: BundleID? = nil, groupID: SubscriptionGroupID? = nil, productID: ProductID? = nil,
        before: TransactionID? = nil, limit: Int = 50
    ) {
        self.bundleID = bundleID
        self.groupID = groupID
        self.productID = productID
        self.before = before
        self.limit = min(max(limit, 1), Self.most)
    }
}

/// A customer's subscription in its current period.
public struct Subscriber: Sendable, Equatable {
    /// The transaction of the period.
    public var period: Transaction
    /// The account's e-mail address; nil when the account does not exist any more.
    public var email: String?
}

/// A period of an account's subscription, and how it follows the account's earlier period in the same group.
public struct SubscriptionPlan: Sendable, Equatable {
    /// How a period follows an earlier one. The raw values are those of the control port.
    public enum Step: String, Sendable, CaseIterable {
        /// The first period in the group.
        case first
        /// The same product, before the earlier period ended or as it ended.
        case again
        /// The same product, after a time without it.
        case returned
        /// A product of a higher level.
        case upgrade
        /// A product of a lower level.
        case downgrade
        /// Another product of the same level, or one whose level the catalog does not have any more.
        case crossgrade
    }

    /// The transaction of the period.
    public var period: Transaction
    /// How the period follows the earlier one.
    public var step: Step
    /// The product of the earlier period; nil for the first one.
    public var previous: ProductID?
    /// When a change of plan ended the period, in milliseconds since 1970; nil when none did, and for the newest period
    /// of a page.
    public var replacedAt: Int64?

    /// Compares a period with the earlier one.
    /// - Parameter level: a product's level of service in the group; nil when it is not known.
    init(_ period: Transaction, after earlier: Transaction?, level: (ProductID) -> Int?) {
        self.period = period
        previous = earlier?.productID
        guard let earlier else {
            step = .first
            return
        }
        guard earlier.productID != period.productID else {
            let end = earlier.revokedAt ?? earlier.expiresDate ?? .max
            step = period.purchaseDate <= end ? .again : .returned
            return
        }
        // Level 1 is the highest.
        guard let old = level(earlier.productID), let new = level(period.productID), old != new else {
            step = .crossgrade
            return
        }
        step = new < old ? .upgrade : .downgrade
    }
}
