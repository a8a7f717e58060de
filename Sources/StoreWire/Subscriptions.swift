import Foundation

/// An auto-renewable subscription of the account, as its owner manages it.
public struct ManagedSubscription: Codable, Sendable, Equatable {
    /// The state of a subscription.
    public enum State: String, Codable, Sendable, CaseIterable {
        /// The customer has a paid period, or is in a free trial.
        case active
        /// A renewal was not paid. The customer keeps the access until the grace period ends.
        case gracePeriod
        /// A renewal was not paid, and the customer has no access. The store still tries to charge.
        case billingRetry
        /// The subscription is over.
        case expired
        /// The last period was refunded.
        case revoked
    }

    /// The identifier of the first transaction of the subscription.
    public var originalTransactionID: TransactionID
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The app's name; nil when the catalog has none.
    public var appName: String?
    /// The subscription group.
    public var groupID: SubscriptionGroupID
    /// The group's name in the language of the account's storefront.
    public var groupName: String
    /// The product of the last period.
    public var productID: ProductID
    /// The product's name in the language of the account's storefront.
    public var productName: String
    /// The state.
    public var state: State
    /// When the last period ends or ended, in milliseconds since 1970.
    public var expiresDate: Int64
    /// When the grace period ends; nil outside one.
    public var gracePeriodExpiresDate: Int64?
    /// Whether the customer wants the subscription to renew.
    public var willRenew: Bool
    /// Whether the customer can turn renewal on again without buying.
    public var canTurnRenewalOn: Bool
    /// The store's next charge; nil for none.
    public var nextCharge: NextCharge?
    /// Why the subscription ends although ``willRenew`` is true; nil when there is a next charge, or renewal is off.
    public var obstacle: RenewalObstacle?
    /// The plans of the group that the customer can change to. For a subscription that is over, the plans to subscribe
    /// to again.
    public var plans: [SubscriptionPlanChoice]

    /// Creates a description.
    public init(
        originalTransactionID: TransactionID, bundleID: BundleID, appName: String?, groupID: SubscriptionGroupID,
        groupName: String, productID: ProductID, productName: String, state: State, expiresDate: Int64,
        gracePeriodExpiresDate: Int64?, willRenew: Bool, canTurnRenewalOn: Bool, nextCharge: NextCharge?,
        obstacle: RenewalObstacle?, plans: [SubscriptionPlanChoice]
    ) {
        self.originalTransactionID = originalTransactionID
        self.bundleID = bundleID
        self.appName = appName
        self.groupID = groupID
        self.groupName = groupName
        self.productID = productID
        self.productName = productName
        self.state = state
        self.expiresDate = expiresDate
        self.gracePeriodExpiresDate = gracePeriodExpiresDate
        self.willRenew = willRenew
        self.canTurnRenewalOn = canTurnRenewalOn
        self.nextCharge = nextCharge
        self.obstacle = obstacle
        self.plans = plans
    }

    private enum CodingKeys: String, CodingKey {
        case originalTransactionID = "originalTransactionId"
        case bundleID = "bundleId"
        case appName
        case groupID = "groupId"
        case groupName
        case productID = "productId"
        case productName, state, expiresDate, gracePeriodExpiresDate, willRenew, canTurnRenewalOn, nextCharge, obstacle,
            plans
    }
}

/// The store's next charge for a subscription.
public struct NextCharge: Codable, Sendable, Equatable {
    /// The product that the charge pays.
    public var productID: ProductID
    /// The product's name in the language of the account's storefront.
    public var productName: String
    /// The amount.
    public var price: Money
    /// When the store charges, in milliseconds since 1970. In production this is up to a day before the period ends.
    public var date: Int64
    /// The length of the period that the charge pays.
    public var period: SubscriptionPeriod

    /// Creates a description.
    public init(productID: ProductID, productName: String, price: Money, date: Int64, period: SubscriptionPeriod) {
        self.productID = productID
        self.productName = productName
        self.price = price
        self.date = date
        self.period = period
    }

    private enum CodingKeys: String, CodingKey {
        case productID = "productId"
        case productName, price, date, period
    }
}

