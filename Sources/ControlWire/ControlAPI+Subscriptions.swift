/// Subscribers and the periods of their subscriptions.
extension ControlAPI {
    /// The current period of a customer's subscription.
    public struct Subscriber: Codable, Sendable, Equatable {
        /// The account.
        public var accountId: String
        /// The account's e-mail address; nil when the account does not exist any more.
        public var account: String?
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the subscription group.
        public var groupId: String?
        /// The identifier of the subscription product.
        public var productId: String
        /// The transaction of the period.
        public var transactionId: String
        /// The date on which the period began.
        public var purchaseDate: String
        /// The date on which the period ends.
        public var expiresDate: String
        /// The amount paid for the period, as a decimal.
        public var price: String
        /// The currency of ``price``, as an ISO 4217 code.
        public var currency: String
        /// The offer of the period: `trial`, `introductory`, or a promotional offer's identifier; nil for none.
        public var offer: String?

        /// Creates a subscriber.
        public init(
            accountId: String, account: String?, bundleId: String, groupId: String?, productId: String,
            transactionId: String, purchaseDate: String, expiresDate: String, price: String, currency: String,
            offer: String?
        ) {
            self.accountId = accountId
            self.account = account
            self.bundleId = bundleId
            self.groupId = groupId
            self.productId = productId
            self.transactionId = transactionId
            self.purchaseDate = purchaseDate
            self.expiresDate = expiresDate
            self.price = price
            self.currency = currency
            self.offer = offer
        }
    }

    /// A period of an account's subscription.
    public struct SubscriptionPeriod: Codable, Sendable, Equatable {
        /// The state of a period.
        public enum State: String, Codable, Sendable, CaseIterable {
            /// The period has not ended.
            case current
            /// The period has ended.
            case ended
            /// The period was refunded.
            case refunded
            /// A change of plan ended the period early.
            case replaced
        }

        /// How a period follows the account's earlier one in the same group.
        public enum Step: String, Codable, Sendable, CaseIterable {
            /// The first period in the group.
            case first
            /// The same product again, before the earlier period ended or as it ended.
            case again
            /// The same product again, after a time without it.
            case returned
            /// A product of a higher level.
            case upgrade
            /// A product of a lower level.
            case downgrade
            /// Another product of the same level, or one whose level is not known any more.
            case crossgrade
        }

        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the subscription group.
        public var groupId: String?
        /// The identifier of the subscription product.
        public var productId: String
        /// The transaction of the period.
        public var transactionId: String
        /// The date on which the period began.
        public var purchaseDate: String
        /// The date on which the period ends.
        public var expiresDate: String?
        /// The date of the refund; nil without one.
        public var revocationDate: String?
        /// The date on which a change of plan ended the period; nil when none did, and for the newest period of a page.
        public var replacedDate: String?
        /// The state by the store's clock.
        public var state: State
        /// How the period follows the earlier one.
        public var step: Step
        /// The product of the earlier period, when the plan changed.
        public var previousProductId: String?
        /// The amount paid for the period, as a decimal.
        public var price: String
        /// The currency of ``price``, as an ISO 4217 code.
        public var currency: String
        /// The offer of the period: `trial`, `introductory`, or a promotional offer's identifier; nil for none.
        public var offer: String?

        /// Creates a period.
        public init(
            bundleId: String, groupId: String?, productId: String, transactionId: String, purchaseDate: String,
            expiresDate: String?, revocationDate: String?, replacedDate: String? = nil, state: State, step: Step,
            previousProductId: String?,
            price: String, currency: String, offer: String?
        ) {
            self.bundleId = bundleId
            self.groupId = groupId
            self.productId = productId
            self.transactionId = transactionId
            self.purchaseDate = purchaseDate
            self.expiresDate = expiresDate
            self.revocationDate = revocationDate
            self.replacedDate = replacedDate
            self.state = state
            self.step = step
            self.previousProductId = previousProductId
            self.price = price
            self.currency = currency
            self.offer = offer
        }
    }

    /// An account's subscription of one group.
    public struct Subscription: Codable, Sendable, Equatable {
        /// The state of a subscription.
        public enum State: String, Codable, Sendable, CaseIterable {
            /// The customer has a paid period, or is in a free trial.
            case active
            /// A renewal was not paid, and the customer keeps the access for some days.
            case gracePeriod
            /// A renewal was not paid. The store still tries to charge.
            case billingRetry
            /// The subscription is over.
            case expired
            /// The last period was refunded, or a family does not share the subscription any longer.
            case revoked
        }

