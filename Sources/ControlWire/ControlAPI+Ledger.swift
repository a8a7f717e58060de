import Foundation

/// The ledger in detail: pages, one transaction, and attempts to buy.
extension ControlAPI {
    /// A part of a list.
    public struct Page<Row: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
        /// The rows, newest first or in the order of their names. There may be fewer than the limit, even none, and
        /// more to find further on: a filter looks at a bounded number of rows.
        public var rows: [Row]
        /// The cursor with which the list continues: the next request's `before` or `after`. Nil at the end.
        public var next: String?

        /// Creates a part of a list.
        public init(rows: [Row], next: String? = nil) {
            self.rows = rows
            self.next = next
        }
    }

    /// A transaction with everything that the store knows about it.
    public struct TransactionDetail: Codable, Sendable, Equatable {
        /// The transaction's row.
        public var transaction: Transaction
        /// The e-mail address of the account; nil when the account does not exist any more.
        public var email: String?
        /// The account's storefront at the purchase, as an ISO 3166-1 alpha-3 code.
        public var storefront: String
        /// The number of the product or item (`item_id` of a receipt).
        public var itemId: Int64
        /// The date of the first transaction of the same purchase.
        public var originalPurchaseDate: String
        /// The identifier of the subscription period; nil for other products.
        public var webOrderLineItemId: Int64?
        /// The subscription group; nil for other products.
        public var subscriptionGroupId: String?
        /// The introductory offer of the period: `trial` or `introductory`; nil for none.
        public var offer: String?
        /// The identifier of the promotional offer that set the price; nil for none.
        public var promotionalOfferId: String?
        /// The reference name of the offer whose code set the price; nil for none.
        public var offerCodeName: String?
        /// The identifier of the win-back offer that set the price; nil for none.
        public var winBackOfferId: String?
        /// The user name that the app gave with the payment.
        public var applicationUsername: String?
        /// The version of the app that was bought; nil for a product and for other items.
        public var itemVersion: String?
        /// The transactions with the same original identifier, oldest first, this one included; at most 1,000.
        public var chain: [Transaction]
        /// The deliveries of the transaction to devices that restored it, newest first; at most 1,000.
        public var deliveries: [RestoredDelivery]
        /// The attempt that the transaction came from; nil when no payment of a device created it.
        public var purchase: Attempt?

        /// Creates the details of a transaction.
        public init(
            transaction: Transaction, email: String? = nil, storefront: String, itemId: Int64,
            originalPurchaseDate: String, webOrderLineItemId: Int64? = nil, subscriptionGroupId: String? = nil,
            offer: String? = nil, promotionalOfferId: String? = nil, applicationUsername: String? = nil,
            itemVersion: String? = nil, chain: [Transaction], deliveries: [RestoredDelivery],
            purchase: Attempt? = nil
        ) {
            self.transaction = transaction
            self.email = email
            self.storefront = storefront
            self.itemId = itemId
            self.originalPurchaseDate = originalPurchaseDate
            self.webOrderLineItemId = webOrderLineItemId
            self.subscriptionGroupId = subscriptionGroupId
            self.offer = offer
            self.promotionalOfferId = promotionalOfferId
            self.applicationUsername = applicationUsername
            self.itemVersion = itemVersion
            self.chain = chain
            self.deliveries = deliveries
            self.purchase = purchase
        }
    }

    /// The delivery of a transaction to a device that restored it.
    public struct RestoredDelivery: Codable, Sendable, Equatable {
        /// The delivery's own transaction identifier.
        public var transactionId: String
        /// The transaction that was restored.
        public var sourceTransactionId: String
        /// The identifier of the device.
        public var deviceId: String
        /// The date of the delivery.
        public var restoredDate: String
        /// The date on which the app finished the delivery; nil until then.
        public var finishedDate: String?

        /// Creates a delivery.
        public init(
            transactionId: String, sourceTransactionId: String, deviceId: String, restoredDate: String,
            finishedDate: String? = nil
        ) {
            self.transactionId = transactionId
            self.sourceTransactionId = sourceTransactionId
            self.deviceId = deviceId
            self.restoredDate = restoredDate
            self.finishedDate = finishedDate
        }
    }

    /// The reason why the store refused a request or a purchase.
    public struct Failure: Codable, Sendable, Equatable {
        /// The error's code, such as `payment_declined`.
        public var code: String
        /// A sentence about the error.
        public var message: String

        /// Creates a reason.
        public init(code: String, message: String) {
            self.code = code
            self.message = message
        }
    }

    /// A device's attempt to buy.
    public struct Attempt: Codable, Sendable, Equatable {
        /// The result of an attempt, as it is now.
        public enum State: String, Codable, Sendable, CaseIterable {
            /// The customer bought the product.
            case bought
            /// The store or its payment processor refused the purchase, or a person declined it.
            case declined
            /// The purchase waits for approval (Ask to Buy).
            case waiting
            /// The purchase was interrupted and waits until it is resolved.
            case interrupted
        }

        /// The attempt's number in the series of transaction identifiers, which orders attempts and transactions. A
        /// purchase that succeeded at once has its transaction's identifier.
        public var attemptId: String
        /// The idempotency key of the purchase.
        public var key: UUID
        /// The identifier of the account.
        public var accountId: String
        /// The e-mail address of the account, in the list of attempts; nil elsewhere, and when the account does not
        /// exist any more.
        public var email: String?
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// How many units the customer asked for.
        public var quantity: Int
        /// The amount for the whole quantity, as a decimal.
        public var amount: String
        /// The currency of the amount, as an ISO 4217 code.
        public var currency: String
        /// The result of the attempt.
        public var state: State
        /// The reason, when the attempt was declined or interrupted.
        public var failure: Failure?
        /// The transaction, when the product was bought.
        public var transactionId: String?
        /// The payment processor's reference; `free` when nothing was to be paid.
        public var paymentReference: String?
        /// The user name that the app gave with the payment.
        public var applicationUsername: String?
        /// The promotional offer that the request named.
        public var promotionalOfferId: String?
        /// The reference name of the offer whose code was redeemed; nil for none.
        public var offerCodeName: String?
        /// The win-back offer that the request named.
        public var winBackOfferId: String?
        /// The account's storefront at the time of the request, as an ISO 3166-1 alpha-3 code.
        public var storefront: String?
        /// The date of the request.
        public var createdDate: String

        /// Creates an attempt.
        public init(
            attemptId: String, key: UUID, accountId: String, email: String? = nil, bundleId: String, productId: String,
            quantity: Int, amount: String, currency: String, state: State, failure: Failure? = nil,
            transactionId: String? = nil, paymentReference: String? = nil, applicationUsername: String? = nil,
            storefront: String? = nil, createdDate: String
        ) {
            self.attemptId = attemptId
            self.key = key
            self.accountId = accountId
            self.email = email
            self.bundleId = bundleId
            self.productId = productId
            self.quantity = quantity
            self.amount = amount
            self.currency = currency
            self.state = state
            self.failure = failure
            self.transactionId = transactionId
            self.paymentReference = paymentReference
            self.applicationUsername = applicationUsername
            self.storefront = storefront
            self.createdDate = createdDate
        }
    }

    /// A signed receipt.
    public struct Receipt: Codable, Sendable, Equatable {
        /// The receipt's bytes in Base64: PKCS#7 (DER) of an app receipt, a property list of a transaction receipt.
        public var receipt: String

        /// Creates a receipt.
        public init(receipt: String) {
            self.receipt = receipt
        }
    }

    /// A match of ``ControlRoute/search(_:text:)``.
    public struct SearchHit: Codable, Sendable, Equatable {
        /// The kind of a match.
        public enum Kind: String, Codable, Sendable, CaseIterable {
            /// A transaction with the identifier, or with the app's user name.
            case transaction
            /// An account with the identifier, or an address that begins with the text.
            case account
            /// A product with the identifier.
            case product
            /// An app with the bundle identifier or the number.
            case app
        }

        /// The kind of the match.
        public var kind: Kind
        /// The identifier of the transaction, account, product or app.
        public var id: String
        /// The bundle identifier of the app; nil for an account and for an item.
        public var bundleId: String?
        /// A name for people: an e-mail address, or the name of a product or app.
        public var title: String

        /// Creates a match.
        public init(kind: Kind, id: String, bundleId: String? = nil, title: String) {
            self.kind = kind
            self.id = id
            self.bundleId = bundleId
            self.title = title
        }
    }
}
