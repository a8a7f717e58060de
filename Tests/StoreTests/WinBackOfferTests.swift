import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("Win-back offers", .timeLimit(.minutes(1))) struct WinBackOfferTests {
    private static let day: Int64 = 86_400_000

    private func usd(_ milliunits: Int64) -> Money { Money(milliunits: milliunits, currency: "USD") }

    private func with(
        _ backend: Backend, _ environment: StoreEnvironment = .sandbox, _ body: (TestStore) async throws -> Void
    ) async throws {
        try await backend.withStore(environment) { test async throws in
            test.store.catalog.replace(with: try OfferCatalog.catalog())
            try await body(test)
        }
    }

    private func request(
        _ test: TestStore, _ offer: String, _ product: ProductID = "club.monthly", key: UUID = UUID(),
        asksToBuy: Bool = false, agreed: Int64? = nil
    ) -> PurchaseRequest {
        var request = test.request(product, key: key, asksToBuy: asksToBuy, agreedPrice: agreed.map { usd($0) })
        request.winBackOfferID = offer
        return request
    }

    /// An account that subscribed for a month and no longer does.
    private func lapsed(_ test: TestStore, _ email: String = "ape@example.com") async throws -> Account {
        let account = try await test.account(email)
        try await test.buy("club.monthly", by: account)
        try await test.cancelSubscriptions(of: account)
        try await test.store.changeClock { try $0.advance(months: 2) }
        return account
    }

    private func offers(_ test: TestStore, _ account: Account) async throws -> [String] {
        let found = try await test.store.managedSubscriptions(of: account).subscriptions
        return found.flatMap(\.plans).compactMap { $0.offer?.offerID }
    }

    @Test(arguments: Backend.available) func aFormerSubscriberComesBackAtTheOffersPrice(_ backend: Backend) async throws
    {
        try await with(backend) { test async throws in
            let account = try await lapsed(test)
            // The preferred offer comes first, although the sandbox enforces no criteria.
            #expect(try await offers(test, account) == ["loyal", "return"])
            let key = UUID()
            let bought = request(test, "return", key: key, agreed: 1990)
            let response = try await test.store.purchase(bought, by: account)
            let transaction = try #require(response.transaction)
            #expect(try await test.store.purchase(bought, by: account) == response)
            var other = bought
            other.winBackOfferID = "loyal"
            #expect(try await refusal { try await test.store.purchase(other, by: account) } == .idempotencyKeyReused)
            for _ in 0..<2 { try await test.store.changeClock { try $0.advance(months: 1) } }
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [990, 1990, 1990, 5990])
            #expect(ledger.map(\.winBackOfferID) == [nil, "return", "return", nil])
            #expect(Set(ledger.map(\.originalTransactionID)) == [transaction.originalTransactionID])
            #expect(try await test.words(of: account).contains("SUBSCRIBED/RESUBSCRIBE"))
            #expect(try await offers(test, account).isEmpty)
            let answer = try await test.verify(test.appReceipt(account), password: test.sharedSecret)
            #expect(answer.latest.allSatisfy { $0["promotional_offer_id"] == nil && $0["offer_code_ref_name"] == nil })
        }
    }

    @Test(arguments: Backend.available) func onlyFormerSubscribersGetOne(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            func code(_ account: Account, _ offer: String = "return") async throws -> WireError.Code? {
                try await test.store.purchase(request(test, offer), by: account).failure?.code
            }
            let new = try await test.account("new@example.com")
            #expect(try await code(new) == .ineligibleForOffer)
            let current = try await test.account("current@example.com")
            try await test.buy("club.monthly", by: current)
            try await test.cancelSubscriptions(of: current)
            #expect(try await code(current) == .ineligibleForOffer)
            let overdue = try await test.account("overdue@example.com")
            try await test.buy("club.monthly", by: overdue)
            let id = try #require(try await test.store.subscriptions(of: overdue).first).originalTransactionID
            #expect(try await test.store.failRenewal(id).state == .billingRetry)
            try await test.store.payments.removeRules()
            #expect(try await code(overdue) == .ineligibleForOffer)
            #expect(try await offers(test, overdue).isEmpty)
            let former = try await lapsed(test, "former@example.com")
            #expect(try await code(former, "nothing") == .invalidOfferIdentifier)
            #expect(try await code(former, String(repeating: "a", count: 255)) == .invalidOfferIdentifier)
            #expect(
                try await refusal {
                    try await test.store.purchase(
                        request(test, String(repeating: "a", count: 256)), by: former)
                } == .invalidRequest)
            let hats = try await test.store.purchase(request(test, "return", "hats"), by: former)
            #expect(hats.failure?.code == .invalidOfferIdentifier)
            let price = try await test.store.purchase(request(test, "return", agreed: 5990), by: former)
            #expect(price.failure?.code == .priceChanged)
            #expect(try await code(former) == nil)
        }
    }

    @Test(arguments: Backend.available) func aPurchaseThatWaitsKeepsItsOffer(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let account = try await lapsed(test)
            let key = UUID()
            let waiting = try await test.store.purchase(
                request(test, "return", key: key, asksToBuy: true), by: account)
            #expect(waiting.state == .deferred)
            #expect(try await test.store.approve(key).state == .purchased)
            let row = try #require(try await test.ledger().last)
            #expect(row.price.milliunits == 1990 && row.winBackOfferID == "return")
        }
    }

    @Test(arguments: Backend.available) func theCustomersPageSellsIt(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let account = try await lapsed(test)
            let subscription = try #require(
                try await test.store.managedSubscriptions(of: account).subscriptions.first)
            let plan = try #require(subscription.plans.first { $0.offer?.offerID == "return" })
            #expect(plan.agreedPrice == usd(1990) && plan.price == usd(5990) && plan.effect == .now)
            let answer = try await test.store.changePlan(
                of: subscription.originalTransactionID,
                PlanChangeRequest(
                    productID: plan.productID, agreedPrice: plan.agreedPrice, idempotencyKey: UUID(),
                    winBackOfferID: "return"), by: account)
            #expect(answer.state == .purchased)
            #expect(try await test.ledger().last?.winBackOfferID == "return")
        }
    }

    /// Who has the subscription through the family has no reason to come back.
    @Test(arguments: Backend.available) func aMemberOfAFamilyThatSubscribesGetsNone(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            test.store.catalog.replace(
                with: try OfferCatalog.catalog {
                    $0.replacing(
                        "productID: club.monthly\n",
                        with: "productID: club.monthly\n            familyShareable: true\n")
                })
            let account = try await lapsed(test)
            let other = try await test.account("bee@example.com")
            _ = try await test.store.createFamily(of: other)
            _ = try await test.store.addToFamily(of: other, account)
            #expect(try await offers(test, account) == ["loyal", "return"])
            try await test.buy("club.monthly", by: other)
            #expect(try await offers(test, account).isEmpty)
            let answer = try await test.store.purchase(request(test, "return"), by: account)
            #expect(answer.failure?.code == .ineligibleForOffer)
            _ = try await test.store.setSharing(false, of: other)
            #expect(try await offers(test, account) == ["loyal", "return"])
        }
    }

    /// Production enforces the criteria: three paid months, over for one to twelve months, half a year between offers.
    @Test(arguments: [(2, 2, false), (3, 2, true), (3, 0, false), (3, 13, false), (5, 11, true)])
    func productionEnforcesTheCriteria(_ paid: Int, _ lapsed: Int, _ isEligible: Bool) async throws {
        try await with(.sqlite, .production) { test async throws in
            let account = try await test.account()
            try await test.buy("club.monthly", by: account)
            for _ in 1..<paid { try await test.store.changeClock { try $0.advance(months: 1) } }
            try await test.cancelSubscriptions(of: account)
            try await test.store.changeClock { try $0.advance(months: Int64(1 + lapsed)) }
            let listed = try await offers(test, account)
            let isListed = lapsed < 12
            #expect(listed == (isEligible ? ["loyal", "return"] : isListed ? ["return"] : []))
            let answer = try await test.store.purchase(request(test, "loyal", agreed: 0), by: account)
            #expect(answer.failure?.code == (isEligible ? nil : .ineligibleForOffer))
            guard isEligible else { return }
            // The next one only after half a year.
            try await test.cancelSubscriptions(of: account)
            try await test.store.changeClock { try $0.advance(months: 4) }
            #expect(try await offers(test, account) == ["return"])
            try await test.store.changeClock { try $0.advance(months: 3) }
            #expect(try await offers(test, account) == ["loyal", "return"])
        }
    }
}
