import Foundation

/// Asks to buy a product. Sent to ``StoreRoute/purchases``. An `idempotencyKey` stands for one purchase for ever: the
/// store answers a repeated key with the first answer.
public struct PurchaseRequest: Encodable, Sendable, Equatable {
    /// The idempotency key: the device's own identifier of the purchase.
    public var idempotencyKey: UUID
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The product to buy.
    public var productID: ProductID
    /// How many items to buy, from 1 to ``StoreLimits/quantity``.
    public var quantity: Int
    /// The app's own name for its user, opaque to the store; at most ``StoreLimits/applicationUsername`` bytes of
    /// UTF-8.
    public var applicationUsername: String?
    /// Whether a sandbox store defers the purchase as if a parent had to approve it.
    public var simulatesAskToBuy: Bool
    /// The unit price that the customer saw and agreed to. The store refuses with ``WireError/Code/priceChanged`` when
    /// the price differs. A price of zero only lets the customer get an owned product again.
    public var agreedPrice: Money?
    /// The promotional offer to apply, with StoreKit 1's signature; nil for the regular price.
    public var offer: SignedOffer?
    /// The promotional offer to apply, signed as StoreKit 2 presents it; nil for none. A request has one offer at most.
    public var offerJWS: OfferJWS?
    /// The win-back offer to apply, for a customer who no longer subscribes; nil for none.
    public var winBackOfferID: String?

    /// Creates a purchase request.
    public init(
        idempotencyKey: UUID, bundleID: BundleID, productID: ProductID, quantity: Int, applicationUsername: String?,
        simulatesAskToBuy: Bool, agreedPrice: Money?, offer: SignedOffer? = nil, offerJWS: OfferJWS? = nil,
        winBackOfferID: String? = nil
    ) {
        self.idempotencyKey = idempotencyKey
        self.bundleID = bundleID
        self.productID = productID
        self.quantity = quantity
        self.applicationUsername = applicationUsername
        self.simulatesAskToBuy = simulatesAskToBuy
        self.agreedPrice = agreedPrice
        self.offer = offer
        self.offerJWS = offerJWS
        self.winBackOfferID = winBackOfferID
    }

    private enum CodingKeys: String, CodingKey {
        case idempotencyKey
        case bundleID = "bundleId"
        case productID = "productId"
        case quantity, applicationUsername, simulatesAskToBuy, agreedPrice, offer, offerJWS
        case winBackOfferID = "winBackOfferId"
    }
}

/// A subscription's promotional offer, signed by the app's server for one customer (Apple, "Generating a signature for
/// promotional offers").
public struct SignedOffer: Codable, Sendable, Hashable {
    /// The offer's identifier.
    public var offerID: String
    /// The identifier of the key that made the signature.
    public var keyID: String
    /// A UUID that is used for one signature only.
    public var nonce: UUID
    /// The ECDSA signature (P-256, SHA-256) of ``message(bundleID:productID:applicationUsername:)``, as DER in Base64.
    public var signature: String
    /// When the offer was signed, in milliseconds since 1970.
    public var timestamp: Int64

    /// Creates a signed offer.
    public init(offerID: String, keyID: String, nonce: UUID, signature: String, timestamp: Int64) {
        self.offerID = offerID
        self.keyID = keyID
        self.nonce = nonce
        self.signature = signature
        self.timestamp = timestamp
    }

    /// The signed text: bundle id, key id, product id, offer id, user name, nonce and timestamp, joined by U+2063. The
    /// user name and the nonce are in lower case.
    public func message(bundleID: BundleID, productID: ProductID, applicationUsername: String?) -> String {
        [
            bundleID.rawValue, keyID, productID.rawValue, offerID, (applicationUsername ?? "").lowercased(),
            nonce.uuidString.lowercased(), String(timestamp),
        ].joined(separator: "\u{2063}")
    }

    private enum CodingKeys: String, CodingKey {
        case offerID = "offerId"
        case keyID = "keyId"
        case nonce, signature, timestamp
    }
}

/// A subscription's promotional offer, signed by the app's server as a JWS (Apple, "Generating JWS to sign App Store
/// requests").
public struct OfferJWS: Codable, Sendable, Hashable {
    /// The offer's identifier.
    public var offerID: String
    /// The JWS in compact form, with ES256. Its claims are `iss`, `bid`, `aud` (`promotional-offer`), `iat`, `nonce`,
    /// `productId`, `offerIdentifier` and, if the app's server named the customer, `transactionId`.
    public var compactJWS: String

    /// Creates a signed offer.
    public init(offerID: String, compactJWS: String) {
        self.offerID = offerID
        self.compactJWS = compactJWS
    }

    private enum CodingKeys: String, CodingKey {
        case offerID = "offerId"
        case compactJWS
    }
}

/// The state of a purchase at the store.
public struct PurchaseResponse: Decodable, Sendable, Equatable {
    /// The state of a purchase.
    public enum State: String, Decodable, Sendable, CaseIterable {
        /// The customer paid for the product or already owns it. `transaction` is set.
        case purchased
        /// The purchase waits for approval. Its transaction appears later in the list of unfinished transactions.
        case deferred
        /// The store refused the purchase for good. `failure` gives the reason, and a repeated key gets the same
        /// answer.
        case failed
    }

