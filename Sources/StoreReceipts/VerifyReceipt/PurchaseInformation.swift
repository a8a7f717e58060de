/// An element of `in_app` or `latest_receipt_info` (Apple's "responseBody.Latest_receipt_info"). On the wire every
/// value is a string.
public struct PurchaseInformation: Sendable, Equatable {
    /// `in_app_ownership_type`.
    public enum Ownership: String, Sendable, CaseIterable {
        case purchased = "PURCHASED"
        case familyShared = "FAMILY_SHARED"
    }

    /// `quantity`
    public var quantity: Int64
    /// `product_id`
    public var productID: String
    /// `transaction_id`
    public var transactionID: String
    /// `original_transaction_id`
    public var originalTransactionID: String
    /// `purchase_date` in three forms.
    public var purchaseDate: ReceiptDate
    /// `original_purchase_date` in three forms.
    public var originalPurchaseDate: ReceiptDate
    /// `expires_date` in three forms; only of subscriptions.
    public var expiresDate: ReceiptDate?
    /// `web_order_line_item_id`; only of subscriptions.
    public var webOrderLineItemID: String?
    /// `is_trial_period`; what is not a subscription carries it as well, as "false".
    public var isTrialPeriod: Bool
    /// `is_in_intro_offer_period`; only of subscriptions.
    public var isInIntroOfferPeriod: Bool?
    /// `cancellation_date` in three forms, when refunded or revoked.
    public var cancellationDate: ReceiptDate?
    /// `cancellation_reason`: 1 for an issue with the app, 0 for another reason.
    public var cancellationReason: Int64?
    /// `is_upgraded`; written only when true.
    public var isUpgraded: Bool
    /// `promotional_offer_id`
    public var promotionalOfferID: String?
    /// `offer_code_ref_name`
    public var offerCodeRefName: String?
    /// `subscription_group_identifier`
    public var subscriptionGroupIdentifier: String?
    /// `in_app_ownership_type`; answers before 2020 have none.
    public var ownership: Ownership?
    /// `app_account_token`, a UUID in the letters that the app gave.
    public var appAccountToken: String?

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

    /// What a receipt says of a purchase. Receipts do not hold the reason of a cancellation, the group, the offer code
    /// or the ownership; the first three stay empty, and the last is the caller's.
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
        self.ownership = ownership
        appAccountToken = purchase.accountToken
    }

    /// What `exclude-old-transactions` leaves: of each subscription (one original transaction) the entry that expires
    /// last, and everything that is not a subscription. The order is kept.
    public static func excludingOldTransactions(_ purchases: [PurchaseInformation]) -> [PurchaseInformation] {
        var newest: [String: Int] = [:]
        for (index, purchase) in purchases.enumerated() {
            guard let expiresDate = purchase.expiresDate else { continue }
            if let known = newest[purchase.originalTransactionID], let knownDate = purchases[known].expiresDate {
                // Of an upgrade, the old entry was cut short and the new one is bought later, even if both end
                // together.
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
