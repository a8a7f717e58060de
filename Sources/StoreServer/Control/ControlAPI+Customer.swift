import Foundation

/// What the operator orders for customers: refunds, promoted purchases, price increases, codes.
extension ControlAPI {
    /// A refund: `POST /control/v1/{environment}/transactions/{id}/refund`, answered with ``Refunded``.
    public struct Refund: Codable, Sendable {
        /// `app` for an issue with the app, `other` (also when nothing is said).
        public var reason: String?

        public init(reason: String? = nil) { self.reason = reason }
    }

    /// What a refund gave back.
    public struct Refunded: Codable, Sendable, Equatable {
        /// What was paid, as a decimal.
        public var amount: String
        public var currency: String
        /// The transaction that was asked for, then every other delivery of the same purchase.
        public var transactions: [Transaction]
    }

    /// A promoted purchase: `POST /control/v1/{environment}/promoted`.
    public struct Promotion: Codable, Sendable {
        public var bundleId: String
        public var productId: String
        /// E-mail address.
        public var account: String

        public init(bundleId: String, productId: String, account: String) {
            self.bundleId = bundleId
            self.productId = productId
            self.account = account
        }
    }

    /// What came of it.
    public struct Promoted: Codable, Sendable, Equatable {
        public var promotionId: UUID
    }

    /// Orders a price increase: `POST /control/v1/{environment}/price-increases`.
    public struct NewPriceIncrease: Codable, Sendable {
        public var bundleId: String
        public var productId: String
        /// E-mail address.
        public var account: String
        /// The new price as a decimal, in the currency in which the account pays.
        public var price: String

        public init(bundleId: String, productId: String, account: String, price: String) {
            self.bundleId = bundleId
            self.productId = productId
            self.account = account
            self.price = price
        }
    }

    /// A price increase: `GET /control/v1/{environment}/price-increases?account=`.
    public struct PriceIncrease: Codable, Sendable, Equatable {
        public var bundleId: String
        public var productId: String
        public var oldPrice: String
        public var newPrice: String
        public var currency: String
        public var askedDate: String
        /// `accepted` or `declined`; nil while the customer has not answered.
        public var answer: String?
        public var answeredDate: String?
    }

    /// Makes a code: `POST /control/v1/{environment}/codes`.
    public struct NewCode: Codable, Sendable {
        public var bundleId: String
        public var productId: String

        public init(bundleId: String, productId: String) {
            self.bundleId = bundleId
            self.productId = productId
        }
    }

    /// A code: `GET /control/v1/{environment}/codes`.
    public struct Code: Codable, Sendable, Equatable {
        public var code: String
        public var bundleId: String
        public var productId: String
        public var createdDate: String
        /// Whose account redeemed it; nil while nobody did.
        public var accountId: String?
        public var transactionId: String?
    }
}
