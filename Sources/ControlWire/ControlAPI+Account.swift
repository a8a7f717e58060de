import Foundation

/// One account in detail.
extension ControlAPI {
    /// An account with everything that the store knows about it. Each list is bounded; ``ControlRoute`` has the whole
    /// of those that can be longer.
    public struct AccountDetail: Codable, Sendable, Equatable {
        /// The account.
        public var account: Account
        /// The devices that are signed in, the last one first; at most 200.
        public var devices: [Device]
        /// The products that the account owns permanently; at most 1,000.
        public var owned: [OwnedProduct]
        /// The purchases of the storefront's items that were not refunded, newest first; at most 200.
        public var items: [Transaction]
        /// The transactions that no device has finished, newest first; at most 200.
        public var unfinished: [Transaction]
        /// The promoted purchases that wait for a device.
        public var promotions: [WaitingPromotion]
        /// The price increases and the customer's answers; at most 1,000.
        public var priceIncreases: [PriceIncrease]
        /// The codes that the account redeemed, newest first, among the newest 20,000 of the store; at most 200.
        public var codes: [Code]
        /// The newest deliveries to devices that restored the account's transactions; at most 200.
        public var restored: [RestoredDelivery]
        /// The account's family; nil when it is in none.
        public var family: Family?

        /// Creates the details of an account.
        public init(
            account: Account, devices: [Device], owned: [OwnedProduct], items: [Transaction],
            unfinished: [Transaction], promotions: [WaitingPromotion], priceIncreases: [PriceIncrease],
            codes: [Code], restored: [RestoredDelivery] = [], family: Family? = nil
        ) {
            self.account = account
            self.devices = devices
            self.owned = owned
            self.items = items
            self.unfinished = unfinished
            self.promotions = promotions
            self.priceIncreases = priceIncreases
            self.codes = codes
            self.restored = restored
            self.family = family
        }
    }

    /// A device that is signed in.
    public struct Device: Codable, Sendable, Equatable {
        /// The device's identifier.
        public var deviceId: String
        /// The date of the last sign-in.
        public var signedInDate: String

        /// Creates a device.
        public init(deviceId: String, signedInDate: String) {
            self.deviceId = deviceId
            self.signedInDate = signedInDate
        }
    }

    /// A product that an account owns permanently.
    public struct OwnedProduct: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// The first transaction of the purchase.
        public var originalTransactionId: String
        /// The date of the purchase.
        public var originalPurchaseDate: String

        /// Creates an owned product.
        public init(
            bundleId: String, productId: String, originalTransactionId: String, originalPurchaseDate: String
        ) {
            self.bundleId = bundleId
            self.productId = productId
            self.originalTransactionId = originalTransactionId
            self.originalPurchaseDate = originalPurchaseDate
        }
    }

    /// A promoted purchase that waits for a device of its account.
    public struct WaitingPromotion: Codable, Sendable, Equatable {
        /// The promotion's identifier.
        public var promotionId: UUID
        /// The identifier of the account.
        public var accountId: String
        /// The app's bundle identifier.
        public var bundleId: String
        /// The identifier of the product.
        public var productId: String
        /// The date of the promotion. A device can take it for a day.
        public var createdDate: String

        /// Creates a waiting promotion.
        public init(promotionId: UUID, accountId: String, bundleId: String, productId: String, createdDate: String) {
            self.promotionId = promotionId
            self.accountId = accountId
            self.bundleId = bundleId
            self.productId = productId
            self.createdDate = createdDate
        }
    }

    /// The number of devices that were signed out.
    public struct SignedOut: Codable, Sendable, Equatable {
        /// The number of tokens that are no longer valid. A device can have had several.
        public var tokens: Int

        /// Creates the result.
        public init(tokens: Int) {
            self.tokens = tokens
        }
    }

    /// The number of rows that were deleted from a tester's purchase history.
    public struct ClearedHistory: Codable, Sendable, Equatable {
        /// Transactions of products.
        public var transactions: Int
        /// Purchases of the storefront's items.
        public var items: Int
        /// Attempts to buy, also those that wait.
        public var attempts: Int

        /// Creates the result.
        public init(transactions: Int, items: Int, attempts: Int) {
            self.transactions = transactions
            self.items = items
            self.attempts = attempts
        }
    }
}
