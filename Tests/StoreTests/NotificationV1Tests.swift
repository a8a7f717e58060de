import Database
import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// A store whose app receives notifications of version 1.
private struct TestOutboxV1 {
    let test: TestStore
    let outbox: NotificationOutbox
    let api: ServerAPI

    init(_ test: TestStore) async throws {
        self.test = test
        let identity = try await TestAuthority.value.jwsIdentity(for: test.store.environment)
        outbox = NotificationOutbox(test.store) { identity }
        api = ServerAPI(
            test.store, identity: { identity }, keys: try await APIKeys.open(test.databases),
            realTime: test.clock.now)
        try await set(.one)
    }

    func set(_ version: NotificationVersion) async throws {
        try await test.store.apps.setNotificationReceiver(
            try NotificationReceiver(url: "https://example.com/apple", version: version), of: TestStore.bundleID,
            in: test.store.environment)
    }

    func due() async throws -> [OutgoingNotification] {
        try await outbox.due(of: TestStore.bundleID, limit: 100)
    }

    @discardableResult
    func record(
        _ result: SendAttemptResult, of notification: OutgoingNotification
    ) async throws -> ServerNotification.State? {
        try await outbox.record(
            SendAttempt(date: test.store.clock.milliseconds, result: result), of: notification)
    }

    /// Sends everything that is due, and gives the bodies in the order of what happened.
    @discardableResult
    func send(_ result: SendAttemptResult = .success) async throws -> [[String: Any]] {
        var sent: [OutgoingNotification] = []
        while true {
            let due = try await due()
            guard !due.isEmpty else { break }
            for notification in due { try await record(result, of: notification) }
            sent += due
        }
        return try sent.sorted { $0.number < $1.number }.map { notification in
            let body = try #require(
                try JSONSerialization.jsonObject(with: Data(notification.body(password: test.sharedSecret).utf8))
                    as? [String: Any])
            #expect(body["notification_type"] as? String == notification.type)
            return body
        }
    }

    /// Sends everything that is due, and gives the types.
    func types() async throws -> [String] { try await send().compactMap { $0["notification_type"] as? String } }

    func advance(hours: Int64) async throws {
        try await test.store.changeClock { try $0.advance(by: hours * 3_600_000) }
    }
}

extension Backend {
    fileprivate func withOutboxV1(
        _ environment: StoreEnvironment = .sandbox, processor: (any PaymentProcessor)? = nil,
        _ body: (TestOutboxV1) async throws -> Void
    ) async throws {
        try await withStore(environment, processor: processor) { try await body(try await TestOutboxV1($0)) }
    }
}

/// The rows of a `unified_receipt`.
private func rows(_ body: [String: Any], _ name: String = "latest_receipt_info") throws -> [[String: Any]] {
    let unified = try #require(body["unified_receipt"] as? [String: Any])
    return try #require(unified[name] as? [[String: Any]])
}

private func sameJSON(_ left: [[String: Any]], _ right: [[String: Any]]) throws -> Bool {
    try JSONSerialization.data(withJSONObject: left, options: .sortedKeys)
        == JSONSerialization.data(withJSONObject: right, options: .sortedKeys)
}

