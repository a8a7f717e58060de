import Foundation
import StoreWire
import Testing

@testable import StoreReceipts

/// The answers to transaction receipts, which differ from the others in nearly every type.
@Suite(.timeLimit(.minutes(1))) struct VerifyReceiptTransactionResponseTests {
    static let subscription = TransactionReceipt(
        quantity: 1, productID: "yearly", transactionID: "1000000181298734", originalTransactionID: "1000000180636226",
        bundleID: "com.mbaasy.ios.demo", bundleVersion: "1", purchaseDate: ReceiptDate(milliseconds: 1_447_821_281_000),
        originalPurchaseDate: ReceiptDate(milliseconds: 1_447_778_081_000), itemID: "1028950797",
        expiresDate: ReceiptDate(milliseconds: 1_448_346_881_000), webOrderLineItemID: "1000000030938713"
    )

    private func object(_ response: TransactionReceiptResponse) throws -> [String: Any] {
        let json = VerifyReceiptResponse.transactionReceipt(response).json
        return try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
    }

    static let members = [
        "quantity": "1", "product_id": "yearly", "transaction_id": "1000000181298734",
        "original_transaction_id": "1000000180636226",
        "bid": "com.mbaasy.ios.demo", "bvrs": "1", "item_id": "1028950797",
        "web_order_line_item_id": "1000000030938713",
        "purchase_date": "2015-11-18 04:34:41 Etc/GMT", "purchase_date_ms": "1447821281000",
        "purchase_date_pst": "2015-11-17 20:34:41 America/Los_Angeles",
        "original_purchase_date": "2015-11-17 16:34:41 Etc/GMT",
        "original_purchase_date_ms": "1447778081000",
        "original_purchase_date_pst": "2015-11-17 08:34:41 America/Los_Angeles",
        "expires_date": "1448346881000", "expires_date_formatted": "2015-11-24 06:34:41 Etc/GMT",
        "expires_date_formatted_pst": "2015-11-23 22:34:41 America/Los_Angeles",
    ]

    @Test func aPurchaseHasOnlyReceiptAndStatus() throws {
        let body = try object(TransactionReceiptResponse(receipt: Self.subscription, subscription: nil))
        #expect(Set(body.keys) == ["receipt", "status"])
        #expect(body["receipt"] as? [String: String] == Self.members)
        #expect(body["status"] as? Int == 0)
    }

    @Test func aLiveSubscriptionHasItsLatestReceiptAsAnObject() throws {
        let subscription = TransactionReceiptResponse.Subscription(
            latest: Self.subscription, isExpired: false, latestReceipt: Array("{}".utf8), autoRenewStatus: true,
            autoRenewProductID: "yearly"
        )
        let response = TransactionReceiptResponse(receipt: Self.subscription, subscription: subscription)
        let body = try object(response)
        #expect(
            Set(body.keys) == [
                "receipt", "status", "latest_receipt", "latest_receipt_info", "auto_renew_status",
                "auto_renew_product_id",
            ]
        )
        #expect(body["latest_receipt_info"] as? [String: String] == Self.members)
        #expect(body["latest_receipt"] as? String == "e30=")
        #expect(body["status"] as? Int == 0)
        // A number here, a string in the answer to an app receipt.
        let json = String(decoding: VerifyReceiptResponse.transactionReceipt(response).json, as: UTF8.self)
        #expect(json.contains(#""auto_renew_status":1,"#))
    }

    @Test func anExpiredSubscriptionIs21006AndStillAnswered() throws {
        let subscription = TransactionReceiptResponse.Subscription(
            latest: Self.subscription, isExpired: true, latestReceipt: nil, autoRenewStatus: false,
            autoRenewProductID: "yearly",
            expirationIntent: .cancelled, isInBillingRetryPeriod: false
        )
        let response = TransactionReceiptResponse(receipt: Self.subscription, subscription: subscription)
        #expect(VerifyReceiptResponse.transactionReceipt(response).status == .subscriptionExpired)
        let body = try object(response)
        #expect(
            Set(body.keys) == [
                "receipt", "status", "latest_expired_receipt_info", "auto_renew_status", "auto_renew_product_id",
                "expiration_intent",
                "is_in_billing_retry_period",
            ]
        )
        #expect(body["status"] as? Int == 21_006)
        #expect(body["latest_expired_receipt_info"] as? [String: String] == Self.members)
        #expect(body["auto_renew_status"] as? Int == 0)
        #expect(body["expiration_intent"] as? String == "1")
        #expect(body["is_in_billing_retry_period"] as? String == "0")
    }

    @Test func unknownKeysAreAnswered() throws {
        var receipt = Self.subscription
        receipt.otherEntries = [
            .init(key: "in-app-ownership-type", value: "PUR\"CHASED"), .init(key: "quantity", value: "9"),
        ]
        let body = try object(TransactionReceiptResponse(receipt: receipt, subscription: nil))
        let members = try #require(body["receipt"] as? [String: String])
        #expect(members["in_app_ownership_type"] == "PUR\"CHASED")
        #expect(members["quantity"] == "1")
    }
}
