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
            expiresDate: String?, revocationDate: String?, state: State, step: Step, previousProductId: String?,
            price: String, currency: String, offer: String?
        ) {
            self.bundleId = bundleId
            self.groupId = groupId
            self.productId = productId
            self.transactionId = transactionId
            self.purchaseDate = purchaseDate
            self.expiresDate = expiresDate
            self.revocationDate = revocationDate
            self.state = state
            self.step = step
            self.previousProductId = previousProductId
            self.price = price
            self.currency = currency
            self.offer = offer
        }
    }
}
