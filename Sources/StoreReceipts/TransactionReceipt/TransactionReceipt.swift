/// The contents of an iOS 6 transaction receipt (its `purchase-info`), which describe one purchase. A value of this
/// type proves nothing; only ``VerifiedTransactionReceipt`` does.
///
/// Keys and forms are those of receipts of Apple's server of 2011 to 2021. Apple has never documented them beyond
/// `verifyReceipt`.
public struct TransactionReceipt: Sendable, Equatable {
    /// One line of the property list.
    public struct Entry: Sendable, Hashable {
        /// The key.
        public var key: String
        /// The value.
        public var value: String

        /// Creates a line.
        public init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }

    /// How many items were bought: `quantity`.
    public var quantity: Int64
    /// The product's identifier: `product-id`.
    public var productID: String
    /// The transaction's identifier: `transaction-id`.
    public var transactionID: String
    /// The first transaction's identifier: `original-transaction-id`.
    public var originalTransactionID: String
    /// The app's bundle identifier: `bid`.
    public var bundleID: String
    /// The app's `CFBundleVersion`: `bvrs`.
    public var bundleVersion: String
    /// The product's Apple ID: `item-id`.
    public var itemID: String?
    /// The date of the purchase: `purchase-date`, `-ms` and `-pst`. Receipts of 2011 have only the first.
    public var purchaseDate: ReceiptDate
    /// The first transaction's date: `original-purchase-date`, `-ms` and `-pst`.
    public var originalPurchaseDate: ReceiptDate
    /// The device's UDID: `unique-identifier`.
    public var uniqueIdentifier: String?
    /// The device's `identifierForVendor`: `unique-vendor-identifier`.
    public var uniqueVendorIdentifier: String?
    /// The app's Apple ID: `app-item-id`; production only.
    public var appItemID: String?
    /// The number of the app's version: `version-external-identifier`; production only.
    public var versionExternalIdentifier: String?
    /// The end of the subscription's period: `expires-date` (in milliseconds), `expires-date-formatted` and
    /// `-formatted-pst`; only for auto-renewable subscriptions.
    public var expiresDate: ReceiptDate?
    /// The number of the subscription's period: `web-order-line-item-id`; only for auto-renewable subscriptions.
    public var webOrderLineItemID: String?
    /// Whether the period is a free trial: `is-trial-period`.
    public var isTrialPeriod: Bool?
    /// Whether the period has an introductory price: `is-in-intro-offer-period`.
    public var isInIntroOfferPeriod: Bool?
    /// The version of the hosted content: `hosted-iap-version`; only for products with hosted content.
    public var hostedIAPVersion: String?
    /// All other lines, unchanged and in their order. A key that has a property is not written from here.
    public var otherEntries: [Entry]

    /// Creates the contents of a receipt.
    public init(
        quantity: Int64, productID: String, transactionID: String, originalTransactionID: String, bundleID: String,
        bundleVersion: String, purchaseDate: ReceiptDate, originalPurchaseDate: ReceiptDate, itemID: String? = nil,
        uniqueIdentifier: String? = nil, uniqueVendorIdentifier: String? = nil, appItemID: String? = nil,
        versionExternalIdentifier: String? = nil, expiresDate: ReceiptDate? = nil, webOrderLineItemID: String? = nil,
        isTrialPeriod: Bool? = nil, isInIntroOfferPeriod: Bool? = nil, hostedIAPVersion: String? = nil,
        otherEntries: [Entry] = []
    ) {
        self.quantity = quantity
        self.productID = productID
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.bundleID = bundleID
        self.bundleVersion = bundleVersion
        self.itemID = itemID
        self.purchaseDate = purchaseDate
        self.originalPurchaseDate = originalPurchaseDate
        self.uniqueIdentifier = uniqueIdentifier
        self.uniqueVendorIdentifier = uniqueVendorIdentifier
        self.appItemID = appItemID
        self.versionExternalIdentifier = versionExternalIdentifier
        self.expiresDate = expiresDate
        self.webOrderLineItemID = webOrderLineItemID
        self.isTrialPeriod = isTrialPeriod
        self.isInIntroOfferPeriod = isInIntroOfferPeriod
        self.hostedIAPVersion = hostedIAPVersion
        self.otherEntries = otherEntries
    }
}
