import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct SubscriptionPurchaseTests {
    private static let start = TestClock.start - 789

    @Test(
        arguments: Backend.available,
        [
            // Product, price, days that the first period lasts from 3 February 2026, offer.
            ("club.monthly", 0, 7, Transaction.Offer.trial), ("club.yearly", 990, 28, .introductory),
            ("club.weekly", 1490, 6, .introductory), ("gym.monthly", 9990, 28, nil),
        ] as [(ProductID, Int64, Int64, Transaction.Offer?)])
    func theFirstPeriodIsTheOffers(_ backend: Backend, _ sold: (ProductID, Int64, Int64, Transaction.Offer?))
        async throws
    {
        try await backend.withStore { test async throws in
            let transaction = try await test.buy(sold.0, by: try await test.account())
            #expect(transaction.purchaseDate == Self.start)
            #expect(transaction.expiresDate == Self.start + sold.2 * 86_400_000)
            let row = try #require(try await test.ledger().first)
            #expect(row.price == Money(milliunits: sold.1, currency: "USD") && row.offer == sold.3)
            #expect(row.subscriptionGroupID == (sold.0 == "gym.monthly" ? "21000002" : "21000001"))
        }
    }

    @Test(arguments: Backend.available) func anIntroductoryOfferIsUsedOncePerGroup(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            try await test.buy("club.monthly", by: account)
            try await test.cancelSubscriptions(of: account)
            test.clock.milliseconds += 8 * 86_400_000
            // The trial is over: the same product costs its price, and so does another of the group.
            try await test.buy("club.monthly", by: account)
            try await test.buy("club.yearly", by: account)
            try await test.buy("gym.monthly", by: account)
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [0, 5990, 49_990, 9990])
            #expect(ledger.map(\.offer) == [.trial, nil, nil, nil])
            // Another account is new to it.
            try await test.buy("club.yearly", by: try await test.account("new@example.com"))
            #expect(try await test.ledger().last?.offer == .introductory)
        }
    }

    /// Who never had one gets it after the subscription was over, but no subscriber does.
    @Test(arguments: Backend.available) func aFormerSubscriberCanHaveTheIntroductoryOffer(
        _ backend: Backend
    ) async throws {
        try await backend.withStore { test async throws in
            let offer = "            introductoryOffers: [{ paymentMode: free, subscriptionPeriod: P1W }]\n"
            test.store.catalog.replace(
                with: try TestStore.catalog { text in
                    text.replacing("displayPrice: 5.99\n" + offer, with: "displayPrice: 5.99\n")
                })
            let account = try await test.account()
            // Not a new subscriber of a plan that has none, and not who changes the plan.
            try await test.buy("club.monthly", by: account)
            try await test.buy("club.yearly", by: account)
            try await test.cancelSubscriptions(of: account)
            test.clock.milliseconds += 400 * 86_400_000
            #expect(try await test.store.groupsWithoutIntroduction(of: account, in: TestStore.bundleID).isEmpty)
            // What waits for an approval keeps the offer that the catalog has no longer.
            let asked = test.request("club.weekly", asksToBuy: true)
            #expect(try await test.store.purchase(asked, by: account).state == .deferred)
            test.store.catalog.replace(
                with: try TestStore.catalog {
                    $0.replacing(
                        "introductoryOffers: [{ paymentMode: payUpFront",
                        with: "adHocOffers: [{ offerID: x, paymentMode: payUpFront")
                })
            _ = try await test.store.approve(asked.idempotencyKey)
            #expect(
                try await test.store.groupsWithoutIntroduction(of: account, in: TestStore.bundleID) == ["21000001"])
            try await test.cancelSubscriptions(of: account)
            test.clock.milliseconds += 8 * 86_400_000
            #expect(
                try await test.store.groupsWithoutIntroduction(of: account, in: TestStore.bundleID) == ["21000001"])
            try await test.buy("club.yearly", by: account)
            let ledger = try await test.ledger()
            #expect(ledger.map(\.offer) == [nil, nil, .introductory, nil])
            #expect(ledger.map(\.price.milliunits) == [5990, 49_990, 1490, 49_990])
        }
    }

    @Test(arguments: Backend.available) func aSubscriberCannotSubscribeAgain(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await test.buy("club.monthly", by: account)
            let end = try #require(first.expiresDate)
            test.clock.milliseconds = end - 1
            let again = try await test.store.purchase(test.request("club.monthly"), by: account)
            #expect(again.state == .failed && again.failure?.code == .alreadySubscribed)
            try await test.cancelSubscriptions(of: account)
            test.clock.milliseconds = end
            try await test.buy("club.monthly", by: account)
        }
    }

    @Test(arguments: Backend.available) func concurrentSubscriptionsMakeOnePurchase(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let answers = try await withThrowingTaskGroup(of: PurchaseResponse.self) { group in
                for _ in 0..<16 {
                    group.addTask { try await test.store.purchase(test.request("gym.monthly"), by: account) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.filter { $0.state == .purchased }.count == 1)
            #expect(answers.filter { $0.failure?.code == .alreadySubscribed }.count == 15)
            #expect(try await test.ledger().count == 1)
            #expect(processor.held.keys.map { $0 } == answers.compactMap { $0.transaction?.idempotencyKey })
        }
    }

    @Test(arguments: Backend.available) func concurrentFirstPurchasesOfAGroupUseOneIntroductoryOffer(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for product: ProductID in ["club.monthly", "club.yearly", "club.weekly"] {
                    group.addTask { try await test.buy(product, by: account) }
                }
                try await group.waitForAll()
            }
            #expect(try await test.ledger().map(\.offer).filter { $0 != nil }.count == 1)
        }
    }

    @Test(arguments: Backend.available) func aPeriodBeyondTheYear9999StillGivesAReceipt(_ backend: Backend) async throws
    {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let transaction = try await test.buy("eternal", by: account)
            #expect(transaction.expiresDate == 253_402_300_799_000)
            #expect(try await !test.appReceipt(account).isEmpty)
            #expect(
                try await !test.store.transactionReceipt(
                    transaction.transactionID, TestStore.receiptRequest, for: account
                ).isEmpty)
        }
    }
}
