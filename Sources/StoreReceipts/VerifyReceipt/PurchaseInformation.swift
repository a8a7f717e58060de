/// An element of `in_app` or `latest_receipt_info` (Apple's "responseBody.Latest_receipt_info"). On the wire every
/// value is a string.
public struct PurchaseInformation: Sendable, Equatable {
    /// How the account came to own the product: `in_app_ownership_type`.
    public enum Ownership: String, Sendable, CaseIterable {
        /// The account bought the product.
        case purchased = "PURCHASED"
        /// A family member bought the product.
        case familyShared = "FAMILY_SHARED"
    }

    /// How many items were bought: `quantity`.
    public var quantity: Int64
    /// The product's identifier: `product_id`.
    public var productID: String
    /// The transaction's identifier: `transaction_id`.
    public var transactionID: String
    /// The first transaction's identifier: `original_transaction_id`.
    public var originalTransactionID: String
    /// When the product was bought, renewed or restored: `purchase_date` in three forms.
    public var purchaseDate: ReceiptDate
    /// The first transaction's date: `original_purchase_date` in three forms.
    public var originalPurchaseDate: ReceiptDate
    /// The end of the subscription's period: `expires_date` in three forms; only for subscriptions.
    public var expiresDate: ReceiptDate?
    /// The number of the subscription's period: `web_order_line_item_id`; only for subscriptions.
    public var webOrderLineItemID: String?
    /// Whether the period is a free trial: `is_trial_period`. Other products have it too, as "false".
    public var isTrialPeriod: Bool
    /// Whether the period has an introductory price: `is_in_intro_offer_period`; only for subscriptions.
    public var isInIntroOfferPeriod: Bool?
    /// When the purchase was refunded or revoked: `cancellation_date` in three forms.
    public var cancellationDate: ReceiptDate?
    /// The reason of the cancellation: `cancellation_reason`, 1 for an issue with the app, 0 for another reason.
    public var cancellationReason: Int64?
    /// Whether an upgrade replaced the subscription: `is_upgraded`; written only when true.
    public var isUpgraded: Bool
    /// The promotional offer's identifier: `promotional_offer_id`.
    public var promotionalOfferID: String?
    /// The name of the redeemed offer code: `offer_code_ref_name`.
    public var offerCodeRefName: String?
    /// The subscription group's identifier: `subscription_group_identifier`.
    public var subscriptionGroupIdentifier: String?
    /// How the account came to own the product: `in_app_ownership_type`. Answers before 2020 do not have it.
    public var ownership: Ownership?
    /// The account token: `app_account_token`, a UUID with the letter case that the app gave.
    public var appAccountToken: String?

    /// Creates an element.
    public init(
        quantity: Int64, productID: String, transactionID: String, originalTransactionID: String,
        purchaseDate: ReceiptDate,
        originalPurchaseDate: ReceiptDate, expiresDate: ReceiptDate? = nil, webOrderLineItemID: String? = nil,
        isTrialPeriod: Bool = false, isInIntroOfferPeriod: Bool? = nil, cancellationDate: ReceiptDate? = nil,
        cancellationReason: Int64? = nil, isUpgraded: Bool = false, promotionalOfferID: String? = nil,
        offerCodeRefName: String? = nil, subscriptionGroupIdentifier: String? = nil, ownership: Ownership? = .purchased,
        appAccountToken: String? = nil
    ) {
        self.quantity = quantity
        self.productID = productID
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.purchaseDate = purchaseDate
        self.originalPurchaseDate = originalPurchaseDate
        self.expiresDate = expiresDate
        self.webOrderLineItemID = webOrderLineItemID
        self.isTrialPeriod = isTrialPeriod
        self.isInIntroOfferPeriod = isInIntroOfferPeriod
        self.cancellationDate = cancellationDate
        self.cancellationReason = cancellationReason
        self.isUpgraded = isUpgraded
        self.promotionalOfferID = promotionalOfferID
        self.offerCodeRefName = offerCodeRefName
        self.subscriptionGroupIdentifier = subscriptionGroupIdentifier
        self.ownership = ownership
        self.appAccountToken = appAccountToken
    }

    /// Creates an element from a purchase in a receipt. Receipts do not contain the reason of a cancellation, the
    /// group or the offer code, which stay empty. Of the ownership they only mark what Cornerstore's families share;
    /// otherwise the caller gives it.
    public init(_ purchase: borrowing InAppPurchase, ownership: Ownership? = .purchased) {
        let isSubscription = purchase.expiresDate != nil
        let purchaseDate = ReceiptDate(purchase.purchaseDate)
        quantity = purchase.quantity
        productID = purchase.productID
        transactionID = purchase.transactionID
        originalTransactionID = purchase.originalTransactionID ?? purchase.transactionID
        self.purchaseDate = purchaseDate
        originalPurchaseDate = purchase.originalPurchaseDate.map { ReceiptDate($0) } ?? purchaseDate
        expiresDate = purchase.expiresDate.map { ReceiptDate($0) }
        webOrderLineItemID = purchase.webOrderLineItemID.flatMap { $0 == 0 ? nil : String($0) }
        isTrialPeriod = purchase.isTrialPeriod ?? false
        isInIntroOfferPeriod = isSubscription ? purchase.isInIntroOfferPeriod ?? false : nil
        cancellationDate = purchase.cancellationDate.map { ReceiptDate($0) }
        cancellationReason = nil
        isUpgraded = false
        promotionalOfferID = purchase.promotionalOfferID.flatMap { $0.isEmpty ? nil : $0 }
        offerCodeRefName = nil
        subscriptionGroupIdentifier = nil
        self.ownership = purchase.isFamilyShared ? .familyShared : ownership
        appAccountToken = purchase.accountToken
    }

    /// The entries that remain with `exclude-old-transactions`: for each subscription (one original transaction) the
    /// entry that expires last, and all entries that are not subscriptions. The order is kept.
    public static func excludingOldTransactions(_ purchases: [PurchaseInformation]) -> [PurchaseInformation] {
        var newest: [String: Int] = [:]
        for (index, purchase) in purchases.enumerated() {
            guard let expiresDate = purchase.expiresDate else { continue }
            if let known = newest[purchase.originalTransactionID], let knownDate = purchases[known].expiresDate {
                // An upgrade ends the old entry early. The new entry is bought later, even if both end at the same
                // time.
                let isNewer = (expiresDate, purchase.purchaseDate) > (knownDate, purchases[known].purchaseDate)
                guard isNewer else { continue }
            }
            newest[purchase.originalTransactionID] = index
        }
        return purchases.enumerated()
            .filter { index, purchase in purchase.expiresDate == nil || newest[purchase.originalTransactionID] == index
            }
            .map { $0.element }
    }
}
