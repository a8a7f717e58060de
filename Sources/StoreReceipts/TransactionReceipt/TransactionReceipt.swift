/// What an iOS 6 transaction receipt says of one purchase (its `purchase-info`). A value of this type proves nothing;
/// only ``VerifiedTransactionReceipt`` does.
///
/// Keys and forms are those of receipts of Apple's server of 2011 to 2021; Apple has never documented them beyond
/// `verifyReceipt`.
public struct TransactionReceipt: Sendable, Equatable {
    /// One line of the property list.
    public struct Entry: Sendable, Hashable {
        public var key: String
        public var value: String

        public init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }

    /// `quantity`
    public var quantity: Int64
    /// `product-id`
    public var productID: String
    /// `transaction-id`
    public var transactionID: String
    /// `original-transaction-id`
    public var originalTransactionID: String
    /// `bid`
    public var bundleID: String
    /// `bvrs`
    public var bundleVersion: String
    /// `item-id`: the product's Apple ID.
    public var itemID: String?
    /// `purchase-date`, `-ms` and `-pst`; receipts of 2011 have only the first.
    public var purchaseDate: ReceiptDate
    /// `original-purchase-date`, `-ms` and `-pst`.
    public var originalPurchaseDate: ReceiptDate
    /// `unique-identifier`: the device's UDID.
    public var uniqueIdentifier: String?
    /// `unique-vendor-identifier`: `identifierForVendor`.
    public var uniqueVendorIdentifier: String?
    /// `app-item-id`; production only.
    public var appItemID: String?
    /// `version-external-identifier`; production only.
    public var versionExternalIdentifier: String?
    /// `expires-date` (in milliseconds), `expires-date-formatted` and `-formatted-pst`; only of auto-renewable
    /// subscriptions.
    public var expiresDate: ReceiptDate?
    /// `web-order-line-item-id`; only of auto-renewable subscriptions.
    public var webOrderLineItemID: String?
    /// `is-trial-period`
    public var isTrialPeriod: Bool?
    /// `is-in-intro-offer-period`
    public var isInIntroOfferPeriod: Bool?
    /// `hosted-iap-version`; only with hosted content.
    public var hostedIAPVersion: String?
    /// Every other key, as it stands and in its order. Keys that this type has properties for are not written from
    /// here.
    public var otherEntries: [Entry]

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
