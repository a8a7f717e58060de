import StoreWire
import TestSupport
import Testing

@testable import Store

/// The terms of offers that customers accept before they begin.
@Suite("Waiting offers", .timeLimit(.minutes(1))) struct WaitingOfferTests {
    /// The offer `Half` in the catalog's text.
    private static let half =
        "referenceName: Half, paymentMode: payAsYouGo, displayPrice: 2.99, subscriptionPeriod: P1M, numberOfPeriods: 2"

    private func with(_ backend: Backend, _ body: (TestStore) async throws -> Void) async throws {
        try await backend.withStore { test async throws in
            test.store.catalog.replace(with: try OfferCatalog.catalog())
            try await body(test)
        }
    }

    private func change(_ test: TestStore, _ was: String, _ becomes: String) throws {
        test.store.catalog.replace(
            with: try OfferCatalog.catalog { text in
                #expect(text.contains(was))
                return text.replacing(was, with: becomes)
            })
    }

    private func advance(_ test: TestStore, times: Int) async throws {
        for _ in 0..<times { try await test.store.changeClock { try $0.advance(months: 1) } }
    }

    @Test(
        arguments: Backend.available,
        [
            half.replacing("2.99", with: "4.99"), half.replacing("2.99", with: "0.99"),
            half.replacing("numberOfPeriods: 2", with: "numberOfPeriods: 6"),
            "referenceName: Half, paymentMode: payUpFront, displayPrice: 7.99, subscriptionPeriod: P6M",
            "referenceName: Half, paymentMode: free, subscriptionPeriod: P1W",
            half.replacing("Half", with: "Third"),
        ])
    func theTermsAreThoseOfTheDayOfTheAcceptance(_ backend: Backend, _ changed: String) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("club.monthly", by: account)
            _ = try await test.customCode("HALF")
            try await test.redeem("HALF", by: account)
            try change(test, Self.half, changed)
            let subscription = try #require(try await test.store.subscriptions(of: account).first)
            guard case .success(let charge) = try await test.store.nextCharge(of: subscription) else {
                Issue.record("nothing will be charged")
                return
            }
            #expect(charge.price.milliunits == 2990)
            try await advance(test, times: 3)
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [990, 2990, 2990, 5990])
            #expect(ledger.map(\.offerCodeName) == [nil, "Half", "Half", nil])
            try #require(ledger.count == 4)
            #expect(ledger[1...2].allSatisfy { $0.offerTerms?.paymentMode == .payAsYouGo })
            #expect(ledger[1].offerTerms?.period == SubscriptionPeriod(unit: .month, count: 2))
            // The news announced what was charged.
            let redeemed = try #require(
                try await test.snapshots(of: first.transactionID).first { $0.words == "OFFER_REDEEMED" })
            let members = ["renewalPrice", "offerIdentifier", "offerDiscountType", "offerPeriod"]
            #expect(
                members.map { ReadSnapshot.text(redeemed.renewal[$0]) } == ["2990", "Half", "PAY_AS_YOU_GO", "P2M"])
        }
    }

    @Test(arguments: Backend.available) func anOfferThatStacksKeepsItsTerms(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            _ = try await test.customCode("STACK", "Stack")
            try await test.redeem("STACK", by: account)
            try change(test, "referenceName: Stack", "referenceName: Pile")
            try await advance(test, times: 3)
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [990, 990, 0, 5990])
            #expect(ledger.map(\.offerCodeName) == [nil, nil, "Stack", nil])
        }
    }

    @Test(arguments: Backend.available) func anOfferThatDoesNotRenewStillEnds(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            try await test.buy("club.monthly", by: account)
            _ = try await test.customCode("GIFT", "Gift")
            try await test.redeem("GIFT", by: account)
            try change(test, ", autoRenewEnabled: false", "")
            try await advance(test, times: 2)
            #expect(try await test.ledger().map(\.price.milliunits) == [990, 0])
            #expect(try await test.store.subscriptions(of: account).first?.state == .expired)
        }
    }

    /// A price in another currency cannot be kept. A free offer is free everywhere.
    @Test(arguments: Backend.available) func afterAMoveAPaidOfferHasTheCatalogsTerms(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let (ape, bob) = (try await test.account(), try await test.account("bob@example.com"))
            for (account, code, offer) in [(ape, "HALF", "Half"), (bob, "OLD", "Old")] {
                try await test.buy("club.monthly", by: account)
                _ = try await test.customCode(code, offer)
                try await test.redeem(code, by: account)
                _ = try await test.store.accounts.change(account.accountID, AccountChange(storefront: "JPN"))
            }
            try change(test, "referenceName: Old", "referenceName: Ancient")
            try await advance(test, times: 1)
            let japan = try #require(Storefront.named("JPN"))
            let plan = try #require(
                test.store.catalog.value.app(TestStore.bundleID)?.product("club.monthly")?.subscription)
            let half = try #require(plan.offer(NamedOffer(.code, "Half"))).description(in: japan)
            let renewed = try await test.ledger().filter(\.isRenewal)
            #expect(renewed.first { $0.accountID == ape.accountID }?.price == half.price)
            #expect(renewed.first { $0.accountID == ape.accountID }?.offerCodeName == "Half")
            let free = try #require(renewed.first { $0.accountID == bob.accountID })
            #expect(free.price == Money(milliunits: 0, currency: "JPY") && free.offerCodeName == "Old")
        }
    }

    /// A row of an older version has the offer's name only.
    @Test(arguments: Backend.available) func withoutTermsTheCatalogSays(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            try await test.buy("club.monthly", by: account)
            _ = try await test.customCode("HALF")
            try await test.redeem("HALF", by: account)
            try await test.database.write { try $0.execute("UPDATE subscriptions SET next_offer_mode = NULL") }
            try change(test, Self.half, Self.half.replacing("2.99", with: "3.99"))
            try await advance(test, times: 1)
            #expect(try await test.ledger().map(\.price.milliunits) == [990, 3990])
        }
    }
}
