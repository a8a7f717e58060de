import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("Samples of notifications", .timeLimit(.minutes(1))) struct NotificationSampleTests {
    /// An outbox of a store whose app has a receiver.
    private static func outbox(_ test: TestStore) async throws -> NotificationOutbox {
        let identity = try await TestAuthority.value.jwsIdentity(for: test.store.environment)
        try await test.store.apps.setNotificationReceiver(
            try NotificationReceiver(url: "https://example.com/apple"), of: TestStore.bundleID,
            in: test.store.environment)
        return NotificationOutbox(test.store) { identity }
    }

    /// The payload of a signed text.
    private static func payload(_ signed: Any?) throws -> [String: Any] {
        let json = try SignedPayload.parse(Array(try #require(signed as? String).utf8)).payload
        return try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
    }

    /// Sends a sample and returns its payload.
    private static func sent(_ sample: NotificationSample, _ outbox: NotificationOutbox) async throws -> [String: Any] {
        let written = try await outbox.sendSample(of: sample.type, sample.subtype, to: TestStore.bundleID)
        #expect(written.isSample && written.transactionID == nil && written.state == .waiting)
        let due = try await outbox.due(of: TestStore.bundleID, limit: 100)
        let notification = try #require(due.first { $0.number == written.number })
        #expect(notification.isSample)
        let date = outbox.store.clock.milliseconds
        try await outbox.record(SendAttempt(date: date, result: .success), of: notification)
        let payload = try Self.payload(notification.signedPayload)
        #expect(payload["notificationType"] as? String == sample.type)
        #expect(payload["subtype"] as? String == sample.subtype)
        #expect(payload["notificationUUID"] as? String == written.notificationID)
        #expect(payload["signedDate"] as? Int == Int(date) && payload["version"] as? String == "2.0")
        return payload
    }

    /// Why the outbox does not send a sample; nil if it does.
    private static func refusal(
        _ type: String, _ subtype: String?, _ outbox: NotificationOutbox
    ) async throws -> StoreError? {
        do {
            _ = try await outbox.sendSample(of: type, subtype, to: TestStore.bundleID)
            return nil
        } catch let error as StoreError {
            return error
        }
    }

    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func eachSampleHasApplesForm(_ backend: Backend, _ environment: StoreEnvironment) async throws {
        try await backend.withStore(environment) { test async throws in
            let outbox = try await Self.outbox(test)
            let parts = ["data", "summary", "externalPurchaseToken", "appData", "unclaimInfo"]
            for sample in NotificationSample.all {
                let payload = try await Self.sent(sample, outbox)
                let found = parts.filter { payload[$0] != nil }
                let expected =
                    switch sample.form {
                    case .externalPurchase: "externalPurchaseToken"
                    case .appTransaction: "appData"
                    case .advancedCommerce, .seats: "data"
                    case .unclaimedSeats: "unclaimInfo"
                    }
                #expect(found == [expected], "\(sample)")
                let part = try #require(payload[expected] as? [String: Any])
                #expect(part["bundleId"] as? String == TestStore.bundleID.rawValue)
                if case .externalPurchase = sample.form {
                    let id = try #require(part["externalPurchaseId"] as? String)
                    #expect(id.hasPrefix("SANDBOX_") == (environment == .sandbox))
                    continue
                }
                #expect(part["environment"] as? String == environment.rawValue)
                #expect((part["appAppleId"] != nil) == (environment == .production))
                if sample.form == .appTransaction {
                    let transaction = try Self.payload(part["signedAppTransactionInfo"])
                    #expect(transaction["bundleId"] as? String == TestStore.bundleID.rawValue)
                }
                guard expected == "data" else { continue }
                let transaction = try Self.payload(part["signedTransactionInfo"])
                let renewal = try Self.payload(part["signedRenewalInfo"])
                // A made-up period gives no access.
                #expect(transaction["expiresDate"] as? Int == payload["signedDate"] as? Int)
                #expect(transaction["transactionId"] as? String == renewal["originalTransactionId"] as? String)
                #expect(part["status"] as? Int == 1)
                #expect((transaction["advancedCommerceInfo"] != nil) == (sample.form == .advancedCommerce))
                #expect((renewal["advancedCommerceInfo"] != nil) == (sample.form == .advancedCommerce))
                #expect((renewal["renewalQuantity"] != nil) == (sample.form == .seats))
            }
            #expect(try await test.store.newsFeed().isEmpty)
            #expect(try await outbox.list(NotificationFilter()).rows.allSatisfy(\.isSample))
        }
    }

    @Test(arguments: Backend.available)
    func advancedCommerceIsOfTheFirstSubscription(_ backend: Backend) async throws {
        try await backend.withStore(.sandbox) { test async throws in
            let bought = try await test.buy("gym.monthly", by: try await test.account("anna@example.com"))
            try await test.buy("gym.monthly", by: try await test.account("ben@example.com"))
            let outbox = try await Self.outbox(test)
            let sample = try NotificationSample.named("PRICE_CHANGE", nil)
            let data = try #require(try await Self.sent(sample, outbox)["data"] as? [String: Any])
            let transaction = try Self.payload(data["signedTransactionInfo"])
            #expect(transaction["transactionId"] as? String == bought.transactionID.description)
            let info = try #require(transaction["advancedCommerceInfo"] as? [String: Any])
            let item = try #require((info["items"] as? [[String: Any]])?.first)
            #expect(item["price"] as? Int == transaction["price"] as? Int)
        }
    }

    @Test func typesWithACauseAreRefusedWithTheCommand() async throws {
        try await Backend.sqlite.withStore(.sandbox) { test async throws in
            let outbox = try await Self.outbox(test)
            for cause in NotificationSample.causes {
                let error = try #require(try await Self.refusal(cause.type, cause.subtype, outbox))
                #expect(error.code == .invalidRequest && error.detail.contains("cornerstore \(cause.command)"))
            }
            // The command line needs all of it.
            let increase = try await Self.refusal("PRICE_INCREASE", "PENDING", outbox)
            #expect(increase?.detail.contains("add PRODUCT PRICE --account ACCOUNT”") == true)
            for (type, subtype) in [
                ("REFUND_DECLINED", "X"), ("MIGRATION", "X"), ("EXTERNAL_PURCHASE_TOKEN", nil), ("", nil),
                ("unclaim_seats", nil),
            ] as [(String, String?)] {
                let error = try #require(try await Self.refusal(type, subtype, outbox))
                #expect(error.detail.contains("RESCIND_CONSENT"), "\(type)")
            }
            #expect(try await test.count("notifications") == 0)
        }
    }

    /// Each type and subtype that Apple lists has a sample or a cause.
    @Test func everyTypeIsASampleOrHasACause() {
        let types = NotificationSample.all.map(\.type) + NotificationSample.causes.map(\.type)
        #expect(Set(types) == NotificationWord.types)
        let subtypes = NotificationSample.all.compactMap(\.subtype) + NotificationSample.causes.compactMap(\.subtype)
        #expect(Set(subtypes) == NotificationWord.subtypes)
        for sample in NotificationSample.all {
            #expect(!NotificationSample.causes.contains { ($0.type, $0.subtype) == (sample.type, sample.subtype) })
        }
    }
}
