import Foundation
import StoreReceipts
import StoreWire

/// Receipts as the store makes them, for measuring what is done with them.
enum SampleReceipts {
    static let bundleID = "com.example.bench"
    static let date = Date(timeIntervalSince1970: 1_780_000_000)

    /// An app receipt of the sandbox with ten finished non-consumables.
    static func tenPurchases() -> AppReceipt {
        receipt(
            (0..<10).map {
                purchase("\(bundleID).filter\($0)", 2_000_000_000_000_001 + Int64($0), kind: .nonConsumable)
            })
    }

    /// An app receipt of the sandbox with one month of a subscription.
    static func subscription(transactionID: Int64) -> AppReceipt {
        receipt([purchase("\(bundleID).monthly", transactionID, kind: .autoRenewableSubscription)])
    }

    /// An app receipt of the sandbox with months of one subscription.
    /// - Parameter months: the transactions' ids and purchase dates, in milliseconds since 1970.
    static func subscription(months: [(id: Int64, date: Int64)]) -> AppReceipt {
        receipt(
            months.map { month in
                purchase(
                    "\(bundleID).monthly", month.id, original: months.first?.id, kind: .autoRenewableSubscription,
                    at: Date(timeIntervalSince1970: Double(month.date) / 1_000))
            })
    }

    /// An app receipt of the sandbox with one purchase of credits.
    static func credit(transactionID: Int64) -> AppReceipt {
        receipt([purchase("\(bundleID).credit", transactionID, kind: .consumable)])
    }

    /// The payload of a signed transaction, a purchase of credits in the sandbox.
    static func signedCredit(transactionID: Int64) -> [UInt8] {
        signed("\(bundleID).credit", "Consumable", transactionID)
    }

    /// The same of a book.
    static func signedBook(transactionID: Int64) -> [UInt8] {
        signed("\(bundleID).book", "Non-Consumable", transactionID)
    }

    private static func signed(_ productID: String, _ type: String, _ transactionID: Int64) -> [UInt8] {
        let milliseconds = Int64(date.timeIntervalSince1970 * 1_000)
        return Array(
            """
            {"bundleId":"\(bundleID)","currency":"USD","environment":"Sandbox","inAppOwnershipType":"PURCHASED",\
            "originalPurchaseDate":\(milliseconds),"originalTransactionId":"\(transactionID)","price":990,\
            "productId":"\(productID)","purchaseDate":\(milliseconds),"quantity":1,"signedDate":\(milliseconds),\
            "storefront":"USA","storefrontId":"143441","transactionId":"\(transactionID)",\
            "transactionReason":"PURCHASE","type":"\(type)"}
            """.utf8)
    }

    private static func receipt(_ purchases: [InAppPurchase]) -> AppReceipt {
        let opaque = [UInt8](repeating: 7, count: 16)
        let bundleIDValue = AppReceipt.bundleIDValue(bundleID)
        return AppReceipt(
            receiptType: StoreEnvironment.sandbox.receiptType, appItemID: 0, bundleID: bundleID,
            bundleIDValue: bundleIDValue,
            applicationVersion: "1", opaqueValue: opaque,
            deviceHash: AppReceipt.deviceHash(
                deviceIdentifier: [UInt8](repeating: 9, count: 16), opaqueValue: opaque, bundleIDValue: bundleIDValue),
            downloadDate: nil, fulfillmentToolVersion: 1, ageRating: "4+", developerID: 0, creationDate: date,
            systemVersion: 0,
            downloadID: 0, versionExternalIdentifier: 0, inApp: purchases,
            originalPurchaseDate: Date(timeIntervalSince1970: 1_375_340_400), originalApplicationVersion: "1.0",
            expirationDate: nil,
            otherAttributes: AppReceipt.serverAttributes(
                attribute6: [UInt8](repeating: 1, count: 64), attribute7: [UInt8](repeating: 2, count: 72)))
    }

    private static func purchase(
        _ productID: String, _ id: Int64, original: Int64? = nil, kind: ProductKind, at date: Date = date
    ) -> InAppPurchase {
        let isSubscription = kind == .autoRenewableSubscription
        return InAppPurchase(
            quantity: 1, productID: productID, transactionID: String(id), purchaseDate: date,
            originalTransactionID: String(original ?? id),
            originalPurchaseDate: date, productType: kind.receiptNumber,
            expiresDate: isSubscription ? date.addingTimeInterval(30 * 86_400) : nil, itemID: 0,
            webOrderLineItemID: isSubscription ? id + 1 : 0, cancellationDate: nil, isTrialPeriod: false,
            isInIntroOfferPeriod: false, promotionalOfferID: nil, otherAttributes: InAppPurchase.serverAttributes)
    }
}
