/// Customers' requests for refunds.
extension ControlAPI {
    /// A request to make in a customer's name.
    public struct NewRefundRequest: Codable, Sendable, Equatable {
        /// The transaction to refund.
        public var transactionId: String
        /// Apple's `consumptionRequestReason`, such as `UNINTENDED_PURCHASE`; nil for `OTHER`.
        public var reason: String?

        /// Creates a request.
        public init(transactionId: String, reason: String? = nil) {
            self.transactionId = transactionId
            self.reason = reason
        }
    }

    /// A customer's request for a refund. Dates are by the store's clock.
    public struct RefundRequest: Codable, Sendable, Equatable {
        /// The identifier.
        public var requestId: String
        /// The transaction that the customer wants refunded.
        public var transactionId: String
        /// The e-mail address of the account; nil when the account does not exist any more.
        public var email: String?
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// The price paid, as a plain decimal such as `0.99`; nil when the ledger does not have the transaction.
        public var price: String?
        /// The currency of ``price``, an ISO 4217 code; nil without a price.
        public var currency: String?
        /// Apple's `consumptionRequestReason`, such as `UNINTENDED_PURCHASE`.
        public var reason: String
        /// When the customer asked.
        public var requestedDate: String
        /// Until when the app's server can say how the purchase was used. Then the store decides by its rule.
        public var deadline: String
        /// `waiting`, `approved` or `declined`.
        public var state: String
        /// When the request was decided; nil while it waits.
        public var decidedDate: String?
        /// The version of Apple's `ConsumptionRequest` that the app's server sent, 1 or 2; nil for none.
        public var consumptionVersion: Int?
        /// The answer of the app's server, an object with Apple's names; nil for none.
        public var consumption: CatalogValue?

        /// Creates a request.
        public init(
            requestId: String, transactionId: String, email: String?, bundleId: String, productId: String,
            price: String?, currency: String?, reason: String, requestedDate: String, deadline: String, state: String,
            decidedDate: String?, consumptionVersion: Int?, consumption: CatalogValue?
        ) {
            self.requestId = requestId
            self.transactionId = transactionId
            self.email = email
            self.bundleId = bundleId
            self.productId = productId
            self.price = price
            self.currency = currency
            self.reason = reason
            self.requestedDate = requestedDate
            self.deadline = deadline
            self.state = state
            self.decidedDate = decidedDate
            self.consumptionVersion = consumptionVersion
            self.consumption = consumption
        }
    }

    /// How to approve a request.
    public struct RefundApproval: Codable, Sendable, Equatable {
        /// `whole`, or `prorated` for the part that was not used; nil for `whole`.
        public var share: String?

        /// Creates an approval.
        public init(share: String? = nil) { self.share = share }
    }

    /// The store's rule for a request whose deadline is over.
    public struct RefundRule: Codable, Sendable, Equatable {
        /// `ask` to wait for the operator, `approve`, `decline`, or `preference` to do what the app's server prefers.
        public var rule: String

        /// Creates a rule.
        public init(rule: String) { self.rule = rule }
    }
}
