import Database
import Foundation
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Subscriptions over a real ledger while the store's clock moves.
@Suite("Renewals", .timeLimit(.minutes(1))) struct RenewalTests {
    private static let day: Int64 = 86_400_000

    private func news(_ test: TestStore, _ account: Account) async throws -> [String] {
        var all: [String] = []
        for subscription in try await test.store.subscriptions(of: account) {
            all += try await test.store.news(of: subscription.originalTransactionID).reversed().map {
                [$0.type.rawValue, $0.subtype?.rawValue].compactMap(\.self).joined(separator: "/")
            }
        }
        return all
    }

    @Test(arguments: Backend.available) func aYearPassesAtOnceAndEachPeriodHasItsOwnDate(_ backend: Backend)
        async throws
    {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("gym.monthly", by: account, username: "Ape-7")
            try await test.store.changeClock { try $0.advance(by: 365 * Self.day) }
            let ledger = try await test.ledger()
            // The sandbox renews twelve times.
            #expect(ledger.count == 13)
            #expect(Set(ledger.map(\.originalTransactionID)) == [first.transactionID])
            #expect(Set(ledger.map(\.originalPurchaseDate)) == [first.purchaseDate])
            for (earlier, later) in zip(ledger, ledger.dropFirst()) {
                #expect(later.purchaseDate == earlier.expiresDate && later.transactionID > earlier.transactionID)
                #expect(
                    later.expiresDate == SubscriptionPeriod(unit: .month, count: 1).end(from: later.purchaseDate))
                #expect(try #require(later.webOrderLineItemID) > (try #require(earlier.webOrderLineItemID)))
                #expect(later.price.milliunits == 9990 && later.applicationUsername == "Ape-7")
            }
            // The identifier of the second period was allocated with the first.
            #expect(ledger[1].webOrderLineItemID == ledger[0].webOrderLineItemID.map { $0 + 1 })
            #expect(processor.held.count == 13 && Set(processor.held.values) == [9990])
            #expect(try await test.count("purchases") == 13)
            try await test.store.changeClock { try $0.advance(by: 60 * Self.day) }
            #expect(try await test.ledger().count == 13)
            #expect(
                try await news(test, account) == ["SUBSCRIBED/INITIAL_BUY"]
                    + Array(repeating: "DID_RENEW", count: 12)
                    + ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY"])
            // Nothing is due any more, and nothing happens twice.
            try await test.store.changeClock { try $0.advance(by: -400 * Self.day) }
            try await test.store.changeClock { try $0.advance(by: 500 * Self.day) }
            #expect(try await test.ledger().count == 13)
            // The receipt has all periods, and the answer says why it ended.
            let answer = try await test.verify(try await test.appReceipt(account), password: test.sharedSecret)
            #expect(answer.latest.count == 13 && answer.pending.count == 1)
            let ends = answer.latest.compactMap { Int64($0["expires_date_ms"] as? String ?? "") }
            #expect(ends.count == 13 && ends == ends.sorted(by: >))
            #expect(answer.pending.first?["expiration_intent"] as? String == "1")
            #expect(answer.pending.first?["auto_renew_status"] as? String == "0")
        }
    }

    @Test(arguments: Backend.available) func whoReturnsKeepsTheOriginalIdentifier(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await test.buy("club.monthly", by: account)
            let allocated = try #require(try await test.store.subscriptions(of: account).first?.nextLineItemID)
            try await test.cancelSubscriptions(of: account)
            try await test.store.changeClock { try $0.advance(by: 300 * Self.day) }
            let back = try await test.buy("club.weekly", by: account)
            #expect(back.originalTransactionID == first.transactionID)
            #expect(back.originalPurchaseDate == first.purchaseDate && back.purchaseDate > first.purchaseDate)
            #expect(try await test.ledger().last?.webOrderLineItemID == allocated)
            #expect(try await test.ledger().last?.offer == nil)
            // A change of plan during the period has an identifier of its own.
            let allocatedNow = try #require(try await test.store.subscriptions(of: account).first?.nextLineItemID)
            let changed = try await test.buy("club.yearly", by: account)
            #expect(changed.originalTransactionID == first.transactionID)
            #expect(try await test.ledger().last?.webOrderLineItemID != allocatedNow)
            // Another group and another account have their own.
            #expect(try await test.buy("gym.monthly", by: account).originalTransactionID != first.transactionID)
            #expect(
                try await news(test, account) == [
                    "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY",
                    "SUBSCRIBED/RESUBSCRIBE", "DID_CHANGE_RENEWAL_PREF/UPGRADE", "SUBSCRIBED/INITIAL_BUY",
                ])
        }
    }

    @Test(arguments: Backend.available) func anOfferOfSeveralPeriodsIsFollowedByThePrice(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            // Three months at 0.99, one by one.
            try await test.buy("club.yearly", by: account)
            try await test.store.changeClock { try $0.advance(by: 100 * Self.day) }
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [990, 990, 990, 49_990])
            #expect(ledger.map(\.offer) == [.introductory, .introductory, .introductory, nil])
        }
    }

    @Test(arguments: Backend.available) func aCardThatFailsIsTriedAgainAndRecovers(_ backend: Backend) async throws {
        let declines = Mutex(false)
        let processor = ScriptedProcessor { payment in
            declines.withLock { $0 }
                ? .declined(message: "The card is expired.") : .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("gym.monthly", by: account)
            let end = try #require(first.expiresDate)
            declines.withLock { $0 = true }
            try await test.store.changeClock { try $0.set(to: end + 3 * Self.day) }
            #expect(try await test.ledger().count == 1)
            let receipt = try await test.appReceipt(account)
            let overdue = try await test.verify(receipt, password: test.sharedSecret)
            #expect(overdue.pending.first?["is_in_billing_retry_period"] as? String == "1")
            #expect(overdue.pending.first?["expiration_intent"] as? String == "2")
            #expect(overdue.pending.first?["auto_renew_status"] as? String == "1")
            declines.withLock { $0 = false }
            try await test.store.changeClock { try $0.set(to: end + 5 * Self.day) }
            let ledger = try await test.ledger()
            // The fourth day is one of the attempts. The cycle moves.
            #expect(ledger.count == 2)
            let recovered = try #require(ledger.last)
            #expect(abs(recovered.purchaseDate - (end + 4 * Self.day)) <= 3_600_000)
            #expect(
                try await news(test, account) == [
                    "SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW", "DID_RENEW/BILLING_RECOVERY",
                ])
            let answer = try await test.verify(receipt, password: test.sharedSecret)
            #expect(
                Set(answer.pending.first?.keys ?? [:].keys) == [
                    "auto_renew_product_id", "original_transaction_id", "product_id", "auto_renew_status",
                ])
        }
    }

    @Test(arguments: Backend.available) func aCrashBetweenPaymentAndRecordChargesOnce(_ backend: Backend) async throws {
        struct Crash: Error {}
        let crashes = Mutex(0)
        let processor = ScriptedProcessor { payment in
            let isCrash = crashes.withLock { left in
                guard left > 0 else { return false }
                left -= 1
                return true
            }
            // The processor holds the amount, and the store never learns it.
            if isCrash { throw Crash() }
            return .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("gym.monthly", by: account)
            crashes.withLock { $0 = 2 }
            let end = try #require(first.expiresDate)
            await #expect(throws: StoreError.self) { try await test.store.changeClock { try $0.set(to: end) } }
            // A request is answered although the processor does not answer.
            #expect(try await test.store.subscriptions(of: account).first?.state == .active)
            try await test.store.settleSubscriptions()
            #expect(try await test.ledger().count == 2)
            let keys = processor.authorizations.dropFirst().map(\.idempotencyKey)
            #expect(keys.count == 3 && Set(keys).count == 1 && processor.voids.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func aChangeDuringTheChargeVoidsIt(_ backend: Backend) async throws {
        let store = Mutex<(Store, TransactionID)?>(nil)
        let processor = ScriptedProcessor { payment in
            // The customer turns auto-renew off while the renewal is charged.
            if let (store, original) = store.withLock({ state in
                defer { state = nil }
                return state
            }) {
                _ = try await store.cancelWithoutSettling(original)
            }
            return .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("gym.monthly", by: account)
            store.withLock { $0 = (test.store, first.transactionID) }
            try await test.store.changeClock { try $0.set(to: first.expiresDate ?? 0) }
            #expect(try await test.ledger().count == 1)
            #expect(processor.held.count == 1 && processor.voids.count == 1)
            #expect(try await test.store.subscriptions(of: account).first?.state == .expired)
        }
    }

    /// The processor holds a renewal's payment, its answer is lost, and the customer decides otherwise.
    @Test(arguments: Backend.available) func aChangeVoidsARenewalWithoutAnAnswer(_ backend: Backend) async throws {
        let processor = ScriptedProcessor { payment in
            guard !PaymentKey.isDerived(payment.idempotencyKey) else { throw ScriptedProcessor.Unreachable() }
            return .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withStore(processor: processor) { test async throws in
            let (leaving, buying) = (try await test.account(), try await test.account("bob@example.com"))
            let first = try await test.buy("gym.monthly", by: leaving)
            try await test.buy("gym.monthly", by: buying)
            let third = try await test.buy("gym.monthly", by: try await test.account("eve@example.com"))
            test.clock.milliseconds = try #require(first.expiresDate)
            // To look changes nothing, and the payment can still be used.
            #expect(try await test.store.subscriptions(of: leaving).first?.state == .active)
            #expect(processor.voids.isEmpty)
            let ended = try await test.store.setAutoRenew(false, of: first.transactionID)
            #expect(ended.state == .expired && processor.voids.count == 1)
            try await test.buy("gym.monthly", by: buying)
            _ = try await test.store.refund(third.transactionID, reason: .other)
            let renewals = processor.authorizations.map(\.idempotencyKey).filter { PaymentKey.isDerived($0) }
            #expect(processor.voids.count == 3 && Set(processor.voids) == Set(renewals))
            #expect(processor.held.count == 4)
        }
    }

    /// Production charges a day early, so that a customer can choose another plan after a charge whose answer is lost.
    @Test(arguments: Backend.available) func aChosenPlanVoidsARenewalWithoutAnAnswer(_ backend: Backend) async throws {
        let isUp = Mutex(true)
        let processor = ScriptedProcessor { payment in
            guard isUp.withLock({ $0 }) else { throw ScriptedProcessor.Unreachable() }
            return .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withStore(.production, processor: processor) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("club.yearly", by: account)
            isUp.withLock { $0 = false }
            test.clock.milliseconds = try #require(first.expiresDate) - 1000
            try await test.buy("club.weekly", by: account)
            let lost = try #require(processor.authorizations.last?.idempotencyKey)
            #expect(PaymentKey.isDerived(lost) && processor.voids.contains(lost))
            isUp.withLock { $0 = true }
            try await test.store.settleSubscriptions()
            let renewed = try #require(processor.authorizations.last)
            #expect(renewed.productID == "club.weekly" && renewed.idempotencyKey != lost)
            #expect(try await test.ledger().map(\.productID) == ["club.yearly", "club.weekly"])
        }
    }

    /// Two processes charge the same renewal: one is declined and records it, the other is approved afterwards.
    @Test(arguments: Backend.available) func aDeclinedRenewalLeavesNothingAuthorized(_ backend: Backend) async throws {
        let store = Mutex<Store?>(nil)
        let processor = ScriptedProcessor { payment in
            let other = store.withLock { state in
                defer { state = nil }
                return state
            }
            guard let other else { return .declined(message: "The card is expired.") }
            try await other.settle(nil)
            return .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let before = try await TestStore.open(database, apps: apps, clock: clock, processor: ScriptedProcessor())
            let account = try await before.account()
            let first = try await before.buy("gym.monthly", by: account)
            let test = try await TestStore.open(database, apps: apps, clock: clock, processor: processor)
            store.withLock { $0 = test.store }
            test.clock.milliseconds = try #require(first.expiresDate)
            try await test.store.settle(nil)
            let keys = processor.authorizations.map(\.idempotencyKey)
            #expect(keys.count == 2 && Set(keys).count == 1)
            #expect(processor.held.isEmpty && Set(processor.voids) == Set(keys))
            #expect(try await test.ledger().count == 1)
            #expect(try await news(test, account).last == "DID_FAIL_TO_RENEW")
        }
    }

    /// Scheduled work goes on sooner after an error of the database than of the payment processor.
    @Test func `a renewal that the database fails to count stays due, with the database's error`() async throws {
        let isUp = Mutex(true)
        let processor = ScriptedProcessor { payment in
            guard isUp.withLock({ $0 }) else { throw DatabaseError(.unavailable, "the primary is gone") }
            return .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await Backend.sqlite.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("gym.monthly", by: account)
            isUp.withLock { $0 = false }
            test.clock.milliseconds = try #require(first.expiresDate)
            let error = await #expect(throws: DatabaseError.self) {
                try await test.store.settleSubscriptionsOnSchedule()
            }
            #expect(error?.code == .unavailable)
            isUp.withLock { $0 = true }
            try await test.store.settleSubscriptionsOnSchedule()
            #expect(try await test.ledger().count == 2)
        }
    }

    @Test(arguments: Backend.available) func whatCannotRenewEndsWithItsReason(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (ape, bob) = (try await test.account(), try await test.account("bob@example.com"))
            try await test.buy("gym.monthly", by: ape)
            try await test.buy("club.monthly", by: bob)
            _ = try await test.store.increasePrice(of: "club.monthly", in: TestStore.bundleID, to: 9990, for: bob)
            test.store.catalog.replace(
                with: try TestStore.catalog { $0.replacing("productID: gym.monthly", with: "productID: gym.other") })
            try await test.store.changeClock { try $0.advance(by: 40 * Self.day) }
            #expect(try await news(test, ape).last == "EXPIRED/PRODUCT_NOT_FOR_SALE")
            #expect(try await news(test, bob).last == "EXPIRED/PRICE_INCREASE")
            #expect(try await test.ledger().count == 2)
            #expect(
                try await test.store.subscriptions(of: bob).first?.expirationIntent == .priceIncrease)
        }
    }

    @Test(arguments: Backend.available) func whoAgreesPaysTheHigherPrice(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            try await test.buy("gym.monthly", by: account)
            let made = try await test.store.increasePrice(
                of: "gym.monthly", in: TestStore.bundleID, to: 12_990, for: account)
            try await test.store.answerPriceIncrease(
                PriceConsentRequest(
                    bundleID: TestStore.bundleID, productID: "gym.monthly", newPrice: made.newPrice, accepts: true),
                of: account)
            try await test.store.changeClock { try $0.advance(by: 31 * Self.day) }
            #expect(try await test.ledger().map(\.price.milliunits) == [9990, 12_990])
        }
    }

    /// A higher price of the catalog is announced with one renewal and charged with the next; a lower one at once.
    @Test(arguments: Backend.available) func theCatalogsPriceChangesAreAnnouncedFirst(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            try await test.buy("gym.monthly", by: account)
            func setPrice(_ price: String) throws {
                test.store.catalog.replace(
                    with: try TestStore.catalog {
                        $0.replacing(
                            "recurringSubscriptionPeriod: P1M\n            displayPrice: 9.99",
                            with: "recurringSubscriptionPeriod: P1M\n            displayPrice: \(price)")
                    })
            }
            func renew() async throws -> [String: Any]? {
                try await test.store.changeClock { try $0.advance(months: 1) }
                return try await test.verify(try await test.appReceipt(account), password: test.sharedSecret)
                    .pending.first
            }
            // A fifth more: the customer is told.
            try setPrice("11.99")
            let told = try await renew()
            #expect(told?["price_increase_status"] as? String == "1" && told?["price_consent_status"] == nil)
            #expect(try await news(test, account).suffix(2) == ["DID_RENEW", "PRICE_INCREASE/ACCEPTED"])
            #expect(try await renew()?["price_increase_status"] == nil)
            #expect(try await test.ledger().map(\.price.milliunits) == [9990, 9990, 11_990])
            // The second in a year needs consent. A lower price before the renewal makes it void.
            try setPrice("12.99")
            let asked = try await renew()
            #expect(
                asked?["price_increase_status"] as? String == "0" && asked?["price_consent_status"] as? String == "0")
            #expect(try await test.store.priceIncreases(of: account).map(\.answer) == [nil])
            try setPrice("8.99")
            #expect(try await renew()?["price_increase_status"] == nil)
            #expect(try await test.store.priceIncreases(of: account).isEmpty)
            #expect(try await test.ledger().map(\.price.milliunits).suffix(2) == [11_990, 8990])
            // Twice as much and more than five dollars needs consent, too. Nobody answers.
            try setPrice("29.99")
            _ = try await renew()
            _ = try await renew()
            #expect(
                try await news(test, account).suffix(3) == [
                    "DID_RENEW", "PRICE_INCREASE/PENDING", "EXPIRED/PRICE_INCREASE",
                ])
            #expect(try await test.ledger().last?.price.milliunits == 8990)
        }
    }

    /// Apple's rule: more than half more, and more than 5 USD for a period or 50 USD for a year.
    @Test(
        arguments: [
            (4990, 9990, SubscriptionPeriod.Unit.month, false), (4990, 10_000, .month, true),
            (20_000, 30_000, .month, false), (20_000, 30_010, .month, true), (60_000, 110_000, .year, false),
            (60_000, 110_010, .year, true), (200_000, 290_000, .year, false), (1000, 3000, .week, false),
        ] as [(Int64, Int64, SubscriptionPeriod.Unit, Bool)])
    func consentIsNeededForALargeIncrease(
        _ old: Int64, _ new: Int64, _ unit: SubscriptionPeriod.Unit, _ needsConsent: Bool
    ) throws {
        let product = try #require(try TestStore.catalog().app(TestStore.bundleID)?.product("gym.monthly"))
        func usd(_ amount: Int64) -> Money { Money(milliunits: amount, currency: "USD") }
        #expect(
            product.increaseNeedsConsent(
                from: usd(old), to: usd(new), each: SubscriptionPeriod(unit: unit, count: 1)) == needsConsent)
    }

    @Test(arguments: Backend.available) func declinedRenewalsAreAttempts(_ backend: Backend) async throws {
        let processor = ScriptedProcessor { _ in .declined(message: "The card is expired.") }
        let works = ScriptedProcessor()
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let before = try await TestStore.open(database, apps: apps, clock: clock, processor: works)
            let account = try await before.account()
            let first = try await before.buy("gym.monthly", by: account)
            let test = try await TestStore.open(database, apps: apps, clock: clock, processor: processor)
            try await test.store.changeClock { try $0.set(to: (first.expiresDate ?? 0) + 70 * Self.day) }
            let attempts = try await test.store.attempts(AttemptQuery(limit: 100)).rows
            // At the end of the period, and on each of the further days.
            #expect(attempts.count == RenewalPolicy.usualRetryDays.count + 1)
            #expect(Set(attempts.map(\.idempotencyKey)).count == attempts.count)
            #expect(try await news(test, account).last == "EXPIRED/BILLING_RETRY")
        }
    }

    /// The store settles many at once, here fifty; what is due earlier comes first, whoever has it.
    @Test(arguments: Backend.available) func manyAreSettledInTheOrderOfTheirDates(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            for number in 0..<30 {
                let account = try await test.account("ape-\(number)@example.com")
                for product in ["club.weekly", "gym.monthly"] as [ProductID] {
                    try await test.buy(product, by: account)
                    test.clock.milliseconds += 1000
                }
            }
            test.clock.milliseconds += 40 * Self.day
            while try await test.store.settleOneTurn(limit: 50) {}
            let dates = try await test.database.read {
                try $0.query("SELECT date FROM subscription_news WHERE type = 'DID_RENEW' ORDER BY number", [])
                    .map { try $0.int64(0) }
            }
            #expect(dates.count == 30 * (5 + 1) && dates == dates.sorted())
        }
    }

    @Test(arguments: Backend.available) func aProductionRenewalIsChargedADayEarly(_ backend: Backend) async throws {
        try await backend.withStore(.production) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("gym.monthly", by: account)
            let end = try #require(first.expiresDate)
            try await test.store.changeClock { try $0.set(to: end - Self.day) }
            let ledger = try await test.ledger()
            #expect(ledger.count == 2 && ledger.last?.purchaseDate == end)
            // Turned off after the charge: the paid period still comes.
            try await test.cancelSubscriptions(of: account)
            try await test.store.changeClock { try $0.set(to: end + 15 * Self.day) }
            #expect(try await test.store.subscriptions(of: account).first?.isActive(at: end + 15 * Self.day) == true)
            try await test.store.changeClock { try $0.set(to: end + 40 * Self.day) }
            #expect(try await test.ledger().count == 2)
            #expect(try await test.store.subscriptions(of: account).first?.state == .expired)
        }
    }

    /// Older versions sold one period, and gave each purchase an original identifier of its own.
    @Test(arguments: Backend.available) func periodsOfOlderVersionsEndAndAreContinued(_ backend: Backend) async throws {
        try await backend.withLocation { location async throws in
            let before = try await Database.open(
                location, migrations: Array(StoreSchema.migrations.prefix(12)), logger: .silent)
            try await before.write { connection in
                for (id, account, group, revoked) in [
                    (101, "ape", "club", nil), (102, "ape", "club", nil), (103, "ape", "gym", nil),
                    (104, "bob", "club", 900),
                ] as [(Int64, String, String, Int64?)] {
                    try connection.execute(
                        """
                        INSERT INTO transactions (account_id, transaction_id, original_transaction_id, bundle_id,
                            product_id, item_id, kind, quantity, price, currency, storefront, purchase_date,
                            original_purchase_date, expires_date, web_order_line_item_id, subscription_group_id,
                            revoked_at)
                        VALUES ($1, $2, $2, 'com.example', $3, 1, 'autoRenewableSubscription', 1, 990, 'USD', 'USA',
                            500, 500, 1000, $4, $3, $5)
                        """, [account, id, group, id + 1000, revoked])
                }
            }
            await before.close()
            let after = try await Database.open(location, migrations: StoreSchema.migrations, logger: .silent)
            let found = try await after.read { connection in
                try ["ape", "bob"].flatMap { try Subscriptions.all(of: AccountID($0), connection) }
            }
            #expect(found.map(\.originalTransactionID.rawValue) == [102, 103, 104])
            #expect(found.map(\.state) == [.active, .active, .revoked] && !found.contains(where: \.willRenew))
            #expect(found.map(\.dueAt) == [1000, 1000, nil] && found.map(\.nextLineItemID) == [1103, 1104, 1105])
            #expect(found.first?.duty(RenewalPolicy(lead: 0)) == .expire)
            await after.close()
        }
    }
}

extension Store {
    /// Turns auto-renew off at once, as another process would.
    fileprivate func cancelWithoutSettling(_ original: TransactionID) async throws {
        let recorder = recorder
        try await database.write { connection in
            var subscription = try #require(try Subscriptions.find(original, connection))
            let news = subscription.turnAutoRenewOff(at: subscription.expiresDate)
            try Subscriptions.save(subscription, news, recorder, connection)
        }
    }
}