        /// The identifier of the first transaction in the group, which all later ones have.
        public var originalTransactionId: String
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the subscription group.
        public var groupId: String
        /// The state by the store's clock.
        public var state: State
        /// The product of the last period.
        public var productId: String
        /// The transaction of the last period.
        public var transactionId: String
        /// The date on which the last period ends.
        public var expiresDate: String
        /// Whether the subscription renews by itself.
        public var willRenew: Bool
        /// The product that the next renewal buys.
        public var renewalProductId: String
        /// The date on which the grace period ends; nil without one.
        public var gracePeriodExpiresDate: String?
        /// Apple's number for the reason why the subscription ended, 1 to 5.
        public var expirationIntent: Int64?
        /// The date on which the store does something next: it charges, or the subscription ends. Nil when it waits for
        /// the customer.
        public var dueDate: String?
        /// The last events, the newest first.
        public var news: [SubscriptionNews]
        /// The identifier of the member of the family who shares the subscription; nil for the account's own.
        public var sharedBy: String?

        /// Creates a subscription.
        public init(
            originalTransactionId: String, bundleId: String, groupId: String, state: State, productId: String,
            transactionId: String, expiresDate: String, willRenew: Bool, renewalProductId: String,
            gracePeriodExpiresDate: String?, expirationIntent: Int64?, dueDate: String?, news: [SubscriptionNews],
            sharedBy: String? = nil
        ) {
            self.originalTransactionId = originalTransactionId
            self.bundleId = bundleId
            self.groupId = groupId
            self.state = state
            self.productId = productId
            self.transactionId = transactionId
            self.expiresDate = expiresDate
            self.willRenew = willRenew
            self.renewalProductId = renewalProductId
            self.gracePeriodExpiresDate = gracePeriodExpiresDate
            self.expirationIntent = expirationIntent
            self.dueDate = dueDate
            self.news = news
            self.sharedBy = sharedBy
        }
    }

    /// Something that happened to a subscription, in the words of App Store Server Notifications V2.
    public struct SubscriptionNews: Codable, Sendable, Equatable {
        /// Apple's `notificationType`, such as `DID_RENEW`.
        public var type: String
        /// Apple's `subtype`, such as `BILLING_RECOVERY`; nil for none.
        public var subtype: String?
        /// When it happened.
        public var date: String
        /// The transaction that it concerns.
        public var transactionId: String

        /// Creates a piece of news.
        public init(type: String, subtype: String?, date: String, transactionId: String) {
            self.type = type
            self.subtype = subtype
            self.date = date
            self.transactionId = transactionId
        }
    }

    /// A change of a subscription: one of the properties.
    public struct SubscriptionChange: Codable, Sendable {
        /// Whether the subscription renews by itself.
        public var willRenew: Bool?
        /// Another product of the group. A higher plan is bought at once, a lower one with the next renewal.
        public var productId: String?

        /// Creates a change.
        public init(willRenew: Bool? = nil, productId: String? = nil) {
            (self.willRenew, self.productId) = (willRenew, productId)
        }
    }

    /// An extension of one subscription.
    public struct SubscriptionExtension: Codable, Sendable {
        /// The days by which the period is extended, 1 to 90.
        public var days: Int

        /// Creates an extension.
        public init(days: Int) { self.days = days }
    }

    /// An extension of all active subscriptions of a product.
    public struct MassExtension: Codable, Sendable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the subscription product.
        public var productId: String
        /// The days by which the periods are extended, 1 to 90.
        public var days: Int

        /// Creates an extension.
        public init(bundleId: String, productId: String, days: Int) {
            (self.bundleId, self.productId, self.days) = (bundleId, productId, days)
        }
    }

    /// The result of a mass extension.
    public struct MassExtended: Codable, Sendable, Equatable {
        /// The number of subscriptions that were extended.
        public var succeeded: Int
        /// The number of active subscriptions that cannot be extended, such as those in a free period.
        public var failed: Int

        /// Creates a result.
        public init(succeeded: Int, failed: Int) { (self.succeeded, self.failed) = (succeeded, failed) }
    }

    /// The billing grace period of an app's subscriptions.
    public struct GracePeriod: Codable, Sendable, Equatable {
        /// Its length in days: 3, 16 or 28. Weekly subscriptions have at most six days.
        public var days: Int64
        /// Whether production has it; nil for true.
        public var production: Bool?
        /// Whether the sandbox has it; nil for true.
        public var sandbox: Bool?
        /// Whether only renewals after a paid period have it, and not those after a free offer; nil for false.
        public var paidToPaidOnly: Bool?

        /// Creates a grace period.
        public init(
            days: Int64, production: Bool? = nil, sandbox: Bool? = nil, paidToPaidOnly: Bool? = nil
        ) {
            self.days = days
            self.production = production
            self.sandbox = sandbox
            self.paidToPaidOnly = paidToPaidOnly
        }
    }
}

/// An event that the operator causes in a subscription now. The raw values are the last parts of the paths.
public enum SubscriptionAction: String, Sendable, CaseIterable {
    /// The period ends, and the subscription renews. Sandbox only.
    case renew
    /// The period ends, and auto-renew is off. Sandbox only.
    case expire
    /// The period ends, and the payment of the renewal fails until ``recover``. Sandbox only.
    case fail
    /// An overdue payment is tried again.
    case recover
    /// The end of the period moves to a later date.
    case extend
}