@Suite("Notifications of version 1", .timeLimit(.minutes(1))) struct NotificationV1Tests {
    // MARK: The table

    /// Apple's table of `notification_type`, by the words of version 2.
    private static let table: [(event: NotificationEvent, types: [NotificationTypeV1])] = [
        (event("SUBSCRIBED", "INITIAL_BUY"), [.initialBuy]),
        (event("SUBSCRIBED", "RESUBSCRIBE"), [.renewalStatus]),
        (
            NotificationEvent(
                type: "SUBSCRIBED", subtype: "RESUBSCRIBE", kind: .autoRenewableSubscription,
                isOtherProduct: true),
            [.interactiveRenewal, .renewalStatus]
        ),
        (event("DID_RENEW"), [.renewed]),
        (event("DID_RENEW", "BILLING_RECOVERY"), [.recovered]),
        (event("DID_CHANGE_RENEWAL_PREF", "UPGRADE"), [.renewalStatus, .interactiveRenewal]),
        (event("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE"), [.renewalPreference]),
        (event("DID_CHANGE_RENEWAL_PREF"), [.renewalPreference]),
        (event("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED"), [.renewalStatus]),
        (event("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"), [.renewalStatus]),
        (event("OFFER_REDEEMED", "UPGRADE"), [.renewalStatus, .interactiveRenewal]),
        (event("OFFER_REDEEMED", "DOWNGRADE"), [.renewalPreference]),
        (event("OFFER_REDEEMED"), []),
        (event("DID_FAIL_TO_RENEW"), [.failedToRenew]),
        (event("DID_FAIL_TO_RENEW", "GRACE_PERIOD"), [.failedToRenew]),
        (event("GRACE_PERIOD_EXPIRED"), []),
        (event("EXPIRED", "BILLING_RETRY"), [.renewalStatus]),
        (
            NotificationEvent(
                type: "EXPIRED", subtype: "BILLING_RETRY", kind: .autoRenewableSubscription, isCancelled: true),
            []
        ),
        (event("EXPIRED", "VOLUNTARY"), []), (event("EXPIRED", "PRICE_INCREASE"), []),
        (event("EXPIRED", "PRODUCT_NOT_FOR_SALE"), []), (event("EXPIRED"), []),
        (event("PRICE_INCREASE", "PENDING"), [.priceIncreaseConsent]),
        (event("PRICE_INCREASE", "ACCEPTED"), []),
        (event("REFUND"), [.cancel]),
        (event("REFUND", kind: .consumable), [.refund]), (event("REFUND", kind: .nonConsumable), [.refund]),
        (event("REFUND", kind: .nonRenewingSubscription), [.refund]),
        (event("REFUND_DECLINED"), []), (event("REFUND_REVERSED"), []), (event("REVOKE"), [.revoked]),
        (event("REVOKE", kind: .nonConsumable), [.revoked]),
        (event("CONSUMPTION_REQUEST"), []),
        (event("CONSUMPTION_REQUEST", kind: .consumable), [.consumptionRequest]),
        (event("RENEWAL_EXTENDED"), []), (event("RENEWAL_EXTENSION", "FAILURE"), []),
        (event("RENEWAL_EXTENSION", "SUMMARY"), []), (event("ONE_TIME_CHARGE", kind: .consumable), []),
        (event("TEST"), []),
    ]

    private static func event(
        _ type: String, _ subtype: String? = nil, kind: ProductKind = .autoRenewableSubscription
    ) -> NotificationEvent {
        NotificationEvent(type: type, subtype: subtype, kind: kind)
    }

    @Test func eachEventHasItsTypes() {
        for (event, types) in Self.table {
            #expect(event.typesOfVersion1 == types, "\(event)")
        }
        // Every type has an event, and every event of subscriptions is in the table.
        #expect(Set(Self.table.flatMap { $0.types }) == Set(NotificationTypeV1.allCases))
        let types = Set(Self.table.map { $0.event.type })
        #expect(types.isSuperset(of: SubscriptionNews.Kind.allCases.map(\.rawValue)))
    }

    @Test func membersOfAFamilyAreNotToldOfPayments() {
        let never: Set<NotificationTypeV1> = [
            .cancel, .consumptionRequest, .initialBuy, .priceIncreaseConsent, .refund,
        ]
        for (event, types) in Self.table where event.kind != .consumable {
            var shared = event
            shared.isShared = true
            #expect(shared.typesOfVersion1 == types.filter { !never.contains($0) }, "\(event)")
        }
    }

    // MARK: Bodies

    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func theBodySaysWhatVerifyReceiptSays(_ backend: Backend, _ environment: StoreEnvironment) async throws {
        try await backend.withOutboxV1(environment) { box async throws in
            let bought = try await box.test.buy("club.monthly", by: box.test.account())
            _ = try await box.test.store.setAutoRenew(false, of: bought.transactionID)
            let sent = try await box.send()
            #expect(sent.count == 2)
            let item = box.test.store.catalog.value.product("club.monthly", of: TestStore.bundleID)?.itemID
            for (index, body) in sent.enumerated() {
                #expect(body["environment"] as? String == (environment == .sandbox ? "Sandbox" : "PROD"))
                #expect(body["password"] as? String == box.test.sharedSecret && !box.test.sharedSecret.isEmpty)
                #expect(body["bid"] as? String == TestStore.bundleID.rawValue && body["bvrs"] as? String == "1.0")
                #expect(body["original_transaction_id"] as? Int == Int(bought.transactionID.rawValue))
                #expect(body["auto_renew_product_id"] as? String == "club.monthly")
                #expect(body["auto_renew_adam_id"] as? String == item.map { String($0) })
                // Each says what was so when it happened.
                #expect(body["auto_renew_status"] as? String == (index == 0 ? "true" : "false"))
                let unified = try #require(body["unified_receipt"] as? [String: Any])
                #expect(
                    Set(unified.keys) == [
                        "status", "environment", "latest_receipt", "latest_receipt_info", "pending_renewal_info",
                    ])
                #expect(unified["status"] as? Int == 0)
                #expect(unified["environment"] as? String == environment.rawValue)
                let text = try #require(unified["latest_receipt"] as? String)
                let receipt = [UInt8](try #require(Data(base64Encoded: text)))
                let answer = try await box.test.verify(receipt, password: box.test.sharedSecret)
                #expect(answer.status == 0 && answer.inApp.count == 1)
                #expect(try sameJSON(try rows(body), answer.latest))
                #expect(try sameJSON(try rows(body, "pending_renewal_info"), answer.pending))
            }
            #expect(sent.map { $0["notification_type"] as? String } == ["INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS"])
            #expect(sent[0]["auto_renew_status_change_date"] == nil && sent[0]["expiration_intent"] == nil)
            let changed = try dateForms(sent[1], "auto_renew_status_change_date")
            #expect(changed == box.test.store.clock.milliseconds)
        }
    }

    @Test(arguments: Backend.available) func aRefundedPeriodIsCancelled(_ backend: Backend) async throws {
        try await backend.withOutboxV1 { box async throws in
            let bought = try await box.test.buy("gym.monthly", by: box.test.account())
            try await box.send()
            try await box.advance(hours: 1)
            _ = try await box.test.store.refund(bought.transactionID, reason: .app)
            let sent = try await box.send()
            #expect(sent.map { $0["notification_type"] as? String } == ["CANCEL", "DID_CHANGE_RENEWAL_STATUS"])
            let refunded = try #require(try await box.test.ledger().first)
            #expect(try dateForms(sent[0], "cancellation_date") == refunded.revokedAt)
            #expect(
                sent[0]["web_order_line_item_id"] as? String == refunded.webOrderLineItemID.map { String($0) })
            #expect(try rows(sent[0])[0]["cancellation_reason"] as? String == "1")
            #expect(sent[1]["cancellation_date"] == nil && sent[1]["auto_renew_status"] as? String == "false")
        }
    }

    @Test(arguments: Backend.available)
    func productsThatDoNotRenewAreReportedWhenTheyAreRefunded(_ backend: Backend) async throws {
        try await backend.withOutboxV1 { box async throws in
            let account = try await box.test.account()
            let credits = try await box.test.buy("credits5", by: account)
            let hats = try await box.test.buy("hats", by: account)
            try await box.test.store.finish(credits.transactionID, of: account)
            #expect(try await box.send().isEmpty)
            _ = try await box.test.store.requestRefund(of: credits.transactionID, reason: .unintendedPurchase)
            #expect(try await box.types() == ["CONSUMPTION_REQUEST"])
            _ = try await box.test.store.refund(hats.transactionID, reason: .other)
            _ = try await box.test.store.refund(credits.transactionID, reason: .other)
            let sent = try await box.send()
            #expect(sent.map { $0["notification_type"] as? String } == ["REFUND", "REFUND"])
            for (body, transaction) in zip(sent, [hats, credits]) {
                #expect(body["original_transaction_id"] as? Int == Int(transaction.transactionID.rawValue))
                #expect(body["auto_renew_status"] == nil && body["auto_renew_product_id"] == nil)
                // Also the consumable that was finished is there, because nothing else tells what was refunded.
                let row = try rows(body).first {
                    $0["transaction_id"] as? String == transaction.transactionID.description
                }
                #expect(row?["cancellation_reason"] as? String == "0")
                #expect(try rows(body, "pending_renewal_info").isEmpty)
            }
        }
    }

    @Test(arguments: Backend.available) func aFamilyIsToldOfEachMember(_ backend: Backend) async throws {
        try await backend.withHousehold { home async throws in
            let box = try await TestOutboxV1(home.test)
            let bought = try await home.test.buy("gym.monthly", by: home.anna)
            try await home.advance(days: 40)
            let last = try #require(try await home.ledger(home.anna).last)
            _ = try await home.store.refund(last.transactionID, reason: .app)
            let own = Int(bought.transactionID.rawValue)
            var (annas, bens): ([String], [String]) = ([], [])
            for body in try await box.send() {
                let type = try #require(body["notification_type"] as? String)
                let isOwn = body["original_transaction_id"] as? Int == own
                if isOwn { annas.append(type) } else { bens.append(type) }
                let ownership = try rows(body).first?["in_app_ownership_type"] as? String
                #expect(ownership == (isOwn ? "PURCHASED" : "FAMILY_SHARED"))
            }
            #expect(annas == ["INITIAL_BUY", "DID_RENEW", "CANCEL", "DID_CHANGE_RENEWAL_STATUS"])
            #expect(bens == ["DID_RENEW", "REVOKE", "DID_CHANGE_RENEWAL_STATUS"])
        }
    }

    @Test(arguments: Backend.available) func aUnifiedReceiptHasTheNewest100(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            try await test.buy("credits5", by: test.account())
            let first = try #require(try await test.ledger().first)
            let all = (0..<150).map { index in
                var copy = first
                copy.transactionID = TransactionID(rawValue: first.transactionID.rawValue + Int64(index))
                return PurchaseInformation(copy)
            }
            func shown(_ count: Int, including id: String? = nil) -> [PurchaseInformation] {
                let latest = AppReceiptResponse.Latest(
                    purchases: Array(all.prefix(count)), receipt: [], pendingRenewals: [])
                return UnifiedReceipt(environment: .sandbox, latest: latest, including: id).latest.purchases
            }
            let most = UnifiedReceipt.mostPurchases
            #expect(most == 100)
            for count in [0, 1, most - 1, most] { #expect(shown(count) == Array(all.prefix(count))) }
            for id in [nil, all[0].transactionID, all[most - 1].transactionID, "x"] {
                #expect(shown(150, including: id) == Array(all.prefix(most)))
            }
            #expect(shown(150, including: all[140].transactionID) == Array(all.prefix(most - 1)) + [all[140]])
        }
    }

    // MARK: Lives of subscriptions

    @Test(arguments: Backend.available) func changesOfThePlanAreReported(_ backend: Backend) async throws {
        try await backend.withOutboxV1 { box async throws in
            let (store, account) = (box.test.store, try await box.test.account())
            let original = try await box.test.buy("club.monthly", by: account).originalTransactionID
            #expect(try await box.types() == ["INITIAL_BUY"])
            try await box.advance(hours: 1)
            _ = try await store.changePlan(original, to: "club.yearly")
            #expect(try await box.types() == ["DID_CHANGE_RENEWAL_STATUS", "INTERACTIVE_RENEWAL"])
            for plan in ["club.weekly", "club.yearly"] as [ProductID] {
                try await box.advance(hours: 1)
                _ = try await store.changePlan(original, to: plan)
                let sent = try await box.send()
                #expect(sent.map { $0["notification_type"] as? String } == ["DID_CHANGE_RENEWAL_PREF"])
                #expect(sent.first?["auto_renew_product_id"] as? String == plan.rawValue)
            }
            // The end of a subscription that was cancelled is not reported.
            try await box.advance(hours: 1)
            _ = try await store.expireNow(original)
            #expect(try await box.types() == ["DID_CHANGE_RENEWAL_STATUS"])
            try await box.advance(hours: 1)
            try await box.test.buy("club.yearly", by: account)
            #expect(try await box.types() == ["DID_CHANGE_RENEWAL_STATUS"])
            try await box.advance(hours: 1)
            _ = try await store.expireNow(original)
            try await box.send()
            try await box.advance(hours: 1)
            try await box.test.buy("club.monthly", by: account)
            let sent = try await box.send()
            #expect(
                sent.map { $0["notification_type"] as? String } == ["INTERACTIVE_RENEWAL", "DID_CHANGE_RENEWAL_STATUS"])
            #expect(sent.allSatisfy { $0["original_transaction_id"] as? Int == Int(original.rawValue) })
        }
    }

    @Test(arguments: Backend.available) func overduePaymentsAreReported(_ backend: Backend) async throws {
        try await backend.withOutboxV1 { box async throws in
            let (store, account) = (box.test.store, try await box.test.account())
            let original = try await box.test.buy("gym.monthly", by: account).originalTransactionID
            try await box.send()
            try await box.advance(hours: 1)
            _ = try await store.failRenewal(original)
            let failed = try await box.send()
            #expect(failed.map { $0["notification_type"] as? String } == ["DID_FAIL_TO_RENEW"])
            #expect(failed.first?["expiration_intent"] as? Int == 2)
            try await box.advance(hours: 1)
            _ = try await store.recover(original)
            #expect(try await box.types() == ["DID_RECOVER"])
            try await box.advance(hours: 1)
            _ = try await store.renewNow(original)
            #expect(try await box.types() == ["DID_RENEW"])
            // The store gives up.
            try await box.advance(hours: 1)
            _ = try await store.failRenewal(original)
            try await box.advance(hours: 70 * 24)
            #expect(try await box.types() == ["DID_FAIL_TO_RENEW", "DID_CHANGE_RENEWAL_STATUS"])
        }
    }

    @Test(arguments: Backend.available)
    func aCancellationWithAnOverduePaymentIsReportedOnce(_ backend: Backend) async throws {
        try await backend.withOutboxV1 { box async throws in
            let original = try await box.test.buy("gym.monthly", by: box.test.account()).originalTransactionID
            try await box.send()
            try await box.advance(hours: 1)
            _ = try await box.test.store.failRenewal(original)
            _ = try await box.test.store.setAutoRenew(false, of: original)
            let sent = try await box.send()
            #expect(
                sent.map { $0["notification_type"] as? String } == ["DID_FAIL_TO_RENEW", "DID_CHANGE_RENEWAL_STATUS"])
            #expect(try rows(try #require(sent.last), "pending_renewal_info").isEmpty)
        }
    }

    // MARK: Sending

    @Test(arguments: Backend.available) func aFailureIsRetriedAfter6And24And48Hours(_ backend: Backend) async throws {
        try await backend.withOutboxV1(.production) { box async throws in
            try await box.test.buy("gym.monthly", by: box.test.account())
            var bodies: Set<String> = []
            for hours in [6, 24, 48] as [Int64] {
                let due = try #require(try await box.due().first)
                bodies.insert(due.body(password: box.test.sharedSecret))
                #expect(try await box.record(.timedOut, of: due) == .waiting)
                try await box.test.store.changeClock { try $0.advance(by: hours * 3_600_000 - 1) }
                #expect(try await box.due().isEmpty)
                try await box.test.store.changeClock { try $0.advance(by: 1) }
            }
            let last = try #require(try await box.due().first)
            bodies.insert(last.body(password: box.test.sharedSecret))
            #expect(try await box.record(.unsuccessfulStatus, of: last) == .failed)
            #expect(bodies.count == 1)
            let row = try #require(try await box.outbox.list(NotificationFilter(state: .failed)).rows.first)
            #expect(row.attempts.count == 4 && row.version == .one)
            // On order it is sent again, the same.
            _ = try await box.outbox.resend(row.notificationID)
            #expect(try await box.due().first?.body(password: nil) == last.body(password: nil))
        }
    }

    @Test(arguments: Backend.available) func theSandboxTriesOnce(_ backend: Backend) async throws {
        try await backend.withOutboxV1 { box async throws in
            try await box.test.buy("gym.monthly", by: box.test.account())
            let due = try #require(try await box.due().first)
            #expect(try await box.record(.noResponse, of: due) == .failed)
            #expect(try await box.due().isEmpty)
        }
    }

    @Test(arguments: Backend.available) func theSharedSecretIsNotKept(_ backend: Backend) async throws {
        try await backend.withOutboxV1 { box async throws in
            try await box.test.buy("gym.monthly", by: box.test.account())
            try await box.send()
            let row = try #require(try await box.outbox.list(NotificationFilter()).rows.first)
            let kept = try #require(row.signedPayload)
            #expect(kept.contains("unified_receipt") && !kept.contains("password"))
            #expect(!kept.contains(box.test.sharedSecret))
        }
    }

    @Test(arguments: Backend.available) func aNotificationKeepsItsVersion(_ backend: Backend) async throws {
        try await backend.withOutboxV1 { box async throws in
            let bought = try await box.test.buy("gym.monthly", by: box.test.account())
            try await box.set(.two)
            #expect(box.outbox.receivers[TestStore.bundleID]?.version == .two)
            _ = try await box.test.store.setAutoRenew(false, of: bought.transactionID)
            let first = try #require(try await box.due().first)
            #expect(
                first.type == "INITIAL_BUY" && first.body(password: box.test.sharedSecret).hasPrefix(#"{"password":"#))
            try await box.record(.success, of: first)
            let second = try #require(try await box.due().first)
            #expect(second.type == "DID_CHANGE_RENEWAL_STATUS")
            #expect(second.body(password: "x") == #"{"signedPayload":"\#(second.signedPayload)"}"#)
            // The registry reads the version from the database.
            try await box.set(.one)
            let registry = try await AppRegistry.open(box.test.databases)
            #expect(registry.notificationReceiver(of: TestStore.bundleID, in: .sandbox)?.version == .one)
            #expect(registry.notificationReceiver(of: TestStore.bundleID, in: .production) == nil)
        }
    }

    /// The merchant beside the store reads version 2 only, and would refuse what it cannot read for ever.
    @Test(arguments: Backend.available) func whatWaitsForARemovedURLIsKept(_ backend: Backend) async throws {
        try await backend.withOutboxV1 { box async throws in
            let (apps, bundleID) = (box.test.store.apps, TestStore.bundleID)
            let bought = try await box.test.buy("gym.monthly", by: box.test.account())
            let read = try #require(try await box.due().first)
            try await apps.setNotificationReceiver(nil, of: bundleID, in: .sandbox)
            apps.usualNotificationReceiver = NotificationReceiver(inThisProcess: "http://127.0.0.1:9/news")
            #expect(try await box.due().isEmpty && box.outbox.receiver(of: read, for: bundleID) == nil)
            // The merchant is told of the same purchase meanwhile.
            _ = try await box.test.store.setAutoRenew(false, of: bought.transactionID)
            let news = try await box.due()
            #expect(news.map(\.type) == ["DID_CHANGE_RENEWAL_STATUS"] && news.map(\.version) == [.two])
            #expect(news.first.flatMap { box.outbox.receiver(of: $0, for: bundleID) } != nil)
            try await box.record(.success, of: try #require(news.first))
            try await box.set(.one)
            #expect(try await box.due() == [read])
            // After 180 days nobody waits for it any more.
            try await apps.setNotificationReceiver(nil, of: bundleID, in: .sandbox)
            try await box.test.store.changeClock { try $0.advance(by: NotificationOutbox.keptFor + 1) }
            try await box.outbox.prune()
            #expect(try await box.outbox.list(NotificationFilter()).rows.allSatisfy { $0.version == .two })
        }
    }

    /// Apple's history and test notifications are for version 2.
    @Test(arguments: Backend.available) func theServerAPIKnowsVersion2Only(_ backend: Backend) async throws {
        try await backend.withOutboxV1 { box async throws in
            try await box.test.buy("gym.monthly", by: box.test.account())
            #expect(try await box.send().count == 1)
            let now = box.test.store.clock.milliseconds
            let body = #"{"startDate": \#(now - 86_400_000), "endDate": \#(now + 1)}"#
            let answer = try await box.api.notificationHistory(
                Array(body.utf8), paginationToken: nil, of: TestStore.bundleID)
            #expect(String(decoding: answer, as: UTF8.self) == #"{"notificationHistory":[],"hasMore":false}"#)
            await #expect(throws: APIError.notificationURLNotFound) {
                _ = try await box.api.requestTestNotification(of: TestStore.bundleID)
            }
            #expect(try await refusal { try await box.outbox.sendTest(to: TestStore.bundleID) } == .wrongState)
        }
    }
}
