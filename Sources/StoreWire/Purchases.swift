import Foundation

/// Asks to buy. Sent to ``StoreRoute/purchases``. The same `idempotencyKey` is the same purchase for ever: the store answers a repeated
/// key with the first answer.
public struct PurchaseRequest: Codable, Sendable, Equatable {
    public var idempotencyKey: UUID
    public var bundleID: BundleID
    public var productID: ProductID
    /// 1 to ``StoreLimits/quantity``.
    public var quantity: Int
    /// What the app says of its own user, opaque to the store; at most ``StoreLimits/applicationUsername`` bytes of UTF-8.
    public var applicationUsername: String?
    public var simulatesAskToBuy: Bool
    /// The unit price that the customer saw and agreed to; the store refuses with ``WireError/Code/priceChanged`` when it is not the price.
    /// Zero agrees only to getting again what is owned.
    public var agreedPrice: Money?
    /// The promotional offer at whose price to sell; nil for none.
    public var offer: SignedOffer?

    public init(
        idempotencyKey: UUID, bundleID: BundleID, productID: ProductID, quantity: Int, applicationUsername: String?,
        simulatesAskToBuy: Bool, agreedPrice: Money?, offer: SignedOffer? = nil
    ) {
        self.idempotencyKey = idempotencyKey
        self.bundleID = bundleID
        self.productID = productID
        self.quantity = quantity
        self.applicationUsername = applicationUsername
        self.simulatesAskToBuy = simulatesAskToBuy
        self.agreedPrice = agreedPrice
        self.offer = offer
    }
}

/// A subscription's promotional offer with the signature of the app's server, which chose the customer for it (Apple, "Generating a signature
/// for promotional offers").
public struct SignedOffer: Codable, Sendable, Hashable {
    public var offerID: String
    public var keyID: String
    public var nonce: UUID
    /// ECDSA over P-256 with SHA-256 of ``message(bundleID:productID:applicationUsername:)``, as DER in Base64.
    public var signature: String
    /// When it was signed, in milliseconds since 1970.
    public var timestamp: Int64

    public init(offerID: String, keyID: String, nonce: UUID, signature: String, timestamp: Int64) {
        self.offerID = offerID
        self.keyID = keyID
        self.nonce = nonce
        self.signature = signature
        self.timestamp = timestamp
    }

    /// What is signed: bundle id, key id, product id, offer id, user name, nonce and timestamp, joined by U+2063, the user name and the nonce
    /// in lower case.
    public func message(bundleID: BundleID, productID: ProductID, applicationUsername: String?) -> String {
        [
            bundleID.rawValue, keyID, productID.rawValue, offerID, (applicationUsername ?? "").lowercased(),
            nonce.uuidString.lowercased(), String(timestamp),
        ].joined(separator: "\u{2063}")
    }
}

/// How a purchase stands at the store.
public struct PurchaseResponse: Codable, Sendable, Equatable {
    public enum State: String, Codable, Sendable {
        /// Paid (or owned already): `transaction` is there.
        case purchased
        /// Waits for somebody's approval; the transaction comes later in the list of unfinished ones.
        case deferred
        /// Refused for good: `failure` says why, and repeating the key gives the same answer.
        case failed
    }

    public var state: State
    public var transaction: TransactionDescription?
    public var failure: WireError?

    public init(state: State, transaction: TransactionDescription?, failure: WireError?) {
        self.state = state
        self.transaction = transaction
        self.failure = failure
    }
}

/// One transaction as the device holds it. Dates are whole milliseconds since 1970.
public struct TransactionDescription: Codable, Sendable, Equatable {
    public var transactionID: TransactionID
    public var originalTransactionID: TransactionID
    public var bundleID: BundleID
    public var productID: ProductID
    public var kind: ProductKind
    public var quantity: Int
    public var purchaseDate: Int64
    public var originalPurchaseDate: Int64
    /// The end of the paid period, for auto-renewable subscriptions.
    public var expiresDate: Int64?
    public var applicationUsername: String?
    /// The key of the payment that made it; nil when no payment of this device did.
    public var idempotencyKey: UUID?
    /// What the store hosts for the product, in the version that would be downloaded now; nil when there is nothing to download.
    public var content: HostedContent?

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
}

/// A page of the transactions that the device has not finished, oldest first. Asked of ``StoreRoute/unfinishedTransactions``.
public struct UnfinishedTransactionsResponse: Codable, Sendable, Equatable {
    public var transactions: [TransactionDescription]
    /// Give it back as `after` for the next page; nil on the last.
    public var next: TransactionID?

    public init(transactions: [TransactionDescription], next: TransactionID?) {
        self.transactions = transactions
        self.next = next
    }
}

/// Asks for a fresh app receipt bound to this device. Sent to ``StoreRoute/appReceipt``, answered with the DER bytes.
public struct AppReceiptRequest: Codable, Sendable, Equatable {
    public var bundleID: BundleID
    /// `CFBundleVersion`, attribute 3 of the receipt.
    public var bundleVersion: String
    /// `identifierForVendor`: its 16 bytes go into the device hash.
    public var vendorIdentifier: UUID
    /// What the sandbox shall pretend of the receipt; nil for a receipt as it is.
    public var pretence: ReceiptPretence?

    public init(
        bundleID: BundleID, bundleVersion: String, vendorIdentifier: UUID, pretence: ReceiptPretence? = nil
    ) {
        self.bundleID = bundleID
        self.bundleVersion = bundleVersion
        self.vendorIdentifier = vendorIdentifier
        self.pretence = pretence
    }
}

/// The test properties of Apple's `SKReceiptRefreshRequest`. A production store takes no notice of them.
public struct ReceiptPretence: Codable, Sendable, Hashable {
    /// The receipt's expiration date (attribute 21) is past.
    public var isExpired: Bool
    /// The receipt is of a volume purchase that was taken back.
    public var isRevoked: Bool
    /// The receipt is of a volume purchase: `ProductionVPPSandbox` in attribute 0.
    public var isVolumePurchase: Bool

    public init(isExpired: Bool, isRevoked: Bool, isVolumePurchase: Bool) {
        self.isExpired = isExpired
        self.isRevoked = isRevoked
        self.isVolumePurchase = isVolumePurchase
    }
}

/// Asks for the iOS 6 receipt of one transaction. Sent to ``StoreRoute/transactionReceipt(_:)``, answered with the property list's bytes.
public typealias TransactionReceiptRequest = AppReceiptRequest
