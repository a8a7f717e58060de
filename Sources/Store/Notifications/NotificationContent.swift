import CornerstoreEncoding
import Database
import Foundation
import StoreReceipts
import StoreWire

/// The content of a notification, before its payload is signed, or the body of version 1 is written.
struct NotificationContent: Sendable {
    /// Apple's `notificationUUID`, in lower case.
    var notificationID = UUID().text.lowercased()
    var version = NotificationVersion.two
    var type: String
    var subtype: String?
    let bundleID: BundleID
    /// The time of the event by the store's clock, and `signedDate` of all payloads. A notification that is sent late
    /// has the same content as one that is sent in time.
    let date: Int64
    /// The customer; nil for a notification that concerns none.
    var accountID: AccountID?
    var originalTransactionID: TransactionID?
    var transactionID: TransactionID?
    /// Apple's number of a subscription's state.
    var status: Int64?
    /// Apple's `consumptionRequestReason`.
    var consumptionReason: String?
    /// The payload of `signedTransactionInfo`.
    var transactionInfo: String?
    /// The payload of `signedRenewalInfo`.
    var renewalInfo: String?
    /// An object with one member that stands in place of `data`, such as `summary`.
    var part: String?
    /// The `CFBundleVersion` of the app with which the customer last asked for a receipt; nil while it is unknown.
    var bundleVersion: String?
    /// Whether this is a sample, which reports nothing that happened.
    var isSample = false

    /// A test notification, which says nothing but the app and the environment.
    static func test(_ bundleID: BundleID, at date: Int64) -> NotificationContent {
        NotificationContent(type: NotificationWord.test, bundleID: bundleID, date: date)
    }

    /// The end of an extension of all subscriptions of a product: `RENEWAL_EXTENSION` with `SUMMARY`.
    /// - Parameter snapshot: an object with the member `summary`, as the feed has it.
    static func summary(_ snapshot: String, _ bundleID: BundleID, at date: Int64) -> NotificationContent {
        NotificationContent(
            type: "RENEWAL_EXTENSION", subtype: "SUMMARY", bundleID: bundleID, date: date, part: snapshot)
    }

    /// Signs the payload: Apple's `responseBodyV2DecodedPayload`.
    /// - Parameter appID: the app's number, which Apple's sandbox omits; nil to leave it out.
    /// - Throws: ``ReceiptAuthorityError`` when the key fails.
    func signed(_ environment: StoreEnvironment, appID: Int64?, _ identity: JWSIdentity) throws -> String {
        var json = JSONBytes(capacity: 16_384)
        json.beginObject()
        json.member("notificationType", type)
        if let subtype { json.member("subtype", subtype) }
        json.member("notificationUUID", notificationID)
        if let part {
            // The member without the braces around it.
            json.append(Array(",".utf8) + part.utf8.dropFirst().dropLast())
        } else {
            json.beginObject("data")
            if let appID { json.member("appAppleId", number: appID) }
            json.member("bundleId", bundleID.rawValue)
            if let bundleVersion { json.member("bundleVersion", bundleVersion) }
            json.member("environment", environment.signedName)
            if let transactionInfo {
                json.member("signedTransactionInfo", try identity.sign(Array(transactionInfo.utf8)))
            }
            if let renewalInfo { json.member("signedRenewalInfo", try identity.sign(Array(renewalInfo.utf8))) }
            if let status { json.member("status", number: status) }
            if let consumptionReason { json.member("consumptionRequestReason", consumptionReason) }
            json.endObject()
        }
        json.member("version", "2.0")
        json.member("signedDate", number: date)
        json.endObject()
        return try identity.sign(json.bytes)
    }
}

extension NotificationContent {
    /// Creates the content for news of a subscription.
    /// - Parameters:
    ///   - snapshot: the state of the subscription when the news was written.
    ///   - transaction: the transaction of the news; nil for the last period.
    ///   - customer: the customer in the app.
    init(
        _ news: SubscriptionNews, of subscription: Subscription, _ snapshot: SubscriptionSnapshot,
        _ transaction: Transaction?, _ customer: AppCustomer, _ environment: StoreEnvironment
    ) {
        let id = customer.appTransactionID
        let info =
            transaction.map { $0.payload(environment, signedDate: news.date, id) }
            ?? snapshot.transactionPayload(signedDate: news.date, appTransactionID: id)
        let renewal = snapshot.renewalPayload(signedDate: news.date, appTransactionID: id)
        self.init(
            type: news.type.rawValue, subtype: news.subtype?.rawValue, bundleID: subscription.bundleID,
            date: news.date, accountID: subscription.accountID,
            originalTransactionID: subscription.originalTransactionID, transactionID: news.transactionID,
            status: Int64(snapshot.status), consumptionReason: news.consumptionReason?.rawValue,
            transactionInfo: String(decoding: info, as: UTF8.self),
            renewalInfo: String(decoding: renewal, as: UTF8.self), bundleVersion: customer.bundleVersion)
    }

    /// Creates the content for a transaction without renewals.
    /// - Parameter customer: the customer in the app.
    init(
        _ type: String, _ transaction: Transaction, at date: Int64, _ customer: AppCustomer,
        _ environment: StoreEnvironment
    ) {
        self.init(
            type: type, bundleID: transaction.bundleID, date: date, accountID: transaction.accountID,
            originalTransactionID: transaction.originalTransactionID, transactionID: transaction.transactionID,
            transactionInfo: String(
                decoding: transaction.payload(environment, signedDate: date, customer.appTransactionID),
                as: UTF8.self),
            bundleVersion: customer.bundleVersion)
    }
}

extension Transaction {
    /// Apple's `JWSTransactionDecodedPayload` as JSON.
    fileprivate func payload(
        _ environment: StoreEnvironment, signedDate: Int64, _ customer: AppTransactionID?
    ) -> [UInt8] {
        var json = JSONBytes(capacity: 1_536)
        json.beginObject()
        writePayload(environment, signedDate: signedDate, appTransactionID: customer, to: &json)
        json.endObject()
        return json.bytes
    }
}
