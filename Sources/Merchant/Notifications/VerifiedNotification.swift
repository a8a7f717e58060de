import Foundation
import MerchantWire
import StoreReceipts
import StoreWire

/// A notification from a store (App Store Server Notifications V2) whose signatures were verified. Only
/// ``PurchaseVerifier`` creates one.
public struct VerifiedNotification: Sendable, Equatable {
    /// The notification's identifier (`notificationUUID`).
    public let notificationID: String
    /// The type (`notificationType`). The set of types is open.
    public let type: String
    /// `subtype`; nil when the notification has none.
    public let subtype: String?
    /// The time of the signature (`signedDate`), in milliseconds since 1970.
    public let signedAt: Int64
    /// The environment; nil for a notification that names none.
    public let environment: StoreEnvironment?
    /// The app; nil for a notification that names none.
    public let bundleID: BundleID?
    /// The transaction; nil for a notification without one.
    public let purchase: VerifiedPurchase?
    /// The subscription's renewal information; nil for a notification without it.
    public let renewal: Renewal?

    /// The renewal information of a subscription.
    public struct Renewal: Sendable, Equatable {
        /// Whether the subscription renews at the end of the period (`autoRenewStatus`); nil when the store does not
        /// say.
        public var willRenew: Bool?
        /// The product that the next period is of (`autoRenewProductId`); nil when the store does not say.
        public var renewsAs: ProductID?
        /// The end of the grace period (`gracePeriodExpiresDate`), in milliseconds since 1970; nil when there is none.
        public var graceUntil: Int64?
    }

    /// - Parameters:
    ///   - environment: the environment; nil for that of `purchase`.
    ///   - bundleID: the app; nil for that of `purchase`.
    init(
        notificationID: String, type: String, subtype: String?, signedAt: Int64, environment: StoreEnvironment? = nil,
        bundleID: BundleID? = nil, purchase: VerifiedPurchase?, renewal: Renewal?
    ) {
        self.notificationID = notificationID
        self.type = type
        self.subtype = subtype
        self.signedAt = signedAt
        self.environment = environment ?? purchase?.environment
        self.bundleID = bundleID ?? purchase?.bundleID
        self.purchase = purchase
        self.renewal = renewal
    }
}

extension VerifiedNotification.Renewal {
    init(_ fields: SignedRenewalFields) {
        self.init(
            willRenew: fields.autoRenewStatus.map { $0 == 1 },
            renewsAs: fields.autoRenewProductId.map { ProductID($0) },
            graceUntil: fields.gracePeriodExpiresDate.map(SignedTransactionFields.milliseconds))
    }
}

extension PurchaseVerifier {
    /// Verifies a notification: its signature and the signatures of the data in it, the bundle identifier and
    /// environment of each, and the app's number (``appIDs``).
    /// - Parameter text: the JWS in `signedPayload`.
    /// - Throws: ``MerchantError`` as ``verify(_:)``.
    public func verifyNotification(_ text: [UInt8]) async throws -> VerifiedNotification {
        guard text.count <= MerchantLimits.notification else { throw MerchantError(.tooLarge) }
        let outer = try await verifiedPayload(text)
        guard let fields = try? JSONDecoder().decode(NotificationFields.self, from: Data(outer.content.payload)),
            !fields.notificationUUID.isEmpty, !fields.notificationType.isEmpty,
            [fields.notificationUUID, fields.notificationType, fields.subtype ?? ""].allSatisfy({
                $0.utf8.count <= 128 && !$0.utf8.contains(0)
            })
        else { throw MerchantError(.malformedReceipt) }
        // External purchases and unknown kinds of data have no effect here. They are accepted, because the store would
        // resend a refused notification again and again.
        guard let part = fields.data ?? fields.summary ?? fields.appData else {
            if let app = fields.externalPurchaseToken?.bundleId, !takes(BundleID(app)) {
                throw MerchantError(.wrongApp)
            }
            return VerifiedNotification(
                notificationID: fields.notificationUUID, type: fields.notificationType, subtype: fields.subtype,
                signedAt: SignedTransactionFields.milliseconds(fields.signedDate),
                bundleID: fields.externalPurchaseToken?.bundleId.map { BundleID($0) }, purchase: nil, renewal: nil)
        }
        guard let bundleID = part.bundleId else { throw MerchantError(.malformedReceipt) }
        let (anchor, environment, app) = try accept(
            outer.rootFingerprint, part.environment.flatMap { StoreEnvironment(rawValue: $0) }, bundleID)
        // The sandbox does not state the number.
        if environment == .production, let appID = appIDs[app], part.appAppleId != appID {
            throw MerchantError(.wrongApp)
        }
        var purchase: VerifiedPurchase?
        if let signed = part.signedTransactionInfo {
            let evidence = try await verifySigned(Array(signed.utf8))
            guard let found = evidence.purchases.first, found.anchor == anchor, found.environment == environment,
                found.bundleID == app
            else { throw MerchantError(.notGenuine) }
            purchase = found
        }
        var renewal: VerifiedNotification.Renewal?
        if let signed = part.signedRenewalInfo {
            let payload = try await verifiedPayload(Array(signed.utf8))
            let fields = try SignedRenewalFields(payload)
            guard fields.environment == environment.rawValue, payload.rootFingerprint == outer.rootFingerprint,
                purchase.map({ $0.originalTransactionID == fields.originalTransactionId }) ?? true
            else { throw MerchantError(.notGenuine) }
            renewal = VerifiedNotification.Renewal(fields)
        }
        return VerifiedNotification(
            notificationID: fields.notificationUUID, type: fields.notificationType, subtype: fields.subtype,
            signedAt: SignedTransactionFields.milliseconds(fields.signedDate), environment: environment,
            bundleID: app, purchase: purchase, renewal: renewal)
    }
}

/// The fields of a notification that the merchant uses (`responseBodyV2DecodedPayload`).
private struct NotificationFields: Decodable {
    var notificationType: String
    var subtype: String?
    var notificationUUID: String
    var signedDate: Double
    var data: Part?
    var summary: Part?
    var appData: Part?
    var externalPurchaseToken: Part?

    struct Part: Decodable {
        var bundleId: String?
        var appAppleId: Int64?
        var environment: String?
        var signedTransactionInfo: String?
        var signedRenewalInfo: String?
    }
}
