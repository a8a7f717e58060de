import Foundation
import StoreWire

/// What an app redeems: a receipt or a signed transaction, exactly one of them.
public struct RedemptionRequest: Codable, Sendable, Equatable {
    /// An app receipt or an iOS 6 transaction receipt, as the device holds it; Base64 in JSON.
    public var receipt: Data?
    /// A signed transaction (JWS in compact form).
    public var signedTransaction: String?

    /// Creates a request that redeems a receipt.
    public init(receipt: Data) { self.receipt = receipt }
    /// Creates a request that redeems a signed transaction.
    public init(signedTransaction: String) { self.signedTransaction = signedTransaction }
}

/// What a transaction gave when it was redeemed; asked again, the merchant answers the same.
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
    /// What it gave, for all of its quantity.
    public var grants: [ProductGrant]
    /// When it was redeemed first, in milliseconds since 1970.
    public var redeemedAt: Int64
    /// When the period ends that was paid for, in milliseconds since 1970; nil for what does not end.
    public var expiresAt: Int64?
    /// Whether it went to somebody else than who asked: to the user whom the purchase itself names as its owner.
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
}

/// A transaction of a receipt that was not redeemed, and why.
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
}

/// What came of a redemption: each transaction of the evidence in one of the two lists, oldest purchase first.
public struct RedemptionAnswer: Codable, Sendable, Equatable {
    /// The transactions that were redeemed, now or earlier.
    public var redeemed: [RedeemedTransaction]
    /// The transactions that were not redeemed.
    public var refused: [RefusedTransaction]

    /// Creates an answer.
    public init(redeemed: [RedeemedTransaction], refused: [RefusedTransaction]) {
        self.redeemed = redeemed
        self.refused = refused
    }

    /// Whether a StoreKit transaction may be finished: it was redeemed, now or before, for whomever it belongs to.
    public func confirms(transactionID: String) -> Bool {
        redeemed.contains { $0.transactionID == transactionID }
    }
}
