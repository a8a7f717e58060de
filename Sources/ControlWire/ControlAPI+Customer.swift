import Foundation

/// The operator's actions on customers: refunds, promoted purchases, price increases and codes.
extension ControlAPI {
    /// A refund.
    public struct Refund: Codable, Sendable {
        /// `app` for an issue with the app, or `other`; nil means `other`.
        public var reason: String?
        /// `whole`, or `prorated` for the part of a subscription period that is not over; nil means `whole`.
        public var share: String?

        /// Creates a refund.
        public init(reason: String? = nil, share: String? = nil) { (self.reason, self.share) = (reason, share) }
    }

    /// The result of a refund, or of the reversal of one.
    public struct Refunded: Codable, Sendable, Equatable {
        /// The amount that was refunded, or charged again, as a decimal.
        public var amount: String
        /// The currency of the amount, as an ISO 4217 code.
        public var currency: String
        /// The transaction that the request names, then every other delivery of the same purchase.
        public var transactions: [Transaction]
        /// The number of the storefront's item whose purchase was refunded; nil for a product. An item's purchase has
        /// no ``transactions``.
        public var item: Int64?

        /// Creates the result.
        public init(amount: String, currency: String, transactions: [Transaction], item: Int64? = nil) {
            self.amount = amount
            self.currency = currency
            self.transactions = transactions
            self.item = item
        }
    }

    /// A promoted purchase.
    public struct Promotion: Codable, Sendable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product that is promoted.
        public var productId: String
        /// The e-mail address of the account.
        public var account: String

        /// Creates a promotion.
        public init(bundleId: String, productId: String, account: String) {
            self.bundleId = bundleId
            self.productId = productId
            self.account = account
        }
    }

    /// The result of a promotion.
    public struct Promoted: Codable, Sendable, Equatable {
        /// The promotion's identifier.
        public var promotionId: UUID

        /// Creates the result.
        public init(promotionId: UUID) { self.promotionId = promotionId }
    }

    /// An order for a price increase.
    public struct NewPriceIncrease: Codable, Sendable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the subscription product.
        public var productId: String
        /// The e-mail address of the account.
        public var account: String
        /// The new price as a decimal, in the account's currency.
        public var price: String

        /// Creates a request for a price increase.
        public init(bundleId: String, productId: String, account: String, price: String) {
            self.bundleId = bundleId
            self.productId = productId
            self.account = account
            self.price = price
        }
    }

    /// A customer's answer to a price increase, given by the operator.
    public struct PriceAnswer: Codable, Sendable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the subscription product.
        public var productId: String
        /// The e-mail address of the account.
        public var account: String
        /// Whether the customer agrees to the new price.
        public var accepts: Bool

        /// Creates an answer.
        public init(bundleId: String, productId: String, account: String, accepts: Bool) {
            self.bundleId = bundleId
            self.productId = productId
            self.account = account
            self.accepts = accepts
        }
    }

    /// A price increase, and the customer's answer to it.
    public struct PriceIncrease: Codable, Sendable, Equatable {
        /// The account that is asked.
        public var accountId: String
        /// The account's e-mail address in a list of all accounts; nil when the account does not exist any more.
        public var account: String?
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the subscription product.
        public var productId: String
        /// The price before the increase, as a decimal.
        public var oldPrice: String
        /// The price after the increase, as a decimal.
        public var newPrice: String
        /// The currency of both prices, as an ISO 4217 code.
        public var currency: String
        /// The date on which the store asked the customer.
        public var askedDate: String
        /// `accepted` or `declined`; nil while the customer has not answered.
        public var answer: String?
        /// The date of the customer's answer; nil until then.
        public var answeredDate: String?

        /// Creates a price increase.
        public init(
            accountId: String, account: String? = nil, bundleId: String, productId: String, oldPrice: String,
            newPrice: String, currency: String, askedDate: String, answer: String?, answeredDate: String?
        ) {
            self.accountId = accountId
            self.account = account
            self.bundleId = bundleId
            self.productId = productId
            self.oldPrice = oldPrice
            self.newPrice = newPrice
            self.currency = currency
            self.askedDate = askedDate
            self.answer = answer
            self.answeredDate = answeredDate
        }
    }

    /// A request for a redemption code.
    public struct NewCode: Codable, Sendable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product that the code gives.
        public var productId: String

        /// Creates a request for a code.
        public init(bundleId: String, productId: String) {
            self.bundleId = bundleId
            self.productId = productId
        }
    }

    /// A redemption code.
    public struct Code: Codable, Sendable, Equatable {
        /// The code that a customer enters.
        public var code: String
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product that the code gives.
        public var productId: String
        /// The date on which the code was made.
        public var createdDate: String
        /// The account that redeemed the code; nil until then.
        public var accountId: String?
        /// The transaction that the code was redeemed in; nil until then.
        public var transactionId: String?

        /// Creates a code.
        public init(
            code: String, bundleId: String, productId: String, createdDate: String, accountId: String?,
            transactionId: String?
        ) {
            self.code = code
            self.bundleId = bundleId
            self.productId = productId
            self.createdDate = createdDate
            self.accountId = accountId
            self.transactionId = transactionId
        }
    }
}
