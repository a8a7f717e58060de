import StoreWire

/// A verified purchase. Only ``PurchaseVerifier`` creates one. Dates are milliseconds since 1970.
public struct VerifiedPurchase: Sendable, Equatable {
    /// The store that signed the evidence (``TrustedStore/anchor``).
    public let anchor: String
    /// Whether the purchase was made in production or in the sandbox.
    public let environment: StoreEnvironment
    /// The app in which the purchase was made.
    public let bundleID: BundleID
    /// The product that was bought.
    public let productID: ProductID
    /// The product's kind according to the store; nil when the evidence does not state it.
    public let statedKind: ProductKind?
    /// The store's identifier of this transaction.
    public let transactionID: String
    /// The identifier of the first transaction of a restored purchase or a subscription; otherwise ``transactionID``.
    public let originalTransactionID: String
    /// The number of units, from 1 to 1,000,000.
    public let quantity: Int64
    /// The date of the purchase, or the start of a subscription's period.
    public let purchasedAt: Int64
    /// The end of the subscription's period; nil for a purchase without an expiry date.
    public let expiresAt: Int64?
    /// The store's number of the subscription's period (`webOrderLineItemId`); nil for a purchase without one.
    public let webOrderLineItemID: String?
    /// The date of the refund or revocation; nil when the evidence states none.
    public let revokedAt: Int64?
    /// The refunded share in thousandths of a percent; nil when the evidence does not state it, as in app receipts.
    public let revokedShare: Int64?
    /// Whether another plan replaced the period before its end; nil when the evidence does not distinguish that from a
    /// refund.
    public let isUpgraded: Bool?
    /// Whether the period is a renewal and not a new purchase; nil when the evidence does not state it.
    public let isRenewal: Bool?
    /// Whether the purchase is a free trial; nil when the evidence does not state it.
    public let isTrial: Bool?
    /// Whether the purchase is shared by another customer, such as a family member; nil when the evidence does not
    /// state it.
    public let isShared: Bool?
    /// The account token, a UUID in lower case with which the app named the owner; nil when there is none.
    public let accountToken: String?
    /// The time at which the store signed the evidence.
    public let signedAt: Int64

    init(
        anchor: String, environment: StoreEnvironment, bundleID: BundleID, productID: ProductID,
        statedKind: ProductKind?, transactionID: String, originalTransactionID: String, quantity: Int64,
        purchasedAt: Int64, expiresAt: Int64?, webOrderLineItemID: String?, revokedAt: Int64?, revokedShare: Int64?,
        isUpgraded: Bool?, isRenewal: Bool? = nil, isTrial: Bool? = nil, isShared: Bool? = nil, accountToken: String?,
        signedAt: Int64
    ) {
        self.anchor = anchor
        self.environment = environment
        self.bundleID = bundleID
        self.productID = productID
        self.statedKind = statedKind
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.quantity = quantity
        self.purchasedAt = purchasedAt
        self.expiresAt = expiresAt
        self.webOrderLineItemID = webOrderLineItemID.flatMap { $0.isEmpty || $0 == "0" ? nil : $0 }
        self.revokedAt = revokedAt
        self.revokedShare = revokedShare
        self.isUpgraded = isUpgraded
        self.isRenewal = isRenewal
        self.isTrial = isTrial
        self.isShared = isShared
        self.accountToken = accountToken?.lowercased()
        self.signedAt = signedAt
    }
}

extension VerifiedPurchase {
    /// ``revokedShare`` of a full refund: 100 %.
    static let wholeShare: Int64 = 100_000

    /// ``webOrderLineItemID`` as a number; nil for a purchase without one.
    var periodNumber: Int64? { webOrderLineItemID.flatMap { Int64($0) } }
}

/// The purchases of one piece of evidence, all from one store, environment and app. Only ``PurchaseVerifier`` creates
/// one.
public struct VerifiedEvidence: Sendable, Equatable {
    /// Whether the purchases were made in production or in the sandbox.
    public let environment: StoreEnvironment
    /// The app in which the purchases were made.
    public let bundleID: BundleID
    /// The purchases in the order of the evidence, each transaction once.
    public let purchases: [VerifiedPurchase]
    /// The store's statements about the renewal of the subscriptions, by their original transactions.
    let renewals: [String: RenewalStatement]

    init(
        environment: StoreEnvironment, bundleID: BundleID, purchases: [VerifiedPurchase],
        renewals: [String: RenewalStatement] = [:]
    ) {
        self.environment = environment
        self.bundleID = bundleID
        self.purchases = purchases
        self.renewals = renewals
    }
}
