import Database
import Foundation
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Changes of plan within a group: what begins at once, what waits, and what is given back.
@Suite("Changes of plan", .timeLimit(.minutes(1))) struct PlanChangeTests {
    private static let day: Int64 = 86_400_000

    /// The catalog of ``TestStore`` with two more plans of the Gym: on the same level, by the quarter and by the month.
    private static func catalog() throws -> Catalog {
        try TestStore.catalog {
            $0.replacing(
                "      - id: \"21000003\"",
                with: """
                              - productID: gym.quarterly
                                groupNumber: 1
                                recurringSubscriptionPeriod: P3M
                                displayPrice: 24.99
                              - productID: gym.pool
                                groupNumber: 1
                                recurringSubscriptionPeriod: P1M
                                displayPrice: 11.99
                          - id: "21000003"
                    """)
        }
    }

    private func withStore(
        _ backend: Backend, _ environment: StoreEnvironment = .sandbox, processor: ScriptedProcessor,
        _ body: (TestStore, Account) async throws -> Void
    ) async throws {
        try await backend.withStore(environment, processor: processor) { test async throws in
            test.store.catalog.replace(with: try Self.catalog())
            try await body(test, try await test.account())
        }
    }

    private func only(_ test: TestStore, _ account: Account) async throws -> Subscription {
        try #require(try await test.store.subscriptions(of: account).first)
    }

    private func lastNews(_ test: TestStore, _ account: Account) async throws -> String {
        let news = try await test.store.news(
            of: try await only(test, account).originalTransactionID, limit: 1
        ).first
        return [news?.type.rawValue, news?.subtype?.rawValue].compactMap(\.self).joined(separator: "/")
    }

    @Test(arguments: Backend.available) func aHigherPlanBeginsAtOnceAndTheRestIsGivenBack(_ backend: Backend)
        async throws
    {
        let processor = ScriptedProcessor()
        try await withStore(backend, processor: processor) { test, account async throws in
            // The free week passes; the month after it costs 5.99.
            let first = try await test.buy("club.monthly", by: account)
            try await test.store.changeClock { try $0.set(to: (first.expiresDate ?? 0) + 10 * Self.day) }
            let yearly = try await test.buy("club.yearly", by: account)
            #expect(try await lastNews(test, account) == "DID_CHANGE_RENEWAL_PREF/UPGRADE")
            let ledger = try await test.ledger()
            #expect(ledger.map(\.productID) == ["club.monthly", "club.monthly", "club.yearly"])
            #expect(ledger.map(\.isUpgraded) == [false, true, false])
            // The introductory offer of the group was used: the whole price.
            #expect(ledger.map(\.price.milliunits) == [0, 5990, 49_990])
            let (start, end) = (ledger[1].purchaseDate, try #require(ledger[1].expiresDate))
            let exact = 5990 * (end - yearly.purchaseDate) / (end - start)
            #expect(ledger[1].refunded == exact / 10 * 10 && ledger[1].revokedAt == nil)
            #expect(processor.refunds.map(\.amount.milliunits) == [exact / 10 * 10])
            #expect(processor.refunds.map(\.transactionID) == [ledger[1].transactionID])
            #expect(try await test.database.read { try Refunds.untold(after: nil, limit: 9, $0) }.isEmpty)
            // verifyReceipt says so, and the old plan is nobody's any more.
            let answer = try await test.verify(try await test.appReceipt(account), password: test.sharedSecret)
            let marked = answer.latest.filter { $0["is_upgraded"] as? String == "true" }
            #expect(marked.map { $0["transaction_id"] as? String } == [ledger[1].transactionID.description])
            let subscribers = try await test.store.subscribers(SubscriberQuery())
            #expect(subscribers.rows.map(\.period.productID) == ["club.yearly"])
            let plans = try await test.store.subscriptionPeriods(of: account).rows
            #expect(plans.map(\.replacedAt) == [nil, yearly.purchaseDate, nil])
            // A refund of the replaced month gives the other part back, and only that.
            let refunded = try await test.store.refund(ledger[1].transactionID, reason: .other)
            #expect(refunded.amount.milliunits == 5990 - exact / 10 * 10)
            #expect(try await only(test, account).state == .active)
        }
    }

    @Test(arguments: Backend.available) func whatIsUnusedOfAReplacedPlanIsGivenBackOnce(_ backend: Backend)
        async throws
    {
        let processor = ScriptedProcessor()
        try await withStore(backend, processor: processor) { test, account async throws in
            let first = try await test.buy("gym.monthly", by: account)
            try await test.store.changeClock { try $0.set(to: first.purchaseDate + 10 * Self.day) }
            try await test.buy("gym.pool", by: account)
            let given = processor.refunds.map(\.amount.milliunits)
            #expect(given.count == 1 && given.allSatisfy { $0 > 0 && $0 < 9990 })
            let request = try await test.store.requestRefund(of: first.transactionID, reason: .unsatisfied)
            #expect(
                try await refusal { try await test.store.decideRefund(request.requestID, .approve(.prorated)) }
                    == .wrongState)
            let refunded = try await test.store.refund(first.transactionID, reason: .app, share: .prorated)
            #expect(refunded.amount.milliunits == 0 && processor.refunds.map(\.amount.milliunits) == given)
        }
    }

    @Test(arguments: Backend.available) func aLowerPlanBeginsWithTheNextRenewal(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await withStore(backend, processor: processor) { test, account async throws in
            let first = try await test.buy("club.yearly", by: account)
            let key = UUID()
            let answer = try await test.store.purchase(test.request("club.weekly", key: key), by: account)
            // The answer is the period that the customer has. Nothing is paid.
            #expect(answer.state == .purchased && answer.transaction?.transactionID == first.transactionID)
            #expect(try await test.ledger().count == 1 && processor.refunds.isEmpty)
            #expect(try await lastNews(test, account) == "DID_CHANGE_RENEWAL_PREF/DOWNGRADE")
            #expect(try await test.store.purchase(test.request("club.weekly", key: key), by: account) == answer)
            let receipt = try await test.appReceipt(account)
            let pending = try await test.verify(receipt, password: test.sharedSecret).pending.first
            #expect(pending?["auto_renew_product_id"] as? String == "club.weekly")
            #expect(pending?["product_id"] as? String == "club.yearly")
            // Buying the current plan takes the choice back; once more, the account has it already.
            let back = try await test.store.purchase(test.request("club.yearly"), by: account)
            #expect(back.state == .purchased && back.transaction?.transactionID == first.transactionID)
            #expect(try await lastNews(test, account) == "DID_CHANGE_RENEWAL_PREF")
            let held = try await test.store.purchase(test.request("club.yearly"), by: account)
            #expect(held.failure?.code == .alreadySubscribed)
            // Chosen again, it is renewed as the lower plan, at its price, in the same chain.
            _ = try await test.store.purchase(test.request("club.weekly"), by: account)
            let end = try #require(first.expiresDate)
            try await test.store.changeClock { try $0.set(to: end) }
            let ledger = try await test.ledger()
            #expect(ledger.map(\.productID) == ["club.yearly", "club.weekly"])
            #expect(ledger.map(\.price.milliunits) == [990, 1990] && ledger.last?.purchaseDate == end)
            #expect(Set(ledger.map(\.originalTransactionID)).count == 1)
            #expect(try await lastNews(test, account) == "DID_RENEW")
        }
    }

    @Test(arguments: Backend.available) func onTheSameLevelTheLengthDecides(_ backend: Backend) async throws {
        try await withStore(backend, processor: ScriptedProcessor()) { test, account async throws in
            let first = try await test.buy("gym.monthly", by: account)
            // Another length waits.
            let later = try await test.store.purchase(test.request("gym.quarterly"), by: account)
            #expect(later.transaction?.transactionID == first.transactionID)
            // The same length begins at once; the choice of before is gone.
            try await test.buy("gym.pool", by: account)
            #expect(try await test.ledger().map(\.productID) == ["gym.monthly", "gym.pool"])
            let subscription = try await only(test, account)
            #expect(subscription.renewalProductID == "gym.pool")
            #expect(try await test.ledger().first?.refunded == 9990)
        }
    }

    @Test(arguments: Backend.available) func anEarlyChargedRenewalIsGivenBackWhole(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await withStore(backend, .production, processor: processor) { test, account async throws in
            let first = try await test.buy("gym.monthly", by: account)
            // Twelve hours before the end, the next month is paid already.
            try await test.store.changeClock { try $0.set(to: (first.expiresDate ?? 0) - Self.day / 2) }
            #expect(try await test.ledger().count == 2)
            try await test.buy("gym.pool", by: account)
            let ledger = try await test.ledger()
            #expect(ledger.map(\.isUpgraded) == [true, true, false] && ledger[1].refunded == 9990)
            #expect(ledger[0].refunded > 0 && ledger[0].refunded < 500)
            #expect(Set(processor.refunds.map(\.amount.milliunits)) == Set(ledger.map(\.refunded)).subtracting([0]))
        }
    }

    /// When the current product has left the catalog, buying another plan takes effect at once.
    @Test(arguments: Backend.available) func aPlanWithoutAProductIsReplaced(_ backend: Backend) async throws {
        try await withStore(backend, processor: ScriptedProcessor()) { test, account async throws in
            try await test.buy("gym.quarterly", by: account)
            test.store.catalog.replace(with: try TestStore.catalog())
            try await test.buy("gym.monthly", by: account)
            #expect(try await test.ledger().map(\.isUpgraded) == [true, false])
        }
    }

    @Test(arguments: Backend.available) func theProcessorIsToldLaterWhenItDoesNotAnswer(_ backend: Backend) async throws
    {
        let processor = ScriptedProcessor()
        try await withStore(backend, processor: processor) { test, account async throws in
            try await test.buy("gym.monthly", by: account)
            let hats = try await test.buy("hats", by: account)
            processor.failRefunds(1)
            #expect(
                try await refusal { try await test.store.refund(hats.transactionID, reason: .other) } == .unavailable)
            // The customer waits for one attempt, not for one of each refund.
            processor.failRefunds(1)
            try await test.buy("gym.pool", by: account)
            #expect(processor.refunds.isEmpty)
            await test.store.tellRefunds()
            await test.store.tellRefunds()
            #expect(processor.refunds.count == 2 && processor.refunds.last?.transactionID == hats.transactionID)
            #expect(processor.refunds.first?.amount.milliunits == 9990)
        }
    }

    /// A child's choice of a lower plan waits for approval, too.
    @Test(arguments: Backend.available) func aChoiceCanWaitForApproval(_ backend: Backend) async throws {
        try await withStore(backend, processor: ScriptedProcessor()) { test, account async throws in
            let first = try await test.buy("club.yearly", by: account)
            let request = test.request("club.weekly", asksToBuy: true)
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            #expect(try await only(test, account).renewalProductID == "club.yearly")
            let approved = try await test.store.approve(request.idempotencyKey)
            #expect(approved.transaction?.transactionID == first.transactionID)
            #expect(try await only(test, account).renewalProductID == "club.weekly")
            #expect(try await test.store.purchase(request, by: account).state == .purchased)
        }
    }

    @Test(arguments: Backend.available) func buyingInTheGracePeriodKeepsTheCycle(_ backend: Backend) async throws {
        let declines = Mutex(false)
        let processor = ScriptedProcessor { payment in
            declines.withLock { $0 } ? .declined(message: "No.") : .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await withStore(backend, processor: processor) { test, account async throws in
            try await test.store.apps.setGracePeriod(GracePeriod(length: .sixteenDays), of: TestStore.bundleID)
            let first = try await test.buy("gym.monthly", by: account)
            let end = try #require(first.expiresDate)
            declines.withLock { $0 = true }
            try await test.store.changeClock { try $0.set(to: end + 5 * Self.day) }
            #expect(try await only(test, account).state == .gracePeriod)
            let pending = try await test.verify(try await test.appReceipt(account), password: test.sharedSecret)
                .pending.first
            #expect(pending?["is_in_billing_retry_period"] as? String == "1")
            let grace = try #require(pending?["grace_period_expires_date_ms"] as? String)
            #expect(Int64(grace) == SubscriptionPeriod(unit: .day, count: 16).end(from: end))
            declines.withLock { $0 = false }
            let bought = try await test.buy("gym.monthly", by: account)
            #expect(bought.purchaseDate == end)
            #expect(try await lastNews(test, account) == "DID_RENEW/BILLING_RECOVERY")
            #expect(try await test.ledger().count == 2 && processor.held.count == 2)
        }
    }
}
