import Database
import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// One row of Apple's table of a subscription's life: what happens, and what each interface tells afterwards.
struct SubscriptionRow: Sendable, CustomTestStringConvertible {
    /// What the test does, after an account has bought `gym.monthly`.
    struct Play: Sendable {
        var test: TestStore
        var account: Account
        var id: TransactionID

        static let day: Int64 = 86_400_000

        func advance(_ days: Int64) async throws {
            try await test.store.changeClock { try $0.advance(by: days * Self.day) }
        }

        func grace() async throws {
            try await test.store.apps.setGracePeriod(GracePeriod(length: .sixteenDays), of: TestStore.bundleID)
        }

        func choose(_ product: ProductID) async throws {
            _ = try await test.store.purchase(test.request(product), by: account)
        }

        func cancel() async throws { _ = try await test.store.setAutoRenew(false, of: id) }

        func fail() async throws {
            try await advance(2)
            _ = try await test.store.failRenewal(id)
        }

        /// Raises the price of everything that costs 9.99.
        func raise(to price: String) throws {
            test.store.catalog.replace(
                with: try TestStore.catalog { $0.replacing("displayPrice: 9.99", with: "displayPrice: \(price)") })
        }
    }

    /// What happens.
    var name: String
    /// Where the row comes from: Apple's documentation, or a measured body of production or sandbox.
    var source: String
    /// The product that is bought first.
    var first: ProductID = "gym.monthly"
    /// The last news, in order.
    var news: [String]
    /// The state afterwards.
    var state: Subscription.State
    /// The element of `pending_renewal_info` without its identifiers; nil when there is none.
    var pending: [String: String]?
    /// What the newest rows of `latest_receipt_info` have, the newest first. An empty value is one that is missing.
    var latest: [[String: String]] = []
    var play: @Sendable (Play) async throws -> Void

    var testDescription: String { name }

    /// What every element has while the subscription is in order.
    static func renewing(
        _ product: String = "gym.monthly", as next: String? = nil, _ more: [String: String] = [:]
    ) -> [String: String] {
        ["product_id": product, "auto_renew_product_id": next ?? product, "auto_renew_status": "1"]
            .merging(more) { $1 }
    }

    static func ended(_ intent: String, _ more: [String: String] = [:]) -> [String: String] {
        renewing(
            "gym.monthly", nil,
            ["auto_renew_status": "0", "expiration_intent": intent, "is_in_billing_retry_period": "0"]
        ).merging(more) { $1 }
    }

    private static func renewing(_ product: String, _ next: String?, _ more: [String: String]) -> [String: String] {
        renewing(product, as: next, more)
    }

    static let overdue = ["expiration_intent": "2", "is_in_billing_retry_period": "1"]

