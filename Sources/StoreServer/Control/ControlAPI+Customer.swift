import Foundation

/// The operator's actions on customers: refunds, promoted purchases, price increases and codes.
extension ControlAPI {
    /// A refund: `POST /control/v1/{environment}/transactions/{id}/refund`, answered with ``Refunded``.
    public struct Refund: Codable, Sendable {
        /// `app` for an issue with the app, or `other`; nil means `other`.
        public var reason: String?

        /// Creates a refund.
        public init(reason: String? = nil) { self.reason = reason }
    }

    /// The result of a refund.
    public struct Refunded: Codable, Sendable, Equatable {
        /// The amount that was refunded, as a decimal.
        public var amount: String
        /// The currency of the amount, as an ISO 4217 code.
        public var currency: String
        /// The transaction that the request names, then every other delivery of the same purchase.
        public var transactions: [Transaction]
    }

    /// A promoted purchase: `POST /control/v1/{environment}/promoted`.
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
    }

    /// Orders a price increase: `POST /control/v1/{environment}/price-increases`.
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

    /// A price increase: `GET /control/v1/{environment}/price-increases?account=`.
    public struct PriceIncrease: Codable, Sendable, Equatable {
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
    }

    /// Creates a redemption code: `POST /control/v1/{environment}/codes`.
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

    /// A redemption code: `GET /control/v1/{environment}/codes`.
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
    }
}
