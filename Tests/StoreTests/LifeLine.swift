import Foundation
import StoreReceipts
import StoreWire

@testable import Store

/// What the ledger, a receipt, `verifyReceipt` and the feed of news all say of a period. Dates are seconds since 1970.
struct LifeLine: Equatable {
    var id: String
    var original: String
    var product: String
    var lineItem: String?
    var start: Int64
    var end: Int64?
    var revoked: Int64?
    var isTrial: Bool
    var isIntroductory: Bool
    var promotion: String?
}

extension LifeLine {
    init(_ row: Transaction) {
        self.init(
            id: row.transactionID.description, original: row.originalTransactionID.description,
            product: row.productID.rawValue, lineItem: row.webOrderLineItemID.map { "\($0)" },
            start: row.purchaseDate / 1000, end: row.expiresDate.map { $0 / 1000 },
            revoked: row.revokedAt.map { $0 / 1000 }, isTrial: row.offer == .trial,
            isIntroductory: row.offer == .introductory, promotion: row.promotionalOfferID)
    }

    /// A row of an app receipt.
    init(_ purchase: InAppPurchase) {
        func seconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970.rounded(.down)) }
        self.init(
            id: purchase.transactionID, original: purchase.originalTransactionID ?? "", product: purchase.productID,
            lineItem: purchase.webOrderLineItemID.map { "\($0)" }, start: seconds(purchase.purchaseDate),
            end: purchase.expiresDate.map(seconds), revoked: purchase.cancellationDate.map(seconds),
            isTrial: purchase.isTrialPeriod ?? false, isIntroductory: purchase.isInIntroOfferPeriod ?? false,
            promotion: purchase.promotionalOfferID.flatMap { $0.isEmpty ? nil : $0 })
    }

    /// An element of `latest_receipt_info`.
    init(_ purchase: PurchaseInformation) {
        self.init(
            id: purchase.transactionID, original: purchase.originalTransactionID, product: purchase.productID,
            lineItem: purchase.webOrderLineItemID, start: purchase.purchaseDate.milliseconds / 1000,
            end: purchase.expiresDate.map { $0.milliseconds / 1000 },
            revoked: purchase.cancellationDate.map { $0.milliseconds / 1000 }, isTrial: purchase.isTrialPeriod,
            isIntroductory: purchase.isInIntroOfferPeriod ?? false, promotion: purchase.promotionalOfferID)
    }

    /// An element of `latest_receipt_info` or `in_app` as merchants read it; nil when it lacks a member.
    init?(answer element: [String: Any]) {
        func text(_ name: String) -> String? { element[name] as? String }
        func seconds(_ name: String) -> Int64? { text("\(name)_ms").flatMap { Int64($0) }.map { $0 / 1000 } }
        guard let id = text("transaction_id"), let original = text("original_transaction_id"),
            let product = text("product_id"), let start = seconds("purchase_date")
        else { return nil }
        self.init(
            id: id, original: original, product: product, lineItem: text("web_order_line_item_id"), start: start,
            end: seconds("expires_date"), revoked: seconds("cancellation_date"),
            isTrial: text("is_trial_period") == "true", isIntroductory: text("is_in_intro_offer_period") == "true",
            promotion: text("promotional_offer_id"))
    }

    /// The transaction of a piece of news; nil when it lacks a member.
    init?(news transaction: [String: ReadSnapshot.Member]) {
        func text(_ name: String) -> String? { ReadSnapshot.text(transaction[name]) }
        func seconds(_ name: String) -> Int64? { text(name).flatMap { Int64($0) }.map { $0 / 1000 } }
        guard let id = text("transactionId"), let original = text("originalTransactionId"),
            let product = text("productId"), let start = seconds("purchaseDate")
        else { return nil }
        let isIntroduction = text("offerType") == "1"
        let isFree = text("offerDiscountType") == "FREE_TRIAL"
        self.init(
            id: id, original: original, product: product, lineItem: text("webOrderLineItemId"), start: start,
            end: seconds("expiresDate"), revoked: seconds("revocationDate"), isTrial: isIntroduction && isFree,
            isIntroductory: isIntroduction && !isFree,
            promotion: text("offerType") == "2" ? text("offerIdentifier") : nil)
    }
}

/// What `verifyReceipt` and the feed of news both say of the next renewal.
struct LifeRenewal: Equatable {
    var product: String
    var next: String
    var renews: Bool
    var intent: Int64?
    var retries: Bool?
    /// When the grace period ends, in milliseconds since 1970.
    var graceEnds: Int64?
    var increase: Bool?
}

extension LifeRenewal {
    /// An element of `pending_renewal_info`.
    init(_ pending: PendingRenewal) {
        self.init(
            product: pending.productID, next: pending.autoRenewProductID, renews: pending.autoRenewStatus,
            intent: pending.expirationIntent?.rawValue, retries: pending.isInBillingRetryPeriod,
            graceEnds: pending.gracePeriodExpiresDate?.milliseconds, increase: pending.priceIncreaseStatus)
    }

    /// An element of `pending_renewal_info` as merchants read it.
    init(answer element: [String: Any]) {
        func text(_ name: String) -> String? { element[name] as? String }
        self.init(
            product: text("product_id") ?? "", next: text("auto_renew_product_id") ?? "",
            renews: text("auto_renew_status") == "1", intent: text("expiration_intent").flatMap { Int64($0) },
            retries: text("is_in_billing_retry_period").map { $0 == "1" },
            graceEnds: text("grace_period_expires_date_ms").flatMap { Int64($0) },
            increase: text("price_increase_status").map { $0 == "1" })
    }

    /// The renewal information of a piece of news.
    init(news renewal: [String: ReadSnapshot.Member]) {
        func text(_ name: String) -> String? { ReadSnapshot.text(renewal[name]) }
        self.init(
            product: text("productId") ?? "", next: text("autoRenewProductId") ?? "",
            renews: text("autoRenewStatus") == "1", intent: text("expirationIntent").flatMap { Int64($0) },
            retries: text("isInBillingRetryPeriod").map { $0 == "true" },
            graceEnds: text("gracePeriodExpiresDate").flatMap { Int64($0) },
            increase: text("priceIncreaseStatus").map { $0 == "1" })
    }
}
