import CornerstoreEncoding
import Foundation
import MerchantWire
import StoreReceipts
import StoreWire

/// The fields of a signed transaction that the merchant uses (`JWSTransactionDecodedPayload`). Dates are milliseconds
/// since 1970, with a fraction where Xcode writes one.
struct SignedTransactionFields {
    var transactionId: String
    var originalTransactionId: String
    var webOrderLineItemId: String?
    var bundleId: String
    var productId: String
    var purchaseDate: Double
    var expiresDate: Double?
    var signedDate: Double
    var quantity: Int64?
    var type: String?
    var appAccountToken: String?
    var revocationDate: Double?
    var revocationPercentage: Int64?
    var isUpgraded: Bool?
    var transactionReason: String?
    var offerDiscountType: String?
    var inAppOwnershipType: String?
    var environment: String

    /// Parses a payload.
    /// - Throws: ``MerchantError`` `malformed_receipt` for a payload that is not a transaction.
    init(_ payload: VerifiedPayload) throws {
        do {
            let fields = payload.content.fields
            guard let transactionId = try fields.string("transactionId"),
                let originalTransactionId = try fields.string("originalTransactionId"),
                let bundleId = try fields.string("bundleId"), let productId = try fields.string("productId"),
                let purchaseDate = try fields.number("purchaseDate"),
                let signedDate = try fields.number("signedDate"), let environment = try fields.string("environment")
            else { throw MerchantError(.malformedReceipt) }
            (self.transactionId, self.originalTransactionId) = (transactionId, originalTransactionId)
            (self.bundleId, self.productId, self.environment) = (bundleId, productId, environment)
            (self.purchaseDate, self.signedDate) = (purchaseDate, signedDate)
            webOrderLineItemId = try fields.string("webOrderLineItemId")
            expiresDate = try fields.number("expiresDate")
            quantity = try fields.wholeNumber("quantity")
            type = try fields.string("type")
            appAccountToken = try fields.string("appAccountToken")
            revocationDate = try fields.number("revocationDate")
            revocationPercentage = try fields.wholeNumber("revocationPercentage")
            isUpgraded = try fields.flag("isUpgraded")
            transactionReason = try fields.string("transactionReason")
            offerDiscountType = try fields.string("offerDiscountType")
            inAppOwnershipType = try fields.string("inAppOwnershipType")
        } catch is FlatJSONScanner.Failure {
            throw MerchantError(.malformedReceipt)
        }
    }

    func purchase(anchor: String, environment: StoreEnvironment, bundleID: BundleID) -> VerifiedPurchase {
        VerifiedPurchase(
            anchor: anchor, environment: environment, bundleID: bundleID, productID: ProductID(productId),
            statedKind: type.flatMap { Self.kinds[$0] }, transactionID: transactionId,
            originalTransactionID: originalTransactionId, quantity: quantity ?? 1,
            purchasedAt: Self.milliseconds(purchaseDate), expiresAt: expiresDate.map(Self.milliseconds),
            webOrderLineItemID: webOrderLineItemId, revokedAt: revocationDate.map(Self.milliseconds),
            // Apple writes the percentage since version 1.19 of the API. A refund without it is a full refund.
            revokedShare: revocationDate.map { _ in revocationPercentage ?? VerifiedPurchase.wholeShare },
            isUpgraded: isUpgraded ?? false, isRenewal: transactionReason.flatMap { Self.reasons[$0] },
            isTrial: offerDiscountType == "FREE_TRIAL", isShared: inAppOwnershipType.map { $0 != "PURCHASED" },
            accountToken: appAccountToken, signedAt: Self.milliseconds(signedDate))
    }

    private static let kinds: [String: ProductKind] = [
        "Auto-Renewable Subscription": .autoRenewableSubscription, "Non-Consumable": .nonConsumable,
        "Consumable": .consumable, "Non-Renewing Subscription": .nonRenewingSubscription,
    ]

    private static let reasons = ["PURCHASE": false, "RENEWAL": true]

    /// Converts a date to whole milliseconds, limited to the range of dates in receipts.
    static func milliseconds(_ value: Double) -> Int64 {
        ReceiptDate(Date(timeIntervalSince1970: value / 1_000)).milliseconds
    }
}

/// The fields of signed renewal information that the merchant uses (`JWSRenewalInfoDecodedPayload`).
struct SignedRenewalFields: Decodable {
    var originalTransactionId: String
    var autoRenewProductId: String?
    var autoRenewStatus: Int?
    var gracePeriodExpiresDate: Double?
    var environment: String?
    var signedDate: Double?

    /// Parses a payload.
    /// - Throws: ``MerchantError`` `malformed_receipt` for a payload that is not renewal information.
    init(_ payload: VerifiedPayload) throws {
        guard let fields = try? JSONDecoder().decode(Self.self, from: Data(payload.content.payload)) else {
            throw MerchantError(.malformedReceipt)
        }
        self = fields
    }
}
