import CornerstoreEncoding
import Foundation
import StoreReceipts
import StoreWire

extension NotificationContent {
    /// The members of `signedRenewalInfo` that version 1 has too.
    private struct RenewalInfo: Decodable {
        let autoRenewProductId: String
        let autoRenewStatus: Int
        let expirationIntent: Int64?
    }

    /// The members of `signedTransactionInfo` that version 1 has too.
    private struct TransactionInfo: Decodable {
        let webOrderLineItemId: String?
        let revocationDate: Int64?
    }

    /// A notification of version 1 about the same event.
    func told(as type: NotificationTypeV1) -> NotificationContent {
        var told = self
        told.notificationID = UUID().text.lowercased()
        told.version = .one
        told.type = type.rawValue
        told.subtype = nil
        return told
    }

    /// The body of a notification of version 1, Apple's `responseBodyV1`, without `password`.
    /// - Parameters:
    ///   - receipt: the customer's purchases; nil to leave them out, when the account is gone.
    ///   - itemID: returns the number of a product of the app; nil when it is not known.
    func bodyOfVersion1(
        _ environment: StoreEnvironment, _ receipt: UnifiedReceipt?, itemID: (ProductID) -> Int64?
    ) -> String {
        let receipt = receipt?.json ?? []
        var json = JSONBytes(capacity: receipt.count + 1_024)
        json.beginObject()
        json.member("notification_type", type)
        json.member("environment", environment == .sandbox ? "Sandbox" : "PROD")
        json.member("bid", bundleID.rawValue)
        json.member("bvrs", bundleVersion ?? ReceiptIssuer.originalApplicationVersion)
        if let originalTransactionID {
            json.member("original_transaction_id", number: originalTransactionID.rawValue)
        }
        if let renewal = Self.decoded(RenewalInfo.self, renewalInfo) {
            json.member("auto_renew_product_id", renewal.autoRenewProductId)
            if let number = itemID(ProductID(renewal.autoRenewProductId)) {
                json.member("auto_renew_adam_id", quotedNumber: number)
            }
            json.member("auto_renew_status", quotedFlag: renewal.autoRenewStatus == 1)
            if type == NotificationTypeV1.renewalStatus.rawValue {
                json.members(ofDate: "auto_renew_status_change_date", date)
            }
            if let intent = renewal.expirationIntent { json.member("expiration_intent", number: intent) }
        }
        if type == NotificationTypeV1.cancel.rawValue,
            let transaction = Self.decoded(TransactionInfo.self, transactionInfo)
        {
            if let id = transaction.webOrderLineItemId { json.member("web_order_line_item_id", id) }
            if let date = transaction.revocationDate { json.members(ofDate: "cancellation_date", date) }
        }
        if !receipt.isEmpty { json.append(Array(#","unified_receipt":"#.utf8) + receipt) }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Reads a payload that the store wrote.
    private static func decoded<Value: Decodable>(_ type: Value.Type, _ payload: String?) -> Value? {
        payload.flatMap { try? JSONDecoder().decode(type, from: Data($0.utf8)) }
    }
}

extension JSONBytes {
    /// A date in the three forms of receipts: `name`, `name_ms` and `name_pst`.
    fileprivate mutating func members(ofDate name: String, _ milliseconds: Int64) {
        let date = ReceiptDate(milliseconds: milliseconds)
        member(named: name, date.gmt)
        member(named: name + "_ms", date.millisecondsText)
        member(named: name + "_pst", date.pacific)
    }
}
