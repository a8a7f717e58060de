import Foundation
import MerchantWire
import StoreReceipts
import StoreWire

/// A parsed response of `verifyReceipt`.
struct RemoteReceipt {
    let environment: StoreEnvironment?
    let bundleID: String
    /// The store's statements about the renewal of the subscriptions, by their original transactions.
    let renewals: [String: RenewalStatement]
    private let fields: [Known]

    /// A purchase of the response, with facts that do not follow from its fields.
    private struct Known {
        var fields: Fields
        /// The time of the store's statement, in milliseconds since 1970.
        var signedAt: Int64
        /// Whether the list that contains the purchase reports changes of plan.
        var tellsUpgrades: Bool

        init(_ fields: Fields, signedAt: Int64, tellsUpgrades: Bool) {
            (self.fields, self.signedAt, self.tellsUpgrades) = (fields, signedAt, tellsUpgrades)
        }
    }

    /// Parses a response.
    /// - Parameter isRefused: ``RemoteAnswer/isRefused``.
    /// - Throws: ``MerchantError`` for every status except 0 and 21006 (a valid iOS 6 receipt of an expired
    ///   subscription).
    init(_ json: [UInt8], isRefused: Bool = false) throws {
        guard json.count <= 16 << 20, let body = try? JSONDecoder().decode(Body.self, from: Data(json)) else {
            throw MerchantError(.storeUnavailable)
        }
        switch VerifyReceiptStatus(rawValue: body.status) {
        case .ok, .subscriptionExpired: break
        case .malformedReceipt: throw MerchantError(.malformedReceipt)
        case .notAuthenticated, .accountNotFound: throw MerchantError(.notGenuine)
        case .sandboxReceipt, .productionReceipt: throw MerchantError(.wrongEnvironment)
        // These include a wrong shared secret. The receipt may be genuine, and the operator is notified.
        default: throw MerchantError(isRefused ? .notGenuine : .storeUnavailable)
        }
        guard let receipt = body.receipt, let bundleID = receipt.bundleID ?? receipt.bid else {
            throw MerchantError(.storeUnavailable)
        }
        self.bundleID = bundleID
        if let purchases = receipt.inApp {
            environment = body.environment.flatMap { StoreEnvironment(rawValue: $0) }
            // `latest_receipt_info` is as new as the request.
            let asked = receipt.requestDate.flatMap { Int64($0) } ?? 0
            // `in_app` comes from the receipt, is as old as the receipt, and does not report changes of plan.
            let made = receipt.creationDate.flatMap { Int64($0) } ?? asked
            renewals = body.renewals(signedAt: asked)
            fields =
                (body.latest?.list ?? []).map { Known($0, signedAt: asked, tellsUpgrades: true) }
                + purchases.map { Known($0, signedAt: made, tellsUpgrades: false) }
        } else {
            // The response to an iOS 6 receipt does not always name the environment, but the identifier shows it (see
            // PurchaseVerifier).
            let isSandboxID = (receipt.fields.transactionID?.utf8.count ?? 0) >= 16
            environment =
                body.environment.flatMap { StoreEnvironment(rawValue: $0) } ?? (isSandboxID ? .sandbox : .production)
            renewals = [:]
            let boughtAt = receipt.fields.purchaseDate.flatMap { Int64($0) } ?? 0
            fields = [body.latest?.one, receipt.fields].compactMap { $0 }
                .map { Known($0, signedAt: boughtAt, tellsUpgrades: false) }
        }
    }

    func purchases(anchor: String, environment: StoreEnvironment, bundleID: BundleID) -> [VerifiedPurchase] {
        fields.compactMap { known in
            let fields = known.fields
            guard let transactionID = fields.transactionID, let productID = fields.productID,
                let purchasedAt = fields.purchaseDate.flatMap({ Int64($0) })
            else { return nil }
            return VerifiedPurchase(
                anchor: anchor, environment: environment, bundleID: bundleID, productID: ProductID(productID),
                statedKind: nil, transactionID: transactionID,
                originalTransactionID: fields.originalTransactionID ?? transactionID,
                quantity: fields.quantity.flatMap { Int64($0) } ?? 1, purchasedAt: purchasedAt,
                expiresAt: (fields.expiresDate ?? fields.expires).flatMap { Int64($0) },
                webOrderLineItemID: fields.webOrderLineItemID,
                revokedAt: fields.cancellationDate.flatMap { Int64($0) }, revokedShare: nil,
                isUpgraded: fields.isUpgraded == "true" ? true : known.tellsUpgrades ? false : nil,
                isTrial: fields.isTrial.map { $0 == "true" }, isShared: fields.ownership.map { $0 != "PURCHASED" },
                accountToken: fields.accountToken, signedAt: known.signedAt)
        }
    }

