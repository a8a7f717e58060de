import Database
import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// What the operator lets happen to subscriptions: renewals, failures and ends now, extensions and refunds.
@Suite("Operations on subscriptions", .timeLimit(.minutes(1))) struct SubscriptionOperationTests {
    private static let day: Int64 = 86_400_000

    private func news(_ test: TestStore, _ original: TransactionID) async throws -> [String] {
        try await test.store.news(of: original).reversed().map {
            [$0.type.rawValue, $0.subtype?.rawValue].compactMap(\.self).joined(separator: "/")
        }
    }

    @Test(arguments: Backend.available) func aSubscriptionRenewsFailsRecoversAndEndsOnCommand(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await test.buy("gym.monthly", by: account)
            let id = first.originalTransactionID
            test.clock.milliseconds += 5 * Self.day
            let renewed = try await test.store.renewNow(id)
            var ledger = try await test.ledger()
            #expect(ledger.count == 2 && renewed.transactionID == ledger.last?.transactionID)
            #expect(ledger[0].expiresDate == ledger[1].purchaseDate)
            #expect(ledger[1].purchaseDate == test.store.clock.milliseconds / 1000 * 1000)
            test.clock.milliseconds += 5 * Self.day
            #expect(try await test.store.failRenewal(id).state == .billingRetry)
            #expect(try await refusal { try await test.store.renewNow(id) } == .wrongState)
            // The card fails until it is corrected.
            try await test.store.changeClock { try $0.advance(by: 3 * Self.day) }
            #expect(try await test.store.subscription(id).state == .billingRetry)
            #expect(try await test.store.recover(id).state == .active)
            #expect(try await refusal { try await test.store.recover(id) } == .wrongState)
            #expect(try await test.store.payments.declineRules.isEmpty)
            test.clock.milliseconds += Self.day
            let ended = try await test.store.expireNow(id)
            #expect(ended.state == .expired && ended.expirationIntent == .cancelled)
            #expect(try await refusal { try await test.store.expireNow(id) } == .wrongState)
            ledger = try await test.ledger()
            #expect(ledger.count == 3 && ledger.allSatisfy { ($0.expiresDate ?? 0) >= $0.purchaseDate })
            #expect(
                try await news(test, id) == [
                    "SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_FAIL_TO_RENEW", "DID_RENEW/BILLING_RECOVERY",
                    "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
                ])
            let unknown = TransactionID(rawValue: 7)
            #expect(try await refusal { try await test.store.renewNow(unknown) } == .unknownTransaction)
        }
    }

    @Test(arguments: Backend.available)
    func `A renewal on command comes also after the sandbox's twelve, but not at the rate never`(
        _ backend: Backend
    ) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let id = try await test.buy("gym.monthly", by: account).originalTransactionID
            try await useUpRenewals(test)
            test.clock.milliseconds += Self.day
            #expect(try await test.store.renewNow(id).state == .active)
            #expect(try await test.store.subscription(id).renewals == 1)
            try await useUpRenewals(test)
            test.clock.milliseconds += Self.day
            #expect(try await test.store.failRenewal(id).state == .billingRetry)
            #expect(try await news(test, id) == ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_FAIL_TO_RENEW"])
            #expect(try await test.store.recover(id).state == .active)
            // Without a product there is no payment to decline, and no rule is left.
            test.store.catalog.replace(
                with: try TestStore.catalog { $0.replacing("gym.monthly", with: "gym.other") })
            test.clock.milliseconds += Self.day
            #expect(try await test.store.failRenewal(id).state == .expired)
            #expect(try await test.store.payments.declineRules.isEmpty)
            let never = try await test.store.accounts.change(
                account.accountID, AccountChange(renewalRate: .never))
            let last = try await test.buy("club.yearly", by: never).originalTransactionID
            test.clock.milliseconds += Self.day
            #expect(try await refusal { try await test.store.renewNow(last) } == .wrongState)
            #expect(try await refusal { try await test.store.failRenewal(last) } == .wrongState)
            #expect(try await test.store.payments.declineRules.isEmpty)
            #expect(try await test.store.expireNow(last).state == .expired)
        }
    }

    private func useUpRenewals(_ test: TestStore) async throws {
        try await test.database.write { try $0.execute("UPDATE subscriptions SET renewals = 12") }
    }

    @Test(arguments: Backend.available) func productionHasNoCommandsForTests(_ backend: Backend) async throws {
        try await backend.withStore(.production) { test async throws in
            let id = try await test.buy("gym.monthly", by: try await test.account()).originalTransactionID
            #expect(try await refusal { try await test.store.renewNow(id) } == .forbidden)
            #expect(try await refusal { try await test.store.expireNow(id) } == .forbidden)
            #expect(try await refusal { try await test.store.failRenewal(id) } == .forbidden)
            #expect(try await test.store.subscription(id).state == .active)
        }
    }

    @Test(arguments: Backend.available) func anExtensionMovesTheEndAndTheRenewal(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (ape, bob) = (try await test.account(), try await test.account("bob@example.com"))
            let first = try await test.buy("gym.monthly", by: ape)
            let free = try await test.buy("club.monthly", by: bob)
            let end = try #require(first.expiresDate)
            let id = first.originalTransactionID
            for days in [0, 91, -1] {
                #expect(try await refusal { try await test.store.extend(id, days: days) } == .invalidRequest)
            }
            let receipt = try await test.appReceipt(ape)
            let extended = try await test.store.extend(id, days: 30)
            let moved = SubscriptionPeriod(unit: .day, count: 30).end(from: end)
            #expect(extended.expiresDate == moved && extended.dueAt == moved)
            #expect(try await test.ledger().first?.expiresDate == moved)
            #expect(try await test.appReceipt(ape) != receipt)
            #expect(try await news(test, id).last == "RENEWAL_EXTENDED")
            // A free period, and a third time in a year.
            #expect(
                try await refusal { try await test.store.extend(free.originalTransactionID, days: 1) } == .wrongState)
            let all = try await test.store.extendAll(of: "gym.monthly", in: TestStore.bundleID, days: 1)
            #expect(all == Store.MassExtension(succeeded: 1, failed: 0))
            #expect(try await refusal { try await test.store.extend(id, days: 1) } == .wrongState)
            let again = try await test.store.extendAll(of: "gym.monthly", in: TestStore.bundleID, days: 1)
            #expect(again == Store.MassExtension(succeeded: 0, failed: 1))
            #expect(try await news(test, id).suffix(2) == ["RENEWAL_EXTENDED", "RENEWAL_EXTENSION/FAILURE"])
            let after = try await test.store.subscription(id).expiresDate
            try await test.store.changeClock { try $0.set(to: after) }
            #expect(try await test.ledger().last?.purchaseDate == after)
        }
    }

    @Test(arguments: Backend.available) func aProratedRefundGivesTheRestBack(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account(storefront: "JPN")
            let first = try await test.buy("gym.monthly", by: account)
            let (start, end) = (first.purchaseDate, try #require(first.expiresDate))
            test.clock.milliseconds += 12 * Self.day
            let now = test.store.clock.milliseconds
            let paid = try #require(try await test.ledger().first).price
            let refunded = try await test.store.refund(first.transactionID, reason: .app, share: .prorated)
            #expect(refunded.amount == paid.share(end - now, of: end - start))
            #expect(refunded.amount.milliunits > 0 && refunded.amount.milliunits < paid.milliunits)
            #expect(processor.refunds.map(\.amount) == [refunded.amount])
            #expect(try await test.store.subscription(first.originalTransactionID).state == .revoked)
            // Only periods have a rest.
            let hats = try await test.buy("hats", by: account)
            #expect(
                try await refusal { try await test.store.refund(hats.transactionID, reason: .app, share: .prorated) }
                    == .invalidRequest)
        }
    }

    @Test(arguments: Backend.available) func aReversedRefundIsChargedAgainOnce(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let period = try await test.buy("gym.monthly", by: account)
            let hats = try await test.buy("hats", by: account)
            #expect(try await refusal { try await test.store.reverseRefund(hats.transactionID) } == .wrongState)
            for id in [period.transactionID, hats.transactionID] {
                _ = try await test.store.refund(id, reason: .other)
                let reversed = try await test.store.reverseRefund(id)
                #expect(reversed.transactions.first?.revokedAt == nil && reversed.amount.milliunits > 0)
                #expect(try await refusal { try await test.store.reverseRefund(id) } == .wrongState)
            }
            #expect(processor.held.count == 4)
            #expect(try await test.ledger().allSatisfy { $0.refunded == 0 && $0.revokedAt == nil })
            // The account owns the hats again: buying them is free.
            try await test.buy("hats", by: account)
            #expect(processor.held.count == 4)
            let subscription = try await test.store.subscription(period.originalTransactionID)
            #expect(subscription.state == .active && !subscription.willRenew)
            // A second refund gives the second payment back. The first one is over for the processor.
            let calls = processor.refundCalls
            _ = try await test.store.refund(period.transactionID, reason: .other)
            #expect(processor.refundCalls == calls + 1)
            let references = processor.refunds.filter { $0.transactionID == period.transactionID }.map(\.reference)
            #expect(references.count == 2 && Set(references).count == 2)
            #expect(
                try await news(test, period.originalTransactionID) == [
                    "SUBSCRIBED/INITIAL_BUY", "REFUND", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
                    "REFUND_REVERSED", "REFUND",
                ])
        }
    }

    /// The purchase and each reversal are payments of their own.
    @Test(arguments: Backend.available) func noRefundIsLargerThanItsPayment(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let id = try await test.buy("gym.monthly", by: account).transactionID
            try await test.store.changeClock { try $0.advance(by: 10 * 86_400_000) }
            processor.failRefunds(1)
            #expect(
                try await refusal { try await test.store.refund(id, reason: .app, share: .prorated) } == .unavailable)
            let part = try await test.store.reverseRefund(id).amount
            #expect((1..<9990).contains(part.milliunits) && processor.refunds.isEmpty)
            // The processor has both payments, so it is told of the refund also after the reversal.
            await test.store.tellRefunds()
            #expect(processor.refunds.map(\.amount) == [part])
            #expect(try await test.store.refund(id, reason: .app).amount.milliunits == 9990)
            #expect(try await test.store.reverseRefund(id).amount.milliunits == 9990)
            #expect(try await test.store.refund(id, reason: .app).amount.milliunits == 9990)
            #expect(processor.held.count == 3)
            for (key, paid) in processor.held {
                let refunded = processor.refunds.filter { $0.idempotencyKey == key }.map(\.amount.milliunits)
                #expect(refunded.reduce(0, +) == paid)
            }
        }
    }

    @Test(arguments: Backend.available) func aRefusedRefundIsNewsOnly(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let period = try await test.buy("gym.monthly", by: account)
            try await test.store.declineRefund(period.transactionID)
            #expect(try await news(test, period.originalTransactionID).last == "REFUND_DECLINED")
            #expect(try await test.store.subscription(period.originalTransactionID).willRenew)
            // The purchase of another product has no news.
            let hats = try await test.buy("hats", by: account)
            try await test.store.declineRefund(hats.transactionID)
            _ = try await test.store.refund(period.transactionID, reason: .other)
            #expect(try await refusal { try await test.store.declineRefund(period.transactionID) } == .wrongState)
        }
    }

    // MARK: Renewal rates and grace periods

    /// App Store Connect's table of lengths, in minutes.
    @Test(arguments: [
        (RenewalRate.threeMinutes, [3, 3, 6, 9, 18, 36]), (.fiveMinutes, [3, 5, 10, 15, 30, 60]),
        (.fifteenMinutes, [5, 15, 30, 45, 90, 180]), (.thirtyMinutes, [10, 30, 60, 90, 180, 360]),
        (.oneHour, [15, 60, 120, 180, 360, 720]),
    ])
    func periodsAreShortenedAsInTheSandbox(_ rate: RenewalRate, _ minutes: [Int64]) {
        let periods = [
            (SubscriptionPeriod.Unit.week, 1), (.month, 1), (.month, 2), (.month, 3), (.month, 6), (.year, 1),
        ]
        let lengths = periods.map { rate.end(of: SubscriptionPeriod(unit: $0.0, count: $0.1), from: 0) / 60_000 }
        #expect(lengths == minutes)
    }

    @Test func offersAreShortenedToo() {
        func minutes(_ days: Int) -> Int64 {
            RenewalRate.fiveMinutes.end(of: SubscriptionPeriod(unit: .day, count: days), from: 0) / 60_000
        }
        // Measured in the sandbox: a free week has three minutes, and a shorter trial two.
        #expect([1, 3, 7, 14].map(minutes) == [1, 2, 3, 6])
    }

    @Test(arguments: Backend.available) func aTestersMonthLastsFiveMinutes(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let quick = try await test.store.accounts.change(
                account.accountID, AccountChange(renewalRate: .fiveMinutes))
            #expect(quick.renewalRate == .fiveMinutes)
            let first = try await test.buy("gym.monthly", by: quick)
            #expect(first.expiresDate == first.purchaseDate + 300_000)
            try await test.store.changeClock { try $0.advance(by: 3_600_000) }
            let ledger = try await test.ledger()
            // Eleven renewals in an hour.
            #expect(ledger.count == 12 || ledger.count == 13)
            for (earlier, later) in zip(ledger, ledger.dropFirst()) {
                #expect(later.purchaseDate == earlier.expiresDate)
            }
            // Real again: from the next period on.
            let slow = try await test.store.accounts.change(account.accountID, AccountChange(renewalRate: .real))
            try await test.store.changeClock { try $0.advance(by: 600_000) }
            let last = try #require(try await test.ledger().last)
            #expect(slow.renewalRate == .real)
            #expect(
                try await test.store.subscriptions(of: slow).first?.state == .expired
                    || last.expiresDate == SubscriptionPeriod(unit: .month, count: 1).end(from: last.purchaseDate))
        }
    }

    @Test(arguments: [
        (GracePeriod.Length.threeDays, SubscriptionPeriod.Unit.week, 3), (.sixteenDays, .week, 6),
        (.twentyEightDays, .week, 6), (.threeDays, .month, 3), (.sixteenDays, .year, 16),
        (.twentyEightDays, .month, 28),
    ])
    func graceHasTheDaysOfAppStoreConnect(_ length: GracePeriod.Length, _ unit: SubscriptionPeriod.Unit, _ days: Int) {
        // 1 November 2022, 9:15:38 UTC. Daylight saving time ended on 6 November.
        let end: Int64 = 1_667_294_138_000
        let period = SubscriptionPeriod(unit: unit, count: 1)
        let grace = GracePeriod(length: length)
        func ends(_ grace: GracePeriod, wasPaid: Bool = true, in environment: StoreEnvironment = .production) -> Int64?
        {
            grace.end(after: end, of: period, at: .real, wasPaid: wasPaid, in: environment)
        }
        #expect(ends(grace) == SubscriptionPeriod(unit: .day, count: days).end(from: end))
        // Measured in production: six days of a weekly subscription end at 10:15:38.
        if days == 6 { #expect(ends(grace) == 1_667_816_138_000) }
        var paid = grace
        paid.paidToPaidOnly = true
        #expect(ends(paid, wasPaid: false) == nil && ends(paid) == ends(grace))
        var elsewhere = grace
        elsewhere.inSandbox = false
        #expect(ends(elsewhere, in: .sandbox) == nil && ends(elsewhere) != nil)
        elsewhere.inProduction = false
        #expect(ends(elsewhere) == nil)
    }

    @Test(arguments: Backend.available) func graceIsTheAppsAndSurvivesARestart(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let test = try await TestStore.open(database, apps: apps, clock: clock)
            let grace = GracePeriod(length: .threeDays, inProduction: false, paidToPaidOnly: true)
            try await test.store.apps.setGracePeriod(grace, of: TestStore.bundleID)
            #expect(
                try await refusal { try await test.store.apps.setGracePeriod(grace, of: "com.example.none") }
                    == .unknownApp)
            let again = try await TestStore.open(database, apps: apps, clock: clock)
            #expect(again.store.apps[TestStore.bundleID]?.gracePeriod == grace)
            #expect(again.store.apps["com.example.other"]?.gracePeriod == nil)
            try await again.store.apps.setGracePeriod(nil, of: TestStore.bundleID)
            #expect(again.store.apps[TestStore.bundleID]?.gracePeriod == nil)
        }
    }

    /// A cancellation in the grace period ends it at once; the receipt keeps the date of the grace period's end out.
    @Test(arguments: Backend.available) func graceEndsWithACancellation(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            try await test.store.apps.setGracePeriod(GracePeriod(length: .sixteenDays), of: TestStore.bundleID)
            let account = try await test.account()
            let id = try await test.buy("gym.monthly", by: account).originalTransactionID
            test.clock.milliseconds += Self.day
            #expect(try await test.store.failRenewal(id).state == .gracePeriod)
            #expect(try await test.store.setAutoRenew(false, of: id).state == .expired)
            #expect(
                try await news(test, id).suffix(3) == [
                    "DID_FAIL_TO_RENEW/GRACE_PERIOD", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
                    "EXPIRED/BILLING_RETRY",
                ])
            let answer = try await test.verify(try await test.appReceipt(account), password: test.sharedSecret)
            #expect(answer.pending.isEmpty)
        }
    }
}
