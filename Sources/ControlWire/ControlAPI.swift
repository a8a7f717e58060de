import Foundation

/// The JSON messages of the control port. Dates are ISO 8601 in UTC with milliseconds. ``ControlRoute`` says which
/// request carries which message.
public enum ControlAPI {
    /// One app.
    public struct App: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The app's name; nil when the app is not in a catalog file.
        public var name: String?
        /// The app's Apple ID (“adam id”), a number of ten digits.
        public var appId: Int64
        /// The app's shared secret for `verifyReceipt`. Keep it secret.
        public var sharedSecret: String
        /// False when no catalog file contains the app any more.
        public var isInCatalog: Bool
        /// The identifiers of the app's products in the catalog.
        public var productIds: [String]
        /// The billing grace period of the app's subscriptions; nil for none.
        public var gracePeriod: GracePeriod?

        /// Creates an app.
        public init(
            bundleId: String, name: String?, appId: Int64, sharedSecret: String, isInCatalog: Bool,
            productIds: [String], gracePeriod: GracePeriod? = nil
        ) {
            self.gracePeriod = gracePeriod
            self.bundleId = bundleId
            self.name = name
            self.appId = appId
            self.sharedSecret = sharedSecret
            self.isInCatalog = isInCatalog
            self.productIds = productIds
        }
    }

    /// The store's clock.
    public struct Clock: Codable, Sendable, Equatable {
        /// The clock's current time, as ISO 8601 text.
        public var now: String
        /// The same time in milliseconds since 1970.
        public var milliseconds: Int64
        /// Whether the clock is stopped.
        public var frozen: Bool
        /// How many milliseconds the store's clock is ahead of the machine's clock; negative when it is behind.
        public var offset: Int64

        /// Creates a clock's state.
        public init(now: String, milliseconds: Int64, frozen: Bool, offset: Int64) {
            self.now = now
            self.milliseconds = milliseconds
            self.frozen = frozen
            self.offset = offset
        }
    }

    /// A change to the clock. The store applies the parts in this order: `reset`, `freeze`, `set`, `months`,
    /// `advance`.
    public struct ClockChange: Codable, Sendable {
        /// True returns the clock to the machine's time.
        public var reset: Bool?
        /// True stops the clock; false lets it run again.
        public var freeze: Bool?
        /// The time to set the clock to, in ISO 8601.
        public var set: String?
        /// How many milliseconds to move the clock forward; negative moves it back.
        public var advance: Int64?
        /// How many months of the calendar to move the clock forward, before ``advance``; negative moves it back.
        public var months: Int64?

        /// Creates a change. Parts that are nil change nothing.
        public init(
            reset: Bool? = nil, freeze: Bool? = nil, set: String? = nil, advance: Int64? = nil, months: Int64? = nil
        ) {
            self.reset = reset
            self.freeze = freeze
            self.set = set
            self.advance = advance
            self.months = months
        }
    }

    /// A failure that the operator ordered. It has exactly one of `status`, `error`, `cutAfter` and `lie`.
    public struct Fault: Codable, Sendable, Equatable {
        /// The operation that fails, such as `purchases` or `download`.
        public var operation: String
        /// The status that the store answers: one of verifyReceipt's for `verifyReceipt`, an HTTP status for the
        /// others.
        public var status: Int?
        /// The error that the device reports to the app: a case of `SKError.Code`, or `SSServerErrorDomain/5020`.
        public var error: String?
        /// How many bytes of a download the store sends before it closes the connection.
        public var cutAfter: Int64?
        /// The value that the store falsifies in its answer about content: `digest` or `length`. The request itself
        /// succeeds.
        public var lie: String?
        /// How many more requests the fault applies to.
        public var count: Int
        /// How many requests the fault has applied to. A request that orders a fault leaves it out.
        public var hits: Int?

        /// Creates a fault.
        public init(
            operation: String, status: Int? = nil, error: String? = nil, cutAfter: Int64? = nil, lie: String? = nil,
            count: Int, hits: Int? = nil
        ) {
            self.operation = operation
            self.status = status
            self.error = error
            self.cutAfter = cutAfter
            self.lie = lie
            self.count = count
            self.hits = hits
        }
    }

    /// A rule by which the payment processor declines payments.
    public struct PaymentRule: Codable, Sendable, Equatable {
        /// The rule's name. A new rule replaces one of the same name.
        public var name: String
        /// The e-mail address of the account whose payments are declined; nil for every account.
        public var account: String?
        /// The product whose payments are declined; nil for every product.
        public var productId: String?
        /// The lowest amount that is declined, in milliunits; nil for every amount.
        public var minimumAmount: Int64?
        /// How many more payments the rule declines; nil for no end.
        public var count: Int?

        /// Creates a rule.
        public init(
            name: String, account: String? = nil, productId: String? = nil, minimumAmount: Int64? = nil,
            count: Int? = nil
        ) {
            self.name = name
            self.account = account
            self.productId = productId
            self.minimumAmount = minimumAmount
            self.count = count
        }
    }

    /// An account.
    public struct Account: Codable, Sendable, Equatable {
        /// The account's identifier.
        public var accountId: String
        /// The e-mail address that the customer signs in with.
        public var email: String
        /// The country of the account's storefront, as an ISO 3166-1 alpha-3 code.
        public var storefront: String
        /// False when parental controls or the operator forbid purchases.
        public var paymentsAllowed: Bool
        /// Whether purchases wait for approval (Ask to Buy).
        public var asksToBuy: Bool
        /// Whether the operator has locked the account.
        public var locked: Bool
        /// Whether each purchase is interrupted and waits until it is resolved on the control port.
        public var interruptsPurchases: Bool
        /// How long the periods of a tester's subscriptions last: `real`; `3m`, `5m`, `15m`, `30m` or `1h` for a month;
        /// `never` when subscriptions do not renew.
        public var renewalRate: String
        /// The date on which the account was created.
        public var createdDate: String
        /// The date of the newest transaction of a product; nil without one, and in the answer to a change.
        public var lastPurchaseDate: String?

        /// Creates an account.
        public init(
            accountId: String, email: String, storefront: String, paymentsAllowed: Bool, asksToBuy: Bool, locked: Bool,
            interruptsPurchases: Bool, renewalRate: String = "real", createdDate: String,
            lastPurchaseDate: String? = nil
        ) {
            self.accountId = accountId
            self.email = email
            self.storefront = storefront
            self.paymentsAllowed = paymentsAllowed
            self.asksToBuy = asksToBuy
            self.locked = locked
            self.interruptsPurchases = interruptsPurchases
            self.renewalRate = renewalRate
            self.createdDate = createdDate
            self.lastPurchaseDate = lastPurchaseDate
        }
    }

    /// A new account.
    public struct NewAccount: Codable, Sendable {
        /// The e-mail address of the new account.
        public var email: String
        /// The password of the new account.
        public var password: String
        /// The storefront's country as an ISO 3166-1 alpha-3 code; nil for `USA`.
        public var storefront: String?
        /// Whether the account can buy; nil for true.
        public var paymentsAllowed: Bool?
        /// Whether purchases wait for approval (Ask to Buy); nil for false.
        public var asksToBuy: Bool?

        /// Creates a request for a new account.
        public init(
            email: String, password: String, storefront: String? = nil, paymentsAllowed: Bool? = nil,
            asksToBuy: Bool? = nil
        ) {
            self.email = email
            self.password = password
            self.storefront = storefront
            self.paymentsAllowed = paymentsAllowed
            self.asksToBuy = asksToBuy
        }
    }

    /// A change of an account. Properties that are nil stay as they are.
    public struct AccountChange: Codable, Sendable {
        /// The new storefront's country, as an ISO 3166-1 alpha-3 code.
        public var storefront: String?
        /// Whether the account can buy.
        public var paymentsAllowed: Bool?
        /// Whether purchases wait for approval (Ask to Buy).
        public var asksToBuy: Bool?
        /// Whether the account is locked.
        public var locked: Bool?
        /// Whether each purchase fails on the device and waits at the store until it is resolved.
        public var interruptsPurchases: Bool?
        /// How long the periods of a tester's subscriptions last, from the next one on: `real`, `3m`, `5m`, `15m`,
        /// `30m`, `1h` or `never`.
        public var renewalRate: String?

        /// Creates a change.
        public init(
            storefront: String? = nil, paymentsAllowed: Bool? = nil, asksToBuy: Bool? = nil, locked: Bool? = nil,
            interruptsPurchases: Bool? = nil, renewalRate: String? = nil
        ) {
            self.renewalRate = renewalRate
            self.storefront = storefront
            self.paymentsAllowed = paymentsAllowed
            self.asksToBuy = asksToBuy
            self.locked = locked
            self.interruptsPurchases = interruptsPurchases
        }
    }

    /// One row of the ledger.
    public struct Transaction: Codable, Sendable, Equatable {
        /// The transaction's identifier, a decimal number.
        public var transactionId: String
        /// The identifier of the first transaction of the same purchase.
        public var originalTransactionId: String
        /// The identifier of the account that bought.
        public var accountId: String
        /// The app's bundle identifier; empty for an item of the storefront that is no app.
        public var bundleId: String
        /// The identifier of the product; `item.1400000004` for an item of the storefront.
        public var productId: String
        /// The product's kind, such as `consumable`; `item` for an item of the storefront.
        public var kind: String
        /// How many units were bought.
        public var quantity: Int
        /// The price of the whole quantity, as a decimal.
        public var price: String
        /// The currency of the price, as an ISO 4217 code.
        public var currency: String
        /// The date of the purchase.
        public var purchaseDate: String
        /// The end of the subscription period; nil for other kinds.
        public var expiresDate: String?
        /// The date on which the app finished the transaction; nil until then.
        public var finishedDate: String?
        /// The date of the refund; nil when the purchase was not refunded.
        public var revocationDate: String?
        /// The reason of the refund: `app` or `other`.
        public var revocationReason: String?
        /// The refunded part of the price, as a decimal: all, or less after a prorated refund or a change of plan. Nil
        /// for nothing.
        public var refunded: String?
        /// Whether a change of plan ended this subscription period early; nil for no.
        public var isUpgraded: Bool?
        /// The number of the storefront's item; nil for a product.
        public var item: Int64?
        /// The item's name; nil for a product, and for an item that is no longer in the catalog.
        public var name: String?
        /// The e-mail address of the account, in the list of the ledger; nil elsewhere, and when the account does not
        /// exist any more.
        public var email: String?
        /// The purchaser's transaction, if a member of the family bought the product; nil for the account's own.
        public var sharedFrom: String?
        /// The order identifier that the customer sees; nil for an item, and for what a family shares.
        public var orderId: String?

        /// Creates a row.
        public init(
            transactionId: String, originalTransactionId: String, accountId: String, bundleId: String,
            productId: String, kind: String, quantity: Int, price: String, currency: String, purchaseDate: String,
            expiresDate: String?, finishedDate: String?, revocationDate: String?, revocationReason: String?,
            refunded: String? = nil, isUpgraded: Bool? = nil, item: Int64? = nil, name: String? = nil,
            email: String? = nil, sharedFrom: String? = nil, orderId: String? = nil
        ) {
            self.transactionId = transactionId
            self.originalTransactionId = originalTransactionId
            self.accountId = accountId
            self.bundleId = bundleId
            self.productId = productId
            self.kind = kind
            self.quantity = quantity
            self.price = price
            self.currency = currency
            self.purchaseDate = purchaseDate
            self.expiresDate = expiresDate
            self.finishedDate = finishedDate
            self.revocationDate = revocationDate
            self.revocationReason = revocationReason
            self.refunded = refunded
            self.isUpgraded = isUpgraded
            self.item = item
            self.name = name
            self.email = email
            self.sharedFrom = sharedFrom
            self.orderId = orderId
        }
    }

    /// A purchase that waits for approval or for its customer.
    public struct PendingPurchase: Codable, Sendable, Equatable {
        /// The party that the purchase waits for.
        public enum Word: String, Codable, Sendable {
            /// A person who approves purchases (Ask to Buy).
            case approval
            /// The customer, whose purchase was interrupted.
            case customer
        }

        /// The idempotency key of the purchase, which names it in the paths.
        public var key: UUID
        /// The identifier of the account that buys.
        public var accountId: String
        /// The e-mail address of the account; nil when it does not exist any more.
        public var email: String?
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// How many units the customer asked for.
        public var quantity: Int
        /// The date of the request.
        public var createdDate: String
        /// The party that the purchase waits for.
        public var waitsFor: Word

        /// Creates a pending purchase.
        public init(
            key: UUID, accountId: String, email: String? = nil, bundleId: String, productId: String, quantity: Int,
            createdDate: String, waitsFor: Word
        ) {
            self.key = key
            self.accountId = accountId
            self.email = email
            self.bundleId = bundleId
            self.productId = productId
            self.quantity = quantity
            self.createdDate = createdDate
            self.waitsFor = waitsFor
        }
    }
}