/// Why a subscription ends with its period although the customer has not turned renewal off.
public enum RenewalObstacle: String, Codable, Sendable, CaseIterable {
    /// The store does not sell the product any longer.
    case notForSale
    /// The customer has not agreed to a higher price.
    case priceIncrease
    /// The sandbox turns renewal off after many renewals.
    case renewalLimit
    /// Another reason.
    case other
}

/// A plan that a customer can change to.
public struct SubscriptionPlanChoice: Codable, Sendable, Equatable {
    /// When a change of plan takes effect.
    public enum Effect: String, Codable, Sendable, CaseIterable {
        /// The plan begins and is paid at once.
        case now
        /// The plan begins with the next renewal, which pays it.
        case nextRenewal
    }

    /// The product.
    public var productID: ProductID
    /// The product's name in the language of the account's storefront.
    public var name: String
    /// The price of a period. The store refuses a change of plan at another price than the customer agreed to.
    public var price: Money
    /// The length of a period.
    public var period: SubscriptionPeriod
    /// When the change takes effect.
    public var effect: Effect
    /// A win-back offer with which the plan begins; nil for none.
    public var offer: OfferDescription?

    /// Creates a plan.
    public init(
        productID: ProductID, name: String, price: Money, period: SubscriptionPeriod, effect: Effect,
        offer: OfferDescription? = nil
    ) {
        self.productID = productID
        self.name = name
        self.price = price
        self.period = period
        self.effect = effect
        self.offer = offer
    }

    /// The price that the customer agrees to: the offer's, or that of a period.
    public var agreedPrice: Money { offer?.price ?? price }

    private enum CodingKeys: String, CodingKey {
        case productID = "productId"
        case name, price, period, effect, offer
    }
}

/// A page of the account's subscriptions, in the order of their first purchases. It leaves out those that ended more
/// than 365 days ago.
public struct SubscriptionsResponse: Codable, Sendable, Equatable {
    /// The subscriptions.
    public var subscriptions: [ManagedSubscription]
    /// Whether more follow; ask again with the last one's original transaction.
    public var hasMore: Bool

    /// Creates a response.
    public init(subscriptions: [ManagedSubscription], hasMore: Bool) {
        self.subscriptions = subscriptions
        self.hasMore = hasMore
    }
}

/// Turns the renewal of a subscription on or off. Sent to ``StoreRoute/setRenewal(_:)``. Sending the same again changes
/// nothing.
public struct RenewalRequest: Codable, Sendable, Equatable {
    /// Whether the subscription renews. Turning renewal off while a payment is overdue ends the subscription at once.
    public var willRenew: Bool

    /// Creates a request.
    public init(willRenew: Bool) { self.willRenew = willRenew }
}

/// Changes the plan of a subscription. Sent to ``StoreRoute/changePlan(_:)`` and answered as a purchase.
public struct PlanChangeRequest: Codable, Sendable, Equatable {
    /// Another product of the subscription's group.
    public var productID: ProductID
    /// The price that the customer saw and agreed to. The store refuses with ``WireError/Code/priceChanged`` when the
    /// price differs.
    public var agreedPrice: Money
    /// The first answer to a key is final.
    public var idempotencyKey: UUID
    /// The win-back offer to apply; nil for none.
    public var winBackOfferID: String?

    /// Creates a request.
    public init(productID: ProductID, agreedPrice: Money, idempotencyKey: UUID, winBackOfferID: String? = nil) {
        self.productID = productID
        self.agreedPrice = agreedPrice
        self.idempotencyKey = idempotencyKey
        self.winBackOfferID = winBackOfferID
    }

    private enum CodingKeys: String, CodingKey {
        case productID = "productId"
        case agreedPrice, idempotencyKey
        case winBackOfferID = "winBackOfferId"
    }
}

/// Opens the page where the customer manages subscriptions. Sent to ``StoreRoute/openSubscriptions``.
public struct SubscriptionsPageRequest: Codable, Sendable, Equatable {
    /// The address to which the browser returns from the page, as in ``VisitRequest/returnAddress``.
    public var returnAddress: String?

    /// Creates a request.
    public init(returnAddress: String? = nil) { self.returnAddress = returnAddress }
}

/// The page where the customer manages subscriptions.
public struct SubscriptionsPageDescription: Codable, Sendable, Equatable {
    /// The page's address. Anyone who knows it can manage the account's subscriptions for half an hour.
    public var url: String

    /// Creates a description.
    public init(url: String) { self.url = url }
}
