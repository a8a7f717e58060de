import Foundation
import MerchantWire
import StoreReceipts
import StoreWire

@testable import Merchant

extension TestMerchant {
    /// An app receipt of the store's.
    func receipt(
        _ purchases: [InAppPurchase], environment: StoreEnvironment = .sandbox, bundleID: String = "com.example.books"
    ) throws -> [UInt8] {
        let value = AppReceipt.bundleIDValue(bundleID)
        let receipt = AppReceipt(
            receiptType: environment.receiptType, appItemID: 0, bundleID: bundleID, bundleIDValue: value,
            applicationVersion: "1", opaqueValue: Array(0..<16), deviceHash: Array(repeating: 0, count: 20),
            downloadDate: nil, fulfillmentToolVersion: nil, ageRating: nil, developerID: 0,
            creationDate: Date(timeIntervalSince1970: Double(clock.milliseconds / 1_000)), systemVersion: nil,
            downloadID: 0, versionExternalIdentifier: 0, inApp: purchases,
            originalPurchaseDate: Date(timeIntervalSince1970: 1_375_340_400), originalApplicationVersion: "1.0",
            expirationDate: nil, otherAttributes: [])
        return try authority.receiptSigner(for: environment).sign(receipt).bytes
    }

    /// A purchase in an app receipt.
    func inApp(
        _ product: String, _ id: String, expiresIn seconds: Double? = nil, cancelled: Bool = false
    ) -> InAppPurchase {
        let date = Date(timeIntervalSince1970: Double(clock.milliseconds / 1_000))
        return InAppPurchase(
            quantity: 1, productID: product, transactionID: id, purchaseDate: date, originalTransactionID: id,
            originalPurchaseDate: date, productType: nil, expiresDate: seconds.map { date + $0 }, itemID: 0,
            webOrderLineItemID: seconds == nil ? 0 : Int64(id), cancellationDate: cancelled ? date : nil,
            isTrialPeriod: nil, isInIntroOfferPeriod: nil, promotionalOfferID: nil, otherAttributes: [])
    }

    /// A signed payload of the store's.
    func sign(_ fields: [String: Any], environment: StoreEnvironment = .sandbox) throws -> [UInt8] {
        let payload = try JSONSerialization.data(withJSONObject: fields)
        return Array(try authority.jwsIdentity(for: environment).sign(Array(payload)).utf8)
    }

    /// The fields of a signed transaction.
    func transaction(
        _ product: String, _ id: String, environment: String = "Sandbox", _ more: [String: Any] = [:]
    ) -> [String: Any] {
        let fields: [String: Any] = [
            "transactionId": id, "originalTransactionId": id, "bundleId": "com.example.books", "productId": product,
            "purchaseDate": clock.milliseconds, "originalPurchaseDate": clock.milliseconds, "quantity": 1,
            "type": "Consumable", "environment": environment, "signedDate": clock.milliseconds,
        ]
        return fields.merging(more) { $1 }
    }

    /// A signed notification about a signed transaction.
    func notification(
        _ type: String, _ transaction: [String: Any], id: String, renewal: [String: Any]? = nil,
        subtype: String? = nil
    ) throws -> [UInt8] {
        var data: [String: Any] = [
            "bundleId": "com.example.books", "environment": "Sandbox",
            "signedTransactionInfo": String(decoding: try sign(transaction), as: UTF8.self),
        ]
        if let renewal { data["signedRenewalInfo"] = String(decoding: try sign(renewal), as: UTF8.self) }
        var fields: [String: Any] = [
            "notificationType": type, "notificationUUID": id, "version": "2.0", "signedDate": clock.milliseconds,
            "data": data,
        ]
        if let subtype { fields["subtype"] = subtype }
        return try sign(fields)
    }
}
