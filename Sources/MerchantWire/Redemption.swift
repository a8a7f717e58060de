import Foundation
import StoreWire

/// A request to redeem purchases. It has a receipt, a signed transaction, or a transaction's identifier.
public struct RedemptionRequest: Codable, Sendable, Equatable {
    /// An app receipt or an iOS 6 transaction receipt, as stored on the device; Base64 in JSON.
    public var receipt: Data?
    /// A signed transaction: a JWS in compact form.
    public var signedTransaction: String?
    /// The store's identifier of a transaction. The merchant asks the store for the rest.
    public var transactionID: String?
    /// The app of ``transactionID``; nil when the merchant has one app.
    public var bundleID: BundleID?

    /// Creates a request that redeems a receipt.
    public init(receipt: Data) { self.receipt = receipt }
    /// Creates a request that redeems a signed transaction.
    public init(signedTransaction: String) { self.signedTransaction = signedTransaction }
    /// Creates a request that redeems a transaction of an app.
    public init(transactionID: String, bundleID: BundleID? = nil) {
        self.transactionID = transactionID
        self.bundleID = bundleID
    }

    private enum CodingKeys: String, CodingKey {
        case receipt, signedTransaction
        case transactionID = "transactionId"
        case bundleID = "bundleId"
    }
}

/// A redeemed transaction and its grants. A repeated request gets the same answer.
public struct RedeemedTransaction: Codable, Sendable, Equatable {
    /// The store's identifier of the transaction.
    public var transactionID: String
    /// The identifier of the first transaction of a restored purchase or a subscription; otherwise ``transactionID``.
    public var originalTransactionID: String
    /// The product that was bought.
    public var productID: ProductID
    /// The number of units that were bought.
    public var quantity: Int64
    /// Whether the purchase was made in production or in the sandbox.
    public var environment: StoreEnvironment
    /// The grants, multiplied by the quantity.
    public var grants: [ProductGrant]
    /// The time of the first redemption, in milliseconds since 1970.
    public var redeemedAt: Int64
    /// The end of the subscription period, in milliseconds since 1970; nil for a purchase that does not expire.
    public var expiresAt: Int64?
    /// Whether the grants went to another user than the one who sent the request: the owner named by the purchase's
    /// account token.
    public var wentToNamedOwner: Bool

    /// Creates a redeemed transaction.
    public init(
        transactionID: String, originalTransactionID: String, productID: ProductID, quantity: Int64,
        environment: StoreEnvironment, grants: [ProductGrant], redeemedAt: Int64, expiresAt: Int64?,
        wentToNamedOwner: Bool
    ) {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.quantity = quantity
        self.environment = environment
        self.grants = grants
        self.redeemedAt = redeemedAt
        self.expiresAt = expiresAt
        self.wentToNamedOwner = wentToNamedOwner
    }

    private enum CodingKeys: String, CodingKey {
        case transactionID = "transactionId"
        case originalTransactionID = "originalTransactionId"
        case productID = "productId"
        case quantity, environment, grants, redeemedAt, expiresAt, wentToNamedOwner
    }
}

/// A transaction that was not redeemed, and the reason.
public struct RefusedTransaction: Codable, Sendable, Equatable {
    /// The store's identifier of the transaction.
    public var transactionID: String
    /// The product that was bought.
    public var productID: ProductID
    /// Why the transaction was not redeemed.
    public var code: MerchantErrorCode
    /// A sentence that an app may show.
    public var message: String

    /// Creates a refused transaction.
    public init(transactionID: String, productID: ProductID, code: MerchantErrorCode, message: String) {
        self.transactionID = transactionID
        self.productID = productID
        self.code = code
        self.message = message
    }

    private enum CodingKeys: String, CodingKey {
        case transactionID = "transactionId"
        case productID = "productId"
        case code, message
    }
}

/// The answer to a redemption request. Each transaction is in one of the two lists, oldest purchase first.
public struct RedemptionAnswer: Decodable, Sendable, Equatable {
    /// The transactions that were redeemed, now or earlier.
    public var redeemed: [RedeemedTransaction]
    /// The transactions that were not redeemed.
    public var refused: [RefusedTransaction]

    /// Creates an answer.
    public init(redeemed: [RedeemedTransaction], refused: [RefusedTransaction]) {
        self.redeemed = redeemed
        self.refused = refused
    }

    /// Whether the app may finish a StoreKit transaction: the merchant has redeemed it, now or earlier, for its owner.
    public func confirms(transactionID: String) -> Bool {
        redeemed.contains { $0.transactionID == transactionID }
    }
}