    /// The purchase's state.
    public var state: State
    /// The transaction; nil unless the state is ``State/purchased``.
    public var transaction: TransactionDescription?
    /// The reason for a refusal; nil unless the state is ``State/failed``.
    public var failure: WireError?

    /// Creates a purchase response.
    public init(state: State, transaction: TransactionDescription?, failure: WireError?) {
        self.state = state
        self.transaction = transaction
        self.failure = failure
    }
}

/// A transaction as the device holds it. Dates are whole milliseconds since 1970.
public struct TransactionDescription: Codable, Sendable, Equatable {
    /// The transaction's identifier.
    public var transactionID: TransactionID
    /// The identifier of the first transaction of this purchase. It equals `transactionID` unless the transaction is a
    /// renewal or was restored.
    public var originalTransactionID: TransactionID
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The product that was bought.
    public var productID: ProductID
    /// The product's type.
    public var kind: ProductKind
    /// How many items were bought.
    public var quantity: Int
    /// When the product was bought, renewed or restored.
    public var purchaseDate: Int64
    /// When the first transaction of this purchase was made.
    public var originalPurchaseDate: Int64
    /// The end of the paid period, for auto-renewable subscriptions.
    public var expiresDate: Int64?
    /// The app's own name for its user, from the payment.
    public var applicationUsername: String?
    /// The idempotency key of this device's payment; nil when the transaction came about in another way.
    public var idempotencyKey: UUID?
    /// The product's hosted content in the version that a download would get now; nil when no content can be
    /// downloaded.
    public var content: HostedContent?

    /// Creates a transaction description.
    public init(
        transactionID: TransactionID, originalTransactionID: TransactionID, bundleID: BundleID, productID: ProductID,
        kind: ProductKind, quantity: Int, purchaseDate: Int64, originalPurchaseDate: Int64, expiresDate: Int64?,
        applicationUsername: String?, idempotencyKey: UUID?, content: HostedContent? = nil
    ) {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.bundleID = bundleID
        self.productID = productID
        self.kind = kind
        self.quantity = quantity
        self.purchaseDate = purchaseDate
        self.originalPurchaseDate = originalPurchaseDate
        self.expiresDate = expiresDate
        self.applicationUsername = applicationUsername
        self.idempotencyKey = idempotencyKey
        self.content = content
    }

    private enum CodingKeys: String, CodingKey {
        case transactionID = "transactionId"
        case originalTransactionID = "originalTransactionId"
        case bundleID = "bundleId"
        case productID = "productId"
        case kind, quantity, purchaseDate, originalPurchaseDate, expiresDate, applicationUsername, idempotencyKey,
            content
    }
}

/// A page of the transactions that the device has not finished, oldest first. The answer to
/// ``StoreRoute/unfinishedTransactions``.
public struct UnfinishedTransactionsResponse: Decodable, Sendable, Equatable {
    /// The transactions, oldest first.
    public var transactions: [TransactionDescription]
    /// Send this value as `after` to get the next page; nil on the last page.
    public var next: TransactionID?

    /// Creates an unfinished transactions response.
    public init(transactions: [TransactionDescription], next: TransactionID?) {
        self.transactions = transactions
        self.next = next
    }
}

/// Asks for a new app receipt bound to this device. Sent to ``StoreRoute/appReceipt``; the answer is the receipt's DER.
public struct AppReceiptRequest: Codable, Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The app's `CFBundleVersion`, which becomes attribute 3 of the receipt.
    public var bundleVersion: String
    /// The device's `identifierForVendor`. Its 16 bytes go into the receipt's device hash.
    public var vendorIdentifier: UUID
    /// The properties that a sandbox store gives the receipt for a test; nil for an ordinary receipt.
    public var pretence: ReceiptPretence?

    /// Creates an app receipt request.
    public init(
        bundleID: BundleID, bundleVersion: String, vendorIdentifier: UUID, pretence: ReceiptPretence? = nil
    ) {
        self.bundleID = bundleID
        self.bundleVersion = bundleVersion
        self.vendorIdentifier = vendorIdentifier
        self.pretence = pretence
    }

    private enum CodingKeys: String, CodingKey {
        case bundleID = "bundleId"
        case bundleVersion, vendorIdentifier, pretence
    }
}

/// The test properties of Apple's `SKReceiptRefreshRequest`. A production store ignores them.
public struct ReceiptPretence: Codable, Sendable, Hashable {
    /// Whether the receipt's expiration date (attribute 21) is in the past.
    public var isExpired: Bool
    /// Whether the receipt belongs to a volume purchase that was revoked.
    public var isRevoked: Bool
    /// Whether the receipt belongs to a volume purchase: attribute 0 is `ProductionVPPSandbox`.
    public var isVolumePurchase: Bool

    /// Creates the test properties.
    public init(isExpired: Bool, isRevoked: Bool, isVolumePurchase: Bool) {
        self.isExpired = isExpired
        self.isRevoked = isRevoked
        self.isVolumePurchase = isVolumePurchase
    }
}

/// Asks for the iOS 6 receipt of one transaction. Sent to ``StoreRoute/transactionReceipt(_:)``; the answer is the
/// bytes of the property list.
public typealias TransactionReceiptRequest = AppReceiptRequest
