import Foundation
import MerchantWire
import StoreReceipts
import StoreWire

/// The state of a subscription that a store has signed, in an answer of Get All Subscription Statuses.
struct SubscriptionStatus: Sendable, Equatable {
    /// Apple's number: 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked.
    let number: Int
    /// The newest transaction.
    let purchase: VerifiedPurchase
    let renewal: VerifiedNotification.Renewal?
    /// The time at which the store signed the renewal information; without renewal information, the transaction.
    let signedAt: Int64

    /// The notification that would have reported this state, so that both have the same effect. It has no identifier.
    var notification: VerifiedNotification {
        switch number {
        case _ where purchase.revokedAt != nil && purchase.isUpgraded != true:
            report("REFUND", nil, at: purchase.signedAt)
        // The number is not signed. Only a signed date of revocation takes anything back.
        case 2, 5: report("EXPIRED", nil)
        case 3: report("DID_FAIL_TO_RENEW", nil)
        case 4: report("DID_FAIL_TO_RENEW", "GRACE_PERIOD")
        default: report("DID_RENEW", nil)
        }
    }

    /// The notification that would have reported that the refund of the newest transaction was reversed.
    var reversal: VerifiedNotification { report("REFUND_REVERSED", nil, at: purchase.signedAt) }

    /// - Parameter date: when the store signed what proves the report; nil for the time of the renewal information.
    private func report(_ type: String, _ subtype: String?, at date: Int64? = nil) -> VerifiedNotification {
        VerifiedNotification(
            notificationID: "", type: type, subtype: subtype, signedAt: date ?? signedAt, purchase: purchase,
            renewal: renewal)
    }
}

extension PurchaseVerifier {
    /// Verifies an answer of Get Transaction Info.
    /// - Parameters:
    ///   - id: the transaction that was asked about.
    ///   - app: the app that was asked about.
    ///   - environment: the environment that was asked.
    /// - Throws: ``StoreAPIError`` `malformedAnswer`; ``MerchantError`` as ``verify(_:)``.
    func verifyTransactionInfo(
        _ body: [UInt8], of id: String, _ app: BundleID, _ environment: StoreEnvironment
    ) async throws -> VerifiedPurchase {
        guard let answer = try? JSONDecoder().decode(TransactionInfo.self, from: Data(body)) else {
            throw StoreAPIError(.malformedAnswer, "the answer has no signedTransactionInfo")
        }
        let purchase = try await verifyTransaction(answer.signedTransactionInfo, app, environment)
        guard purchase.transactionID == id else { throw MerchantError(.notGenuine) }
        return purchase
    }

    /// Verifies the state of one subscription in an answer of Get All Subscription Statuses.
    /// - Parameter original: the original transaction of the subscription.
    /// - Returns: the state; nil when the answer does not list the subscription.
    /// - Throws: ``StoreAPIError`` `malformedAnswer`; ``MerchantError`` as ``verify(_:)``.
    func verifyStatus(
        _ body: [UInt8], of original: String, _ app: BundleID, _ environment: StoreEnvironment
    ) async throws -> SubscriptionStatus? {
        guard let answer = try? JSONDecoder().decode(Statuses.self, from: Data(body)) else {
            throw StoreAPIError(.malformedAnswer, "the answer is not a list of statuses")
        }
        // A customer may have many subscriptions. Only one of them is verified.
        let item = answer.data.lazy.flatMap(\.lastTransactions).first { $0.originalTransactionId == original }
        guard let item else { return nil }
        let purchase = try await verifyTransaction(item.signedTransactionInfo, app, environment)
        guard purchase.originalTransactionID == original, (1...5).contains(item.status) else {
            throw MerchantError(.notGenuine)
        }
        guard let signed = item.signedRenewalInfo else {
            return SubscriptionStatus(
                number: item.status, purchase: purchase, renewal: nil, signedAt: purchase.signedAt)
        }
        let payload = try await verifiedPayload(Array(signed.utf8))
        let fields = try SignedRenewalFields(payload)
        let (anchor, _, _) = try accept(
            payload.rootFingerprint, fields.environment.flatMap { StoreEnvironment(rawValue: $0) }, app.rawValue)
        guard anchor == purchase.anchor, fields.environment == environment.rawValue,
            fields.originalTransactionId == original
        else { throw MerchantError(.notGenuine) }
        return SubscriptionStatus(
            number: item.status, purchase: purchase, renewal: VerifiedNotification.Renewal(fields),
            signedAt: fields.signedDate.map(SignedTransactionFields.milliseconds) ?? purchase.signedAt)
    }

    private func verifyTransaction(
        _ signed: String, _ app: BundleID, _ environment: StoreEnvironment
    ) async throws -> VerifiedPurchase {
        let evidence = try await verifySigned(Array(signed.utf8))
        guard let purchase = evidence.purchases.first, purchase.bundleID == app, purchase.environment == environment
        else { throw MerchantError(.notGenuine) }
        return purchase
    }
}

/// Apple's `TransactionInfoResponse`.
private struct TransactionInfo: Decodable {
    var signedTransactionInfo: String
}

/// Apple's `StatusResponse`.
private struct Statuses: Decodable {
    var data: [Group]

    struct Group: Decodable {
        var lastTransactions: [Item]
    }

    struct Item: Decodable {
        var originalTransactionId: String
        var status: Int
        var signedTransactionInfo: String
        var signedRenewalInfo: String?
    }
}