    static let all: [SubscriptionRow] = [
        SubscriptionRow(
            name: "first purchase in the group", source: "measured: exactly four keys",
            news: ["SUBSCRIBED/INITIAL_BUY"],
            state: .active, pending: renewing(),
            latest: [["is_trial_period": "false", "is_in_intro_offer_period": "false", "cancellation_date": ""]]
        ) { _ in },
        SubscriptionRow(
            name: "first purchase with a free week", source: "documented: offerType 1", first: "club.monthly",
            news: ["SUBSCRIBED/INITIAL_BUY"], state: .active, pending: renewing("club.monthly"),
            latest: [["is_trial_period": "true"]]
        ) { _ in },
        SubscriptionRow(
            name: "renewal", source: "documented: DID_RENEW", news: ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW"],
            state: .active, pending: renewing(), latest: [["product_id": "gym.monthly"], [:]]
        ) { try await $0.advance(31) },
        SubscriptionRow(
            name: "auto-renew off", source: "documented: DID_CHANGE_RENEWAL_STATUS",
            news: ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"], state: .active,
            pending: renewing("gym.monthly", as: nil, ["auto_renew_status": "0"])
        ) { try await $0.cancel() },
        SubscriptionRow(
            name: "auto-renew on again", source: "documented: DID_CHANGE_RENEWAL_STATUS",
            news: ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED"], state: .active, pending: renewing()
        ) {
            try await $0.cancel()
            _ = try await $0.test.store.setAutoRenew(true, of: $0.id)
        },
        SubscriptionRow(
            name: "expired, voluntary", source: "measured: intent 1, retry 0, status 0", news: ["EXPIRED/VOLUNTARY"],
            state: .expired, pending: ended("1")
        ) {
            try await $0.cancel()
            try await $0.advance(31)
        },
        SubscriptionRow(
            name: "resubscription", source: "documented: the intent and the retry are gone",
            news: ["EXPIRED/VOLUNTARY", "SUBSCRIBED/RESUBSCRIBE"], state: .active, pending: renewing(),
            latest: [[:], [:]]
        ) {
            try await $0.cancel()
            try await $0.advance(40)
            try await $0.test.buy("gym.monthly", by: $0.account)
        },
        SubscriptionRow(
            name: "failed, with a grace period", source: "documented: grace_period_expires_date, status 4",
            news: ["DID_FAIL_TO_RENEW/GRACE_PERIOD"], state: .gracePeriod,
            pending: renewing(
                "gym.monthly", as: nil, overdue.merging(["grace_period_expires_date_ms": "16 days"]) { $1 })
        ) {
            try await $0.grace()
            try await $0.fail()
        },
        SubscriptionRow(
            name: "failed, without a grace period", source: "production report: retry true, intent 2",
            news: ["DID_FAIL_TO_RENEW"], state: .billingRetry, pending: renewing("gym.monthly", as: nil, overdue)
        ) { try await $0.fail() },
        SubscriptionRow(
            name: "grace over", source: "documented: GRACE_PERIOD_EXPIRED, status 3", news: ["GRACE_PERIOD_EXPIRED"],
            state: .billingRetry,
            pending: renewing(
                "gym.monthly", as: nil, overdue.merging(["grace_period_expires_date_ms": "16 days"]) { $1 })
        ) {
            try await $0.grace()
            try await $0.fail()
            try await $0.advance(17)
        },
        SubscriptionRow(
            name: "recovered within the grace period", source: "documented: the cycle is kept; measured: four keys",
            news: ["DID_FAIL_TO_RENEW/GRACE_PERIOD", "DID_RENEW/BILLING_RECOVERY"], state: .active, pending: renewing(),
            latest: [["purchase_date_ms": "the end before"], [:]]
        ) {
            try await $0.grace()
            try await $0.fail()
            try await $0.advance(3)
            _ = try await $0.test.store.recover($0.id)
        },
        SubscriptionRow(
            name: "recovered after it", source: "measured: the period begins with the payment",
            news: ["GRACE_PERIOD_EXPIRED", "DID_RENEW/BILLING_RECOVERY"], state: .active, pending: renewing(),
            latest: [["purchase_date_ms": "now"], [:]]
        ) {
            try await $0.grace()
            try await $0.fail()
            try await $0.advance(20)
            _ = try await $0.test.store.recover($0.id)
        },
        SubscriptionRow(
            name: "retry over", source: "measured: status 0, intent 2, retry 0, the grace period's end stays",
            news: ["GRACE_PERIOD_EXPIRED", "EXPIRED/BILLING_RETRY"], state: .expired,
            pending: ended("2", ["grace_period_expires_date_ms": "16 days"])
        ) {
            try await $0.grace()
            try await $0.fail()
            try await $0.advance(70)
        },
        SubscriptionRow(
            name: "cancelled in the grace period", source: "production: EXPIRED/BILLING_RETRY, and the element is gone",
            news: ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/BILLING_RETRY"], state: .expired,
            pending: nil
        ) {
            try await $0.grace()
            try await $0.fail()
            try await $0.cancel()
        },
        SubscriptionRow(
            name: "removed from sale", source: "documented: intent 4", news: ["EXPIRED/PRODUCT_NOT_FOR_SALE"],
            state: .expired, pending: ended("4")
        ) {
            $0.test.store.catalog.replace(
                with: try TestStore.catalog { $0.replacing("productID: gym.monthly", with: "productID: gym.other") })
            try await $0.advance(31)
        },
        SubscriptionRow(
            name: "upgrade", source: "sandbox: is_upgraded on the old row; a new row from now on", first: "club.weekly",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF/UPGRADE"], state: .active,
            pending: renewing("club.monthly"),
            latest: [
                ["product_id": "club.monthly", "is_upgraded": "", "purchase_date_ms": "now"],
                ["product_id": "club.weekly", "is_upgraded": "true", "cancellation_date": ""],
            ]
        ) {
            try await $0.advance(1)
            try await $0.test.buy("club.monthly", by: $0.account)
        },
        SubscriptionRow(
            name: "downgrade", source: "documented: no transaction until the renewal", first: "club.monthly",
            news: ["DID_CHANGE_RENEWAL_PREF/DOWNGRADE"], state: .active,
            pending: renewing("club.monthly", as: "club.weekly"), latest: [["product_id": "club.monthly"]]
        ) { try await $0.choose("club.weekly") },
        SubscriptionRow(
            name: "downgrade taken back", source: "documented: no subtype", first: "club.monthly",
            news: ["DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "DID_CHANGE_RENEWAL_PREF"], state: .active,
            pending: renewing("club.monthly")
        ) {
            try await $0.choose("club.weekly")
            try await $0.choose("club.monthly")
        },
        SubscriptionRow(
            name: "downgrade takes effect", source: "documented: a renewal of the new product", first: "club.monthly",
            news: ["DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "DID_RENEW"], state: .active, pending: renewing("club.weekly"),
            latest: [["product_id": "club.weekly"], ["product_id": "club.monthly", "is_upgraded": ""]]
        ) {
            try await $0.choose("club.weekly")
            try await $0.advance(8)
        },
        SubscriptionRow(
            name: "price rise, consent asked", source: "documented: priceIncreaseStatus 0",
            news: ["DID_RENEW", "PRICE_INCREASE/PENDING"], state: .active,
            pending: renewing("gym.monthly", as: nil, ["price_consent_status": "0", "price_increase_status": "0"])
        ) {
            try $0.raise(to: "29.99")
            try await $0.advance(31)
        },
        SubscriptionRow(
            name: "price rise, agreed", source: "documented: priceIncreaseStatus 1",
            news: ["PRICE_INCREASE/PENDING", "PRICE_INCREASE/ACCEPTED"], state: .active,
            pending: renewing("gym.monthly", as: nil, ["price_consent_status": "1", "price_increase_status": "1"])
        ) {
            try $0.raise(to: "29.99")
            try await $0.advance(31)
            try await $0.test.store.answerPriceIncrease(
                PriceConsentRequest(
                    bundleID: TestStore.bundleID, productID: "gym.monthly",
                    newPrice: Money(milliunits: 29_990, currency: "USD"), accepts: true), of: $0.account)
        },
        SubscriptionRow(
            name: "price rise, told only", source: "documented: price_increase_status alone",
            news: ["DID_RENEW", "PRICE_INCREASE/ACCEPTED"], state: .active,
            pending: renewing("gym.monthly", as: nil, ["price_increase_status": "1"])
        ) {
            try $0.raise(to: "10.99")
            try await $0.advance(31)
        },
        SubscriptionRow(
            name: "price rise, no answer", source: "documented: intent 3", news: ["EXPIRED/PRICE_INCREASE"],
            state: .expired, pending: ended("3", ["price_consent_status": "0", "price_increase_status": "0"])
        ) {
            try $0.raise(to: "29.99")
            try await $0.advance(62)
        },
        SubscriptionRow(
            name: "price rise, the price preserved", source: "documented: preserveCurrentPrice",
            news: ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_RENEW"], state: .active, pending: renewing()
        ) {
            try $0.raise(to: "29.99\n            preserveCurrentPrice: true")
            try await $0.advance(62)
            #expect(try await $0.test.ledger().map(\.price.milliunits) == [9990, 9990, 9990])
            // A new subscriber pays the new price.
            let other = try await $0.test.account("later@example.com")
            try await $0.test.buy("gym.monthly", by: other)
            #expect(try await $0.test.ledger().last?.price.milliunits == 29_990)
            _ = try await $0.test.store.clearHistory(of: other)
        },
        SubscriptionRow(
            name: "refund of the last period", source: "measured: cancellation_date, status 0, no intent",
            news: ["REFUND", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"], state: .revoked,
            pending: renewing("gym.monthly", as: nil, ["auto_renew_status": "0"]),
            latest: [["cancellation_reason": "1", "cancellation_date_ms": "now"]]
        ) {
            _ = try await $0.test.store.refund($0.id, reason: .app)
        },
        SubscriptionRow(
            name: "refund of an earlier period", source: "documented: that row only", news: ["DID_RENEW", "REFUND"],
            state: .active, pending: renewing(), latest: [["cancellation_date": ""], ["cancellation_reason": "0"]]
        ) {
            try await $0.advance(31)
            _ = try await $0.test.store.refund($0.id, reason: .other)
        },
        SubscriptionRow(
            name: "refund declined", source: "documented: REFUND_DECLINED", news: ["REFUND_DECLINED"], state: .active,
            pending: renewing(), latest: [["cancellation_date": ""]]
        ) { try await $0.test.store.declineRefund($0.id) },
        SubscriptionRow(
            name: "refund reversed", source: "documented: the cancellation vanishes, the end is kept",
            news: ["REFUND", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "REFUND_REVERSED"], state: .active,
            pending: renewing("gym.monthly", as: nil, ["auto_renew_status": "0"]), latest: [["cancellation_date": ""]]
        ) {
            _ = try await $0.test.store.refund($0.id, reason: .other)
            _ = try await $0.test.store.reverseRefund($0.id)
        },
        SubscriptionRow(
            name: "extended", source: "documented: expires_date moves", news: ["RENEWAL_EXTENDED"], state: .active,
            pending: renewing(), latest: [["expires_date_ms": "ten days later"]]
        ) { _ = try await $0.test.store.extend($0.id, days: 10) },
    ]
}

@Suite("Apple's table of subscriptions", .timeLimit(.minutes(1))) struct SubscriptionTableTests {
    @Test(arguments: Backend.available, SubscriptionRow.all)
    func everyInterfaceTellsTheSame(_ backend: Backend, _ row: SubscriptionRow) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await test.buy(row.first, by: account)
            try await row.play(
                SubscriptionRow.Play(test: test, account: account, id: first.originalTransactionID))
            let now = test.store.clock.milliseconds / 1000 * 1000
            let subscription = try await test.store.subscription(first.originalTransactionID)
            #expect(subscription.state == row.state)
            let news = try await test.store.news(of: first.originalTransactionID).reversed().map {
                [$0.type.rawValue, $0.subtype?.rawValue].compactMap(\.self).joined(separator: "/")
            }
            #expect(Array(news.suffix(row.news.count)) == row.news)
            let answer = try await test.verify(try await test.appReceipt(account), password: test.sharedSecret)
            #expect(answer.status == 0)
            // The same receipt again, and iOS 6's for the first period, agree.
            #expect(answer.pending.count == (row.pending == nil ? 0 : 1))
            let ends = try await test.ledger().compactMap(\.expiresDate)
            if let expected = row.pending, let element = answer.pending.first {
                var found: [String: String] = [:]
                for (key, value) in element where !key.hasSuffix("_pst") && key != "grace_period_expires_date" {
                    found[key] = value as? String
                }
                #expect(found.removeValue(forKey: "original_transaction_id") == first.originalTransactionID.description)
                var wanted = expected
                if wanted["grace_period_expires_date_ms"] != nil {
                    let end = SubscriptionPeriod(unit: .day, count: 16).end(from: ends.max() ?? 0)
                    wanted["grace_period_expires_date_ms"] = "\(end)"
                }
                #expect(found == wanted)
            }
            try await checkSnapshot(of: subscription, row, answer.pending.first, at: test)
            #expect(answer.latest.count == ends.count)
            if !row.latest.isEmpty { #expect(answer.latest.count == row.latest.count) }
            for (element, expected) in zip(answer.latest, row.latest) {
                for (key, value) in expected {
                    let wanted: String? =
                        switch value {
                        case "": nil
                        case "now": "\(now)"
                        case "the end before": "\(ends.first ?? 0)"
                        case "ten days later":
                            "\(SubscriptionPeriod(unit: .day, count: 10).end(from: first.expiresDate ?? 0))"
                        default: value
                        }
                    #expect(element[key] as? String == wanted, "\(key)")
                }
            }
            // The receipt has the same rows as the answer.
            let receipt = try await AppReceipt(test.appReceipt(account))
            #expect(
                Set(receipt.inApp.map(\.transactionID))
                    == Set(answer.latest.compactMap { $0["transaction_id"] as? String }))
        }
    }

    /// The last news tell the state that `verifyReceipt` tells, too.
    private func checkSnapshot(
        of subscription: Subscription, _ row: SubscriptionRow, _ pending: [String: Any]?, at test: TestStore
    ) async throws {
        let snapshot = try #require(try await test.snapshots(of: subscription.originalTransactionID).last)
        let states: [Subscription.State] = [.active, .expired, .billingRetry, .gracePeriod, .revoked]
        let status = states.firstIndex(of: row.state).map { $0 + 1 }
        #expect(snapshot.status == status)
        #expect(ReadSnapshot.text(snapshot.renewal["renewalDate"]) == "\(subscription.expiresDate)")
        guard let pending else { return }
        for (name, key) in [
            ("autoRenewProductId", "auto_renew_product_id"), ("productId", "product_id"),
            ("autoRenewStatus", "auto_renew_status"), ("expirationIntent", "expiration_intent"),
            ("gracePeriodExpiresDate", "grace_period_expires_date_ms"),
            ("priceIncreaseStatus", "price_increase_status"),
        ] {
            #expect(ReadSnapshot.text(snapshot.renewal[name]) == pending[key] as? String, "\(name)")
        }
        let isRetrying = ReadSnapshot.text(snapshot.renewal["isInBillingRetryPeriod"]).map { $0 == "true" ? "1" : "0" }
        #expect(isRetrying == pending["is_in_billing_retry_period"] as? String)
    }
}