    /// A purchase. `verifyReceipt` writes all of its values as text.
    private struct Fields: Decodable {
        var transactionID: String?
        var originalTransactionID: String?
        var productID: String?
        var quantity: String?
        var purchaseDate: String?
        var expiresDate: String?
        /// The expiry date of an iOS 6 receipt, in milliseconds.
        var expires: String?
        var webOrderLineItemID: String?
        var cancellationDate: String?
        var isUpgraded: String?
        var isTrial: String?
        var ownership: String?
        var accountToken: String?

        enum CodingKeys: String, CodingKey {
            case transactionID = "transaction_id"
            case originalTransactionID = "original_transaction_id"
            case productID = "product_id"
            case quantity
            case purchaseDate = "purchase_date_ms"
            case expiresDate = "expires_date_ms"
            case expires = "expires_date"
            case webOrderLineItemID = "web_order_line_item_id"
            case cancellationDate = "cancellation_date_ms"
            case isUpgraded = "is_upgraded"
            case isTrial = "is_trial_period"
            case ownership = "in_app_ownership_type"
            case accountToken = "app_account_token"
        }
    }

    private struct Receipt: Decodable {
        var bundleID: String?
        var bid: String?
        var requestDate: String?
        var creationDate: String?
        var inApp: [Fields]?
        var fields: Fields

        enum CodingKeys: String, CodingKey {
            case bundleID = "bundle_id"
            case bid
            case requestDate = "request_date_ms"
            case creationDate = "receipt_creation_date_ms"
            case inApp = "in_app"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            bundleID = try container.decodeIfPresent(String.self, forKey: .bundleID)
            bid = try container.decodeIfPresent(String.self, forKey: .bid)
            requestDate = try container.decodeIfPresent(String.self, forKey: .requestDate)
            creationDate = try container.decodeIfPresent(String.self, forKey: .creationDate)
            inApp = try container.decodeIfPresent([Fields].self, forKey: .inApp)
            fields = try Fields(from: decoder)
        }
    }

    /// `latest_receipt_info`: an array, or an object in the response to an iOS 6 receipt.
    private struct Latest: Decodable {
        var list: [Fields]?
        var one: Fields?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            list = try? container.decode([Fields].self)
            one = list == nil ? try container.decode(Fields.self) : nil
        }
    }

    /// An element of `pending_renewal_info`.
    private struct PendingFields: Decodable {
        var originalTransactionID: String?
        var autoRenewStatus: String?
        var autoRenewProductID: String?
        var isInBillingRetry: String?
        var gracePeriodEnd: String?

        enum CodingKeys: String, CodingKey {
            case originalTransactionID = "original_transaction_id"
            case autoRenewStatus = "auto_renew_status"
            case autoRenewProductID = "auto_renew_product_id"
            case isInBillingRetry = "is_in_billing_retry_period"
            case gracePeriodEnd = "grace_period_expires_date_ms"
        }

        func statement(signedAt: Int64) -> RenewalStatement {
            // The store leaves the end of the grace period there when the subscription expires.
            let end = isInBillingRetry == "1" ? gracePeriodEnd.flatMap { Int64($0) } : nil
            return RenewalStatement(
                signedAt: signedAt, willRenew: autoRenewStatus.map { $0 == "1" },
                renewsAs: autoRenewProductID.map { ProductID($0) }, grace: end.map { .until($0) } ?? .absent)
        }
    }

    private struct Body: Decodable {
        var status: Int
        var environment: String?
        var receipt: Receipt?
        var latest: Latest?
        var pending: [PendingFields]?

        enum CodingKeys: String, CodingKey {
            case status, environment, receipt
            case latest = "latest_receipt_info"
            case pending = "pending_renewal_info"
        }

        func renewals(signedAt: Int64) -> [String: RenewalStatement] {
            guard let pending else { return [:] }
            let stated = pending.compactMap { pending in
                pending.originalTransactionID.map { ($0, pending.statement(signedAt: signedAt)) }
            }
            // A subscription that was cancelled while a payment was overdue is left out, and has no grace period.
            let listed = (latest?.list ?? []).compactMap(\.originalTransactionID).map {
                ($0, RenewalStatement(signedAt: signedAt, grace: .absent))
            }
            return Dictionary(stated + listed, uniquingKeysWith: { first, _ in first })
        }
    }
}
