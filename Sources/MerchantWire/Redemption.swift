import Foundation
import StoreWire

/// What an app redeems: a receipt or a signed transaction, exactly one of them.
public struct RedemptionRequest: Codable, Sendable, Equatable {
    /// An app receipt or an iOS 6 transaction receipt, as the device holds it; Base64 in JSON.
    public var receipt: Data?
    /// A signed transaction (JWS in compact form).
    public var signedTransaction: String?

    public init(receipt: Data) { self.receipt = receipt }
    public init(signedTransaction: String) { self.signedTransaction = signedTransaction }
}

/// What a transaction gave when it was redeemed; asked again, the merchant answers the same.
public struct RedeemedTransaction: Codable, Sendable, Equatable {
    public var transactionID: String
    public var originalTransactionID: String
    public var productID: ProductID
    public var quantity: Int64
    public var environment: StoreEnvironment
    /// What it gave, for all of its quantity.
    public var grants: [ProductGrant]
    /// When it was redeemed first, in milliseconds since 1970.
    public var redeemedAt: Int64
    /// When the period ends that was paid for, in milliseconds since 1970; nil for what does not end.
    public var expiresAt: Int64?
    /// Whether it went to somebody else than who asked: to the user whom the purchase itself names as its owner.
    public var wentToNamedOwner: Bool

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
    public var transactionID: String
    public var productID: ProductID
    public var code: MerchantErrorCode
    /// A sentence that an app may show.
    public var message: String

    public init(transactionID: String, productID: ProductID, code: MerchantErrorCode, message: String) {
        self.transactionID = transactionID
        self.productID = productID
        self.code = code
        self.message = message
    }
}

/// What came of a redemption: each transaction of the evidence in one of the two lists, oldest purchase first.
public struct RedemptionAnswer: Codable, Sendable, Equatable {
    public var redeemed: [RedeemedTransaction]
    public var refused: [RefusedTransaction]

    public init(redeemed: [RedeemedTransaction], refused: [RefusedTransaction]) {
        self.redeemed = redeemed
        self.refused = refused
    }

    /// Whether a StoreKit transaction may be finished: it was redeemed, now or before, for whomever it belongs to.
    public func confirms(transactionID: String) -> Bool {
        redeemed.contains { $0.transactionID == transactionID }
    }
}
