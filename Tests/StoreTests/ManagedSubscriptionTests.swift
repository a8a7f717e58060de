import Database
import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

/// What customers do themselves: they see the next charge, turn renewal off, and change plans.
@Suite("Managed subscriptions", .timeLimit(.minutes(1))) struct ManagedSubscriptionTests {
    private static let day: Int64 = 86_400_000

    private func usd(_ milliunits: Int64) -> Money { Money(milliunits: milliunits, currency: "USD") }

    private func only(_ test: TestStore, _ account: Account) async throws -> ManagedSubscription {
        let page = try await test.store.managedSubscriptions(of: account)
        #expect(page.subscriptions.count == 1 && !page.hasMore)
        return try #require(page.subscriptions.first)
    }

    /// Moves the clock to the charge that is shown, and compares it with the one that is made.
    @discardableResult
    private func expectCharge(
        _ test: TestStore, _ account: Account, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Int64 {
        let shown = try #require(try await only(test, account).nextCharge, sourceLocation: sourceLocation)
        func periods() async throws -> [Transaction] {
            try await test.ledger().filter { $0.accountID == account.accountID }
        }
        let before = try await periods().count
        try await test.store.changeClock { try $0.set(to: shown.date - 1) }
        #expect(try await periods().count == before, sourceLocation: sourceLocation)
        try await test.store.changeClock { try $0.set(to: shown.date) }
        let ledger = try await periods()
        let period = try #require(ledger.last, sourceLocation: sourceLocation)
        #expect(ledger.count == before + 1, sourceLocation: sourceLocation)
        #expect(period.productID == shown.productID && period.price == shown.price, sourceLocation: sourceLocation)
        #expect(period.expiresDate == shown.period.end(from: period.purchaseDate), sourceLocation: sourceLocation)
        return shown.price.milliunits
    }

    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func theShownChargeIsTheOneThatIsMade(_ backend: Backend, _ environment: StoreEnvironment) async throws {
        try await backend.withStore(environment) { test async throws in
            // What is left of an offer, and then the price.
            let ape = try await test.account()
            try await test.buy("club.yearly", by: ape)
            var charges: [Int64] = []
            for _ in 1...3 { charges.append(try await expectCharge(test, ape)) }
            #expect(charges == [990, 990, 49_990])
            // A lower plan that was chosen.
            _ = try await test.store.purchase(test.request("club.weekly"), by: ape)
            #expect(try await only(test, ape).productID == "club.yearly")
            #expect(try await expectCharge(test, ape) == 1990)

            // After a free trial; in production a day before it ends.
            let bob = try await test.account("bob@example.com")
            let trial = try await test.buy("club.monthly", by: bob)
            let lead: Int64 = environment == .production ? Self.day : 0
            #expect(try await only(test, bob).nextCharge?.date == trial.expiresDate.map { $0 - lead })
            #expect(try await expectCharge(test, bob) == 5990)

            // A price increase that the customer agreed to; without consent there is no charge.
            let eve = try await test.account("eve@example.com")
            try await test.buy("gym.monthly", by: eve)
            let increase = try await test.store.increasePrice(
                of: "gym.monthly", in: TestStore.bundleID, to: 12_990, for: eve)
            let asked = try await only(test, eve)
            #expect(asked.nextCharge == nil && asked.obstacle == .priceIncrease && asked.willRenew)
            try await test.store.answerPriceIncrease(
                PriceConsentRequest(
                    bundleID: TestStore.bundleID, productID: "gym.monthly", newPrice: increase.newPrice, accepts: true),
                of: eve)
            #expect(try await expectCharge(test, eve) == 12_990)

            // A higher price of the catalog, which is announced first.
            let zoe = try await test.account("zoe@example.com")
            try await test.buy("gym.monthly", by: zoe)
            test.store.catalog.replace(
                with: try TestStore.catalog {
                    $0.replacing(
                        "recurringSubscriptionPeriod: P1M\n            displayPrice: 9.99",
                        with: "recurringSubscriptionPeriod: P1M\n            displayPrice: 11.99")
                })
            #expect(try await expectCharge(test, zoe) == 9990)
            #expect(try await expectCharge(test, zoe) == 11_990)
        }
    }

    @Test(arguments: Backend.available) func aChosenOfferIsShown(_ backend: Backend) async throws {
        let signer = OfferSigner()
        try await backend.withStore { test async throws in
            test.store.catalog.replace(with: try signer.catalog)
            let account = try await test.account()
            try await test.buy("club.monthly", by: account)
            var request = test.request("club.monthly")
            request.offer = try signer.offer("half", at: test.clock.milliseconds)
            #expect(try await test.store.purchase(request, by: account).state == .purchased)
            var charges: [Int64] = []
            for _ in 1...4 { charges.append(try await expectCharge(test, account)) }
            #expect(charges == [2990, 2990, 2990, 5990])
        }
    }

    @Test(arguments: Backend.available) func theCustomerTurnsRenewalOffAndOn(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (ape, bob) = (try await test.account(), try await test.account("bob@example.com"))
            let bought = try await test.buy("gym.monthly", by: ape)
            let id = bought.originalTransactionID
            let before = try await only(test, ape)
            #expect(before.appName == "Monkeys" && before.groupName == "Gym" && before.productName == "gym.monthly")
            #expect(before.state == .active && before.willRenew && before.expiresDate == bought.expiresDate)
            #expect(before.plans.isEmpty && !before.canTurnRenewalOn)
            let off = try await test.store.setRenewal(false, of: id, by: ape)
            #expect(!off.willRenew && off.nextCharge == nil && off.obstacle == nil && off.canTurnRenewalOn)
            #expect(try await test.store.setRenewal(false, of: id, by: ape) == off)
            #expect(try await test.store.setRenewal(true, of: id, by: ape) == before)
            // Another's subscription does not exist for a customer.
            for isOn in [false, true] {
                #expect(
                    try await refusal { try await test.store.setRenewal(isOn, of: id, by: bob) } == .unknownTransaction)
            }
            #expect(try await refusal { try await test.store.managedSubscription(id, of: bob) } == .unknownTransaction)
            #expect(try await test.store.managedSubscriptions(of: bob).subscriptions.isEmpty)
            #expect(try await only(test, ape) == before)

            _ = try await test.store.setRenewal(false, of: id, by: ape)
            let end = try #require(bought.expiresDate)
            try await test.store.changeClock { try $0.set(to: end) }
            let ended = try await only(test, ape)
            #expect(ended.state == .expired && ended.nextCharge == nil && !ended.canTurnRenewalOn)
            #expect(try await refusal { try await test.store.setRenewal(true, of: id, by: ape) } == .wrongState)
            // It can be bought again, for a year's time.
            #expect(ended.plans.map(\.effect) == [.now] && ended.plans.first?.price == usd(9990))
            let year = SubscriptionPeriod(unit: .day, count: 365).end(from: end)
            try await test.store.changeClock { try $0.set(to: year - 1) }
            #expect(try await only(test, ape) == ended)
            try await test.store.changeClock { try $0.set(to: year) }
            #expect(try await test.store.managedSubscriptions(of: ape).subscriptions.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func theCustomerChangesPlans(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let ape = try await test.account()
            try await test.buy("club.monthly", by: ape, username: "Ape-7")
            let first = try await only(test, ape)
            #expect(first.plans.map(\.productID) == ["club.yearly", "club.weekly"])
            #expect(first.plans.map(\.effect) == [.now, .nextRenewal])
            #expect(first.plans.map(\.price) == [usd(49_990), usd(1990)])
            #expect(first.plans.map(\.period.description) == ["P1Y", "P1W"])
            func change(_ product: ProductID, _ price: Int64, key: UUID = UUID()) async throws -> PurchaseResponse {
                try await test.store.changePlan(
                    of: first.originalTransactionID,
                    PlanChangeRequest(productID: product, agreedPrice: usd(price), idempotencyKey: key), by: ape)
            }
            // Only at the price that was shown, and only within the group.
            #expect(try await change("club.yearly", 990).failure?.code == .priceChanged)
            #expect(try await refusal { try await change("gym.monthly", 9990) } == .invalidRequest)
            #expect(try await change("club.none", 990).failure?.code == .productNotAvailable)
            #expect(try await only(test, ape) == first)

            let lower = UUID()
            let chosen = try await change("club.weekly", 1990, key: lower)
            #expect(chosen.state == .purchased && chosen.transaction?.productID == "club.monthly")
            #expect(try await change("club.weekly", 1990, key: lower) == chosen)
            let waiting = try await only(test, ape)
            #expect(waiting.productID == "club.monthly" && waiting.nextCharge?.productID == "club.weekly")
            // What was chosen is no choice any more; the present plan is one.
            #expect(waiting.plans.map(\.productID) == ["club.yearly", "club.monthly"])
            #expect(waiting.plans.map(\.effect) == [.now, .nextRenewal])
            _ = try await change("club.monthly", 5990)
            #expect(try await only(test, ape) == first)

            let higher = UUID()
            for _ in 1...2 {
                let begun = try await change("club.yearly", 49_990, key: higher)
                #expect(begun.transaction?.productID == "club.yearly" && begun.transaction?.idempotencyKey == higher)
                // The merchant still knows whose it is.
                #expect(begun.transaction?.applicationUsername == "Ape-7")
            }
            let after = try await only(test, ape)
            #expect(after.originalTransactionID == first.originalTransactionID && after.productID == "club.yearly")
            #expect(after.plans.map(\.effect) == [.nextRenewal, .nextRenewal])
            #expect(try await change("club.yearly", 49_990).failure?.code == .alreadySubscribed)
            let bob = try await test.account("bob@example.com")
            #expect(
                try await refusal {
                    try await test.store.changePlan(
                        of: first.originalTransactionID,
                        PlanChangeRequest(
                            productID: "club.weekly", agreedPrice: usd(1990), idempotencyKey: UUID()), by: bob)
                } == .unknownTransaction)
        }
    }

    @Test(arguments: Backend.available) func anOverduePaymentIsShown(_ backend: Backend) async throws {
        let declines = Mutex(false)
        let processor = ScriptedProcessor { payment in
            declines.withLock { $0 } ? .declined(message: "No.") : .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withStore(processor: processor) { test async throws in
            try await test.store.apps.setGracePeriod(GracePeriod(length: .threeDays), of: TestStore.bundleID)
            let account = try await test.account()
            let end = try #require(try await test.buy("gym.monthly", by: account).expiresDate)
            declines.withLock { $0 = true }
            func date(_ days: Int) -> Int64 { SubscriptionPeriod(unit: .day, count: days).end(from: end) }
            let grace = date(3)
            // In the grace period; at its end, where the store does nothing else; and after it.
            for (now, state, next) in [
                (end, .gracePeriod, 1), (end + 2 * Self.day + 1, .gracePeriod, 4), (grace, .billingRetry, 4),
                (date(60) - 1, .billingRetry, nil),
            ] as [(Int64, ManagedSubscription.State, Int?)] {
                try await test.store.changeClock { try $0.set(to: now) }
                let shown = try await only(test, account)
                #expect(shown.state == state && shown.willRenew, "\(now - end)")
                #expect(shown.nextCharge?.date == next.map(date))
                #expect(shown.gracePeriodExpiresDate == (state == .gracePeriod ? grace : nil))
                // Buying the plan pays what is overdue.
                #expect(shown.plans.map(\.productID) == ["gym.monthly"] && shown.plans.map(\.effect) == [.now])
            }
            // Turning renewal off ends it at once.
            let id = try await only(test, account).originalTransactionID
            #expect(try await test.store.setRenewal(false, of: id, by: account).state == .expired)
        }
    }

    @Test(arguments: Backend.available) func whatEndsItIsShown(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let ape = try await test.account()
            try await test.buy("gym.monthly", by: ape)
            // The sandbox's last period.
            try await test.store.changeClock { try $0.advance(months: 12) }
            let last = try await only(test, ape)
            #expect(last.state == .active && last.willRenew && last.nextCharge == nil && last.obstacle == .renewalLimit)
            // A product that left the catalog keeps the subscription on the page.
            let bob = try await test.account("bob@example.com")
            try await test.buy("gym.monthly", by: bob)
            test.store.catalog.replace(
                with: try TestStore.catalog { $0.replacing("productID: gym.monthly", with: "productID: gym.other") })
            let gone = try await only(test, bob)
            #expect(gone.obstacle == .notForSale && gone.nextCharge == nil && gone.productName == "gym.monthly")
            #expect(gone.plans.map(\.productID) == ["gym.other"] && gone.plans.map(\.effect) == [.now])
        }
    }

    @Test(arguments: Backend.available) func theListHasPagesAndApps(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let bought = try await [
                test.buy("gym.monthly", by: account), test.buy("club.monthly", by: account),
                test.buy("eternal", by: account),
            ].map(\.originalTransactionID)
            func ids(_ bundleID: BundleID? = nil, after: TransactionID? = nil) async throws -> [TransactionID] {
                try await test.store.managedSubscriptions(of: account, in: bundleID, after: after).subscriptions.map(
                    \.originalTransactionID)
            }
            #expect(try await ids() == bought)
            #expect(try await ids(TestStore.bundleID) == bought)
            #expect(try await ids("com.example.other").isEmpty)
            #expect(try await ids(after: bought[0]) == Array(bought.dropFirst()))
            #expect(try await ids(after: bought[2]).isEmpty)
        }
    }
}
