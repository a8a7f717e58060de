import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// `verifyReceipt` of receipts in the manner of iOS 6.
@Suite(.timeLimit(.minutes(1))) struct TransactionReceiptAnswerTests {
    private func receipt(_ test: TestStore, _ transactionID: TransactionID, _ account: Account) async throws -> [UInt8]
    {
        try await test.store.transactionReceipt(transactionID, TestStore.receiptRequest, for: account)
    }

    @Test(arguments: Backend.available)
    func noNewReceiptIsMadeForWhatIsUsedUpOrGivenBack(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let credits = try await test.buy("credits5", by: account).transactionID
            let season = try await test.buy("season", by: account).transactionID
            let hats = try await test.buy("hats", by: account).transactionID
            for id in [credits, season, hats] {
                #expect(try await refusal { try await receipt(test, id, account) } == nil)
                try await test.store.finish(id, of: account)
            }
            #expect(try await refusal { try await receipt(test, credits, account) } == .wrongState)
            #expect(try await refusal { try await receipt(test, season, account) } == nil)
            let restored = try await test.store.restore(
                RestoreRequest(
                    idempotencyKey: UUID(), bundleID: TestStore.bundleID, deviceID: TestStore.device,
                    applicationUsername: nil, after: nil), for: account
            ).transactions.map(\.transactionID)
            #expect(restored.count == 1)
            for id in restored + [hats] { #expect(try await refusal { try await receipt(test, id, account) } == nil) }
            _ = try await test.store.refund(hats, reason: .app)
            for id in restored + [hats] {
                #expect(try await refusal { try await receipt(test, id, account) } == .wrongState)
            }
        }
    }

    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func aPurchaseIsAnsweredFlat(_ backend: Backend, _ environment: StoreEnvironment) async throws {
        try await backend.withStore(environment) { test async throws in
            let account = try await test.account()
            let credits = try await test.buy("credits5", by: account, quantity: 2)
            let bytes = try await receipt(test, credits.transactionID, account)
            // Also once finished: the receipt is of the transaction, not of the queue.
            try await test.store.finish(credits.transactionID, of: account)
            let answer = try await test.verify(bytes)
            #expect(answer.status == 0 && Set(answer.object.keys) == ["status", "receipt"])
            #expect(answer.receipt.values.allSatisfy { $0 is String })
            let id = credits.transactionID.description
            let expected = [
                "quantity": "2", "product_id": "credits5", "transaction_id": id, "original_transaction_id": id,
                "bid": "com.example.monkeys", "bvrs": "7", "unique_vendor_identifier": TestStore.device.uuidString,
            ]
            for (name, value) in expected { #expect(answer.receipt[name] as? String == value, "\(name)") }
            #expect(try dateForms(answer.receipt, "purchase_date") == TestClock.start)
            #expect(try dateForms(answer.receipt, "original_purchase_date") == TestClock.start)
            let isProduction = environment == .production
            for name in ["app_item_id", "version_external_identifier"] {
                #expect((answer.receipt[name] != nil) == isProduction, "\(name)")
            }
            #expect(answer.receipt["expires_date"] == nil && answer.receipt["web_order_line_item_id"] == nil)
        }
    }

    @Test(arguments: Backend.available) func aSubscriptionIsAnsweredWithItsLatestPeriod(_ backend: Backend) async throws
    {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let club = try await test.buy("club.monthly", by: account)
            let first = try await receipt(test, club.transactionID, account)
            let renewal = try await test.renew(club.transactionID)
            let answer = try await test.verify(first, password: test.sharedSecret)
            #expect(
                Set(answer.object.keys) == [
                    "status", "receipt", "latest_receipt", "latest_receipt_info", "auto_renew_status",
                    "auto_renew_product_id",
                ])
            #expect(answer.status == 0 && answer.object["auto_renew_status"] as? Int == 1)
            #expect(!(answer.object["auto_renew_status"] is String))
            #expect(answer.object["auto_renew_product_id"] as? String == "club.monthly")
            // Here the plain name is in milliseconds, and the readable forms have names of their own.
            #expect(answer.receipt["expires_date"] as? String == club.expiresDate.map { String($0) })
            #expect((answer.receipt["expires_date_formatted"] as? String)?.hasSuffix(" Etc/GMT") == true)
            #expect(
                (answer.receipt["expires_date_formatted_pst"] as? String)?.hasSuffix(" America/Los_Angeles") == true)
            #expect(answer.receipt["is_trial_period"] as? String == "true")
            let latest = try #require(answer.object["latest_receipt_info"] as? [String: Any])
            #expect(latest["transaction_id"] as? String == renewal.transactionID.description)
            #expect(latest["original_transaction_id"] as? String == club.transactionID.description)
            #expect(latest["expires_date"] as? String == renewal.expiresDate.map { String($0) })
            let next = try await test.verify(try #require(answer.latestReceipt), password: test.sharedSecret)
            #expect(next.status == 0 && next.receipt["transaction_id"] as? String == renewal.transactionID.description)
        }
    }

    @Test(arguments: Backend.available) func anExpiredSubscriptionIs21006AndStillDecoded(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let club = try await test.buy("club.monthly", by: account)
            let bytes = try await receipt(test, club.transactionID, account)
            test.clock.milliseconds = try #require(club.expiresDate) - 1
            #expect(try await test.verify(bytes, password: test.sharedSecret).status == 0)
            try await test.cancelSubscriptions(of: account)
            test.clock.milliseconds += 1
            let answer = try await test.verify(bytes, password: test.sharedSecret)
            #expect(answer.status == 21006)
            #expect(
                Set(answer.object.keys) == [
                    "status", "receipt", "latest_expired_receipt_info", "auto_renew_status", "auto_renew_product_id",
                    "expiration_intent", "is_in_billing_retry_period",
                ])
            #expect(
                answer.object["auto_renew_status"] as? Int == 0 && answer.object["expiration_intent"] as? String == "1")
            #expect(answer.receipt["product_id"] as? String == "club.monthly")
            // Who subscribes again makes the old receipt good again.
            try await test.buy("club.monthly", by: account)
            #expect(try await test.verify(bytes, password: test.sharedSecret).status == 0)
            // Anything else never expires so.
            let hats = try await test.buy("hats", by: account)
            #expect(try await test.verify(try await receipt(test, hats.transactionID, account)).status == 0)
        }
    }

    @Test(arguments: Backend.available) func aRefundedSubscriptionHasNoLatestReceipt(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let club = try await test.buy("club.monthly", by: account)
            let bytes = try await receipt(test, club.transactionID, account)
            _ = try await test.store.refund(club.transactionID, reason: .app)
            let answer = try await test.verify(bytes, password: test.sharedSecret)
            #expect(answer.status == 0 && answer.latestReceipt == nil)
            #expect(answer.object["auto_renew_status"] as? Int == 0)
            let latest = try #require(answer.object["latest_receipt_info"] as? [String: Any])
            #expect(try dateForms(latest, "cancellation_date") == TestClock.start)
            #expect(latest["cancellation_reason"] as? String == "1")
            let app = try await test.verify(test.appReceipt(account), password: test.sharedSecret)
            #expect(app.pending.map { $0["auto_renew_status"] as? String } == ["0"])
            #expect(app.pending.map { $0["expiration_intent"] as? String } == [nil])
        }
    }

    @Test(arguments: Backend.available) func unsignedFieldsHaveNoEffect(_ backend: Backend) async throws {
        try await backend.withStore(.sandbox) { sandbox async throws in
            try await backend.withStore(.production) { production async throws in
                let account = try await sandbox.account()
                let hats = try await sandbox.buy("hats", by: account)
                let text = String(decoding: try await receipt(sandbox, hats.transactionID, account), as: UTF8.self)
                let line = "\t\"environment\" = \"Sandbox\";\n"
                try #require(text.contains(line))
                for change in ["", "\t\"environment\" = \"Production\";\n"] {
                    let changed = Array(text.replacing(line, with: change).utf8)
                    #expect(try await production.verify(changed).text == #"{"status":21007}"#)
                    #expect(try await sandbox.verify(changed).status == 0)
                }
            }
        }
    }
}
