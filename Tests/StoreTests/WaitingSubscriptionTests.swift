import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// Subscriptions that are approved after the catalog has changed.
@Suite("Waiting subscriptions", .timeLimit(.minutes(1))) struct WaitingSubscriptionTests {
    private let signer = OfferSigner()

    /// Moves the clock to the end of the account's period.
    private func renew(_ test: TestStore, _ account: Account, times: Int) async throws {
        for _ in 0..<times {
            let subscription = try #require(try await test.store.subscriptions(of: account).first)
            try await test.store.changeClock { try $0.set(to: subscription.expiresDate) }
        }
    }

    private func replace(_ text: String, _ was: String, _ becomes: String) -> String {
        #expect(text.contains(was))
        return text.replacing(was, with: becomes)
    }

    // MARK: The usual price

    @Test(
        arguments: Backend.available,
        [("6.99", [0, 5990, 6990]), ("11.99", [0, 5990]), ("4.99", [0, 4990, 4990])] as [(String, [Int64])])
    func aHigherUsualPriceIsAnnouncedAfterAnIntroductoryOffer(
        _ backend: Backend, _ change: (String, [Int64])
    ) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let request = test.request("club.monthly", asksToBuy: true)
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            test.store.catalog.replace(
                with: try TestStore.catalog { replace($0, "displayPrice: 5.99\n", "displayPrice: \(change.0)\n") })
            #expect(try await test.store.approve(request.idempotencyKey).state == .purchased)
            try await renew(test, account, times: 2)
            // Nobody answered the increase to 11.99, which needs the customer's consent.
            #expect(try await test.ledger().map(\.price.milliunits) == change.1)
            let words = try await test.words(of: account)
            #expect(words.contains { $0.hasPrefix("PRICE_INCREASE") } == (change.0 != "4.99"))
        }
    }

    /// The offer has left the catalog, and the plan has become dearer.
    @Test(arguments: Backend.available) func aHigherUsualPriceIsAnnouncedAfterAWinBackOffer(
        _ backend: Backend
    ) async throws {
        try await backend.withStore { test async throws in
            test.store.catalog.replace(with: try OfferCatalog.catalog())
            let account = try await test.account()
            try await test.buy("club.basic", by: account)
            try await test.cancelSubscriptions(of: account)
            try await test.store.changeClock { try $0.advance(months: 2) }
            var request = test.request("club.monthly", asksToBuy: true)
            request.winBackOfferID = "return"
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            test.store.catalog.replace(
                with: try OfferCatalog.catalog { text in
                    replace(
                        replace(text, "offerID: return", "offerID: back"), "displayPrice: 5.99\n",
                        "displayPrice: 6.99\n")
                })
            #expect(try await test.store.approve(request.idempotencyKey).state == .purchased)
            try await renew(test, account, times: 3)
            let sold = try await test.ledger().dropFirst()
            #expect(sold.map(\.price.milliunits) == [1990, 1990, 5990, 6990])
            #expect(sold.map(\.winBackOfferID) == ["return", "return", nil, nil])
        }
    }

    // MARK: Offers that the catalog lost or changed

    @Test(
        arguments: Backend.available,
        [("half", [2990, 2990, 2990, 5990]), ("block", [9990, 5990]), ("gift", [0, 5990])] as [(String, [Int64])])
    func aRemovedPromotionalOfferIsSoldAsAgreed(_ backend: Backend, _ offer: (String, [Int64])) async throws {
        try await backend.withStore { test async throws in
            test.store.catalog.replace(with: try signer.catalog)
            let account = try await test.account()
            try await test.buy("club.monthly", by: account)
            try await test.cancelSubscriptions(of: account)
            test.clock.milliseconds += 8 * 86_400_000
            var request = test.request("club.monthly", asksToBuy: true)
            request.offer = try signer.offer(offer.0, at: test.clock.milliseconds)
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            test.store.catalog.replace(
                with: try signer.catalog(price: "5.99") { replace($0, "offerID: \(offer.0),", "offerID: other,") })
            #expect(try await test.store.approve(request.idempotencyKey).state == .purchased)
            try await renew(test, account, times: offer.1.count - 1)
            let sold = try await test.ledger().dropFirst()
            #expect(sold.map(\.price.milliunits) == offer.1)
            #expect(sold.dropLast().allSatisfy { $0.promotionalOfferID == offer.0 })
            #expect(sold.last?.promotionalOfferID == nil)
        }
    }

    @Test(
        arguments: Backend.available,
        [
            ("offerID: half,", "offerID: third,"),
            (
                "2.99, subscriptionPeriod: P1M, numberOfPeriods: 3",
                "4.99, subscriptionPeriod: P1M, numberOfPeriods: 6"
            ),
        ] as [(String, String)])
    func anOfferForTheNextRenewalIsTheAgreedOne(_ backend: Backend, _ change: (String, String)) async throws {
        try await backend.withStore { test async throws in
            test.store.catalog.replace(with: try signer.catalog)
            let account = try await test.account()
            let first = try await test.buy("club.monthly", by: account)
            var request = test.request("club.monthly", asksToBuy: true)
            request.offer = try signer.offer("half", at: test.clock.milliseconds)
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            test.store.catalog.replace(
                with: try signer.catalog(price: "5.99") { replace($0, change.0, change.1) })
            let approved = try await test.store.approve(request.idempotencyKey)
            #expect(approved.transaction?.transactionID == first.transactionID)
            try await renew(test, account, times: 4)
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [0, 2990, 2990, 2990, 5990])
            #expect(ledger.map(\.promotionalOfferID) == [nil, "half", "half", "half", nil])
        }
    }

    // MARK: Overdue renewals

    /// Runs a test with an account whose renewal is overdue: its third period, or a later one.
    /// - Parameter periods: the periods that an offer with a code has lasted already.
    private func withOverdue(
        _ backend: Backend, offer: String, after periods: Int = 0,
        _ body: (TestStore, Account) async throws -> Void
    ) async throws {
        try await backend.withStore { test async throws in
            test.store.catalog.replace(with: try OfferCatalog.catalog())
            let account = try await test.account()
            _ = try await test.customCode("CODE", offer)
            try await test.buy("club.monthly", by: account)
            try await advance(test, times: 2)
            try await test.redeem("CODE", by: account)
            try await advance(test, times: periods)
            try await test.store.payments.setRule(
                DeclineRule(ruleID: "no", accountID: nil, productID: nil, minimumAmount: nil, remaining: nil))
            try await advance(test, times: 1)
            try await test.store.payments.removeRules()
            try await body(test, account)
        }
    }

    private func advance(_ test: TestStore, times: Int) async throws {
        for _ in 0..<times { try await test.store.changeClock { try $0.advance(months: 1) } }
    }

    /// The sheet showed the product's price, because the offer cost more. The approval finds a dearer product.
    @Test(arguments: Backend.available) func anOfferThatTheRequestDidNotUseGoesOnWaiting(
        _ backend: Backend
    ) async throws {
        try await withOverdue(backend, offer: "Block") { test, account async throws in
            let request = test.request("club.monthly", asksToBuy: true)
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            test.store.catalog.replace(
                with: try OfferCatalog.catalog { replace($0, "displayPrice: 5.99\n", "displayPrice: 10.99\n") })
            #expect(try await test.store.approve(request.idempotencyKey).state == .purchased)
            try await advance(test, times: 1)
            let sold = try await test.ledger().suffix(2)
            #expect(sold.map(\.price.milliunits) == [5990, 9990])
            #expect(sold.map(\.offerCodeName) == [nil, "Block"])
        }
    }

    @Test(arguments: Backend.available, [0, 1])
    func anApprovalPaysAnOverdueRenewalWithItsOffer(_ backend: Backend, _ periods: Int) async throws {
        try await withOverdue(backend, offer: "Half", after: periods) { test, account async throws in
            let request = test.request("club.monthly", asksToBuy: true)
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            test.store.catalog.replace(
                with: try OfferCatalog.catalog { replace($0, "referenceName: Half", "referenceName: Third") })
            #expect(try await test.store.approve(request.idempotencyKey).state == .purchased)
            try await advance(test, times: 2 - periods)
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [990, 990, 5990, 2990, 2990, 5990])
            #expect(ledger.map(\.offerCodeName) == [nil, nil, nil, "Half", "Half", nil])
        }
    }

    @Test(arguments: Backend.available, [0, 1])
    func theOfferOfAnOverdueRenewalIsSoldOnce(_ backend: Backend, _ periods: Int) async throws {
        try await withOverdue(backend, offer: "Half", after: periods) { test, account async throws in
            let request = test.request("club.monthly", asksToBuy: true)
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            // The customer pays the renewal in another way, and lets the subscription end.
            try await test.buy("club.monthly", by: account)
            try await test.cancelSubscriptions(of: account)
            try await advance(test, times: 2)
            let before = try await test.ledger()
            #expect(before.last?.price.milliunits == 2990)
            let answer = try await test.store.approve(request.idempotencyKey)
            #expect(answer.state == .failed && answer.failure?.code == .priceChanged)
            #expect(try await test.ledger() == before)
            #expect(try await test.count("waiting_subscriptions") == 0)
        }
    }

    // MARK: Rows of older versions

    /// The request was for the product's price, and the overdue renewal has an offer.
    @Test(arguments: Backend.available) func withoutTermsAnAmountThatIsNoOffersIsNotSoldAsOne(
        _ backend: Backend
    ) async throws {
        try await withOverdue(backend, offer: "Half") { test, account async throws in
            let request = test.request("club.monthly", asksToBuy: true)
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            try await forgetTerms(test)
            try await test.database.write {
                try $0.execute("UPDATE purchases SET amount = 5990 WHERE state = 'deferred'")
            }
            #expect(try await test.store.approve(request.idempotencyKey).state == .purchased)
            try await advance(test, times: 3)
            let sold = try await test.ledger().suffix(4)
            #expect(sold.map(\.price.milliunits) == [5990, 2990, 2990, 5990])
            #expect(sold.map(\.offerCodeName) == [nil, "Half", "Half", nil])
        }
    }

    @Test(arguments: Backend.available) func withoutTermsAnotherIntroductoryPriceIsChargedOnce(
        _ backend: Backend
    ) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let request = test.request("club.yearly", asksToBuy: true)
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            try await forgetTerms(test)
            test.store.catalog.replace(
                with: try TestStore.catalog { replace($0, "displayPrice: 0.99, sub", "displayPrice: 0.49, sub") })
            #expect(try await test.store.approve(request.idempotencyKey).state == .purchased)
            try await renew(test, account, times: 1)
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [990, 49_990])
            #expect(ledger.map(\.offer) == [.introductory, nil])
        }
    }

    /// Makes the rows of waiting subscriptions those of an older version.
    private func forgetTerms(_ test: TestStore) async throws {
        try await test.database.write {
            try $0.execute(
                """
                UPDATE waiting_subscriptions SET offer_id = NULL, offer_kind = NULL, offer_mode = NULL,
                    offer_period = NULL, offer_periods_left = NULL, offer_ends = NULL, usual_price = NULL
                """)
        }
    }
}
