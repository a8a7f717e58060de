import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

/// What is paid for codes, and for renewals that a customer pays by hand.
@Suite("Payments of codes and overdue renewals", .timeLimit(.minutes(1))) struct OfferCodePaymentTests {
    private func with(
        _ backend: Backend, processor: (any PaymentProcessor)? = nil, _ body: (TestStore) async throws -> Void
    ) async throws {
        try await backend.withStore(.sandbox, processor: processor) { test async throws in
            test.store.catalog.replace(with: try OfferCatalog.catalog())
            try await body(test)
        }
    }

    private func advance(_ test: TestStore, months: Int64 = 1, times: Int = 1) async throws {
        for _ in 0..<times { try await test.store.changeClock { try $0.advance(months: months) } }
    }

    @Test(arguments: Backend.available) func aPaymentOfBeforeACrashIsVoidedByARefusal(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await with(backend, processor: processor) { test async throws in
            let account = try await test.account()
            let batch = try await test.customCode("ONCE")
            // The store authorizes the payment and cannot record it.
            try await test.store.database.write { try $0.execute("ALTER TABLE subscription_news RENAME TO away") }
            await #expect(throws: (any Error).self) { try await test.redeem("ONCE", by: account) }
            try await test.store.database.write { try $0.execute("ALTER TABLE away RENAME TO subscription_news") }
            #expect(processor.held.count == 1)
            try await test.store.deactivateOfferCodes(batch.batchID)
            #expect(try await refusal { try await test.redeem("ONCE", by: account) } == .unknownCode)
            #expect(processor.held.isEmpty)
            #expect(try await test.ledger().isEmpty)
        }
    }

    @Test(arguments: Backend.available) func theRecordedAmountStaysAuthorized(_ backend: Backend) async throws {
        let between = Mutex<(@Sendable () async throws -> Void)?>(nil)
        let processor = ScriptedProcessor { payment in
            let action = between.withLock { action in
                defer { action = nil }
                return action
            }
            try await action?()
            return .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await with(backend, processor: processor) { test async throws in
            let account = try await test.account()
            _ = try await test.customCode("TWICE")
            // While the first redemption is authorized, the price changes and another device redeems the code.
            let store = test.store
            between.withLock { action in
                action = {
                    store.catalog.replace(
                        with: try OfferCatalog.catalog {
                            $0.replacing("displayPrice: 2.99, subs", with: "displayPrice: 1.49, subs")
                        })
                    _ = try await store.redeem(
                        CodeRedemptionRequest(bundleID: TestStore.bundleID, code: "TWICE"), by: account)
                }
            }
            try await test.redeem("TWICE", by: account)
            #expect(try await test.ledger().map(\.price.milliunits) == [1490])
            #expect(Array(processor.held.values) == [1490])
        }
    }

    @Test func aCodeAfterTheSandboxsLastRenewalStillCounts() async throws {
        try await with(.sqlite) { test async throws in
            let account = try await test.account()
            _ = try await test.customCode("MORE")
            try await test.buy("club.monthly", by: account)
            try await advance(test, times: 12)
            try await test.redeem("MORE", by: account)
            try await advance(test, times: 3)
            let prices = try await test.ledger().map(\.price.milliunits)
            #expect(prices.count == 16 && Array(prices.suffix(4)) == [5990, 2990, 2990, 5990])
        }
    }

    @Test(arguments: Backend.available) func buyingAnOverdueRenewalCostsWhatTheCodeSays(_ backend: Backend) async throws
    {
        try await with(backend) { test async throws in
            let account = try await test.account()
            _ = try await test.customCode("HALF")
            try await test.buy("club.monthly", by: account)
            try await advance(test, times: 2)
            try await test.redeem("HALF", by: account)
            try await test.store.payments.setRule(
                DeclineRule(ruleID: "no", accountID: nil, productID: nil, minimumAmount: nil, remaining: nil))
            try await advance(test)
            try await test.store.payments.removeRules()
            // The request names no offer, and repeated it has the same answer.
            let request = test.request("club.monthly")
            let answer = try await test.store.purchase(request, by: account)
            #expect(answer.state == .purchased)
            #expect(try await test.store.purchase(request, by: account) == answer)
            try await advance(test, times: 2)
            #expect(try await test.ledger().map(\.price.milliunits) == [990, 990, 5990, 2990, 2990, 5990])
            #expect(try await test.words(of: account).contains("DID_RENEW/BILLING_RECOVERY"))
        }
    }

    @Test(arguments: Backend.available) func anOfferThatCostsMoreThanTheProductComesLater(_ backend: Backend)
        async throws
    {
        try await with(backend) { test async throws in
            let account = try await test.account()
            _ = try await test.customCode("BLOCK", "Block")
            try await test.buy("club.monthly", by: account)
            try await advance(test, times: 2)
            try await test.redeem("BLOCK", by: account)
            try await failNextRenewal(test)
            // The sheet says 5.99.
            try await test.buy("club.monthly", by: account)
            #expect(try await test.ledger().last?.price.milliunits == 5990)
            try await advance(test)
            #expect(try await test.ledger().last?.price.milliunits == 9990)
            #expect(try await test.ledger().last?.offerCodeName == "Block")
        }
    }

    @Test(arguments: Backend.available) func payingByHandIsARenewalAtThePriceThatTheSubscriberKeeps(
        _ backend: Backend
    ) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            try await test.buy("club.basic", by: account)
            test.store.catalog.replace(
                with: try OfferCatalog.catalog {
                    $0.replacing("displayPrice: 1.99 }\n", with: "displayPrice: 4.99, preserveCurrentPrice: true }\n")
                })
            try await failNextRenewal(test)
            try await test.buy("club.basic", by: account)
            try await advance(test)
            let rows = try await test.ledger()
            #expect(
                rows.map(\.price.milliunits) == [1990, 1990, 1990] && rows.map(\.isRenewal) == [false, true, true])
            // An increase that is ordered for one customer holds, and stays when it was charged.
            _ = try await test.store.increasePrice(
                of: "club.basic", in: TestStore.bundleID, to: 2990, for: account)
            try await test.store.answerPriceIncrease(
                PriceConsentRequest(
                    bundleID: TestStore.bundleID, productID: "club.basic",
                    newPrice: Money(milliunits: 2990, currency: "USD"), accepts: true), of: account)
            try await advance(test, times: 2)
            #expect(try await test.ledger().suffix(2).map(\.price.milliunits) == [2990, 2990])
            let original = try #require(rows.first).originalTransactionID
            let snapshot = try #require(try await test.snapshots(of: original).last)
            #expect(ReadSnapshot.text(snapshot.renewal["renewalPrice"]) == "2990")
        }
    }

    private func failNextRenewal(_ test: TestStore) async throws {
        try await test.store.payments.setRule(
            DeclineRule(ruleID: "no", accountID: nil, productID: nil, minimumAmount: nil, remaining: nil))
        try await advance(test)
        try await test.store.payments.removeRules()
    }

    @Test(arguments: Backend.available) func aDeclinedCardIsSaidToEveryRequest(_ backend: Backend) async throws {
        let processor = ScriptedProcessor { _ in .declined(message: "No.") }
        try await with(backend, processor: processor) { test async throws in
            let account = try await test.account()
            _ = try await test.customCode("NO")
            let codes = await withTaskGroup(of: WireError.Code?.self) { group in
                for _ in 0..<4 {
                    group.addTask { try? await refusal { try await test.redeem("NO", by: account) } }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(
                codes.allSatisfy { $0 == .paymentDeclined || $0 == .unavailable } && codes.contains(.paymentDeclined))
            #expect(processor.held.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func aRefusedIncreaseEndsOneSubscriptionOnly(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            try await test.buy("club.basic", by: account)
            _ = try await test.store.increasePrice(of: "club.basic", in: TestStore.bundleID, to: 2990, for: account)
            try await test.store.answerPriceIncrease(
                PriceConsentRequest(
                    bundleID: TestStore.bundleID, productID: "club.basic",
                    newPrice: Money(milliunits: 2990, currency: "USD"), accepts: false), of: account)
            try await advance(test)
            #expect(try await test.store.subscriptions(of: account).first?.state == .expired)
            try await test.buy("club.basic", by: account)
            try await advance(test, times: 2)
            #expect(try await test.ledger().map(\.price.milliunits) == [1990, 1990, 1990, 1990])
        }
    }

    @Test(arguments: Backend.available) func anAnswerToAPriceThatFellCountsNoLonger(_ backend: Backend) async throws {
        func price(_ text: String) throws -> Catalog {
            try OfferCatalog.catalog { $0.replacing("displayPrice: 1.99 }\n", with: "displayPrice: \(text) }\n") }
        }
        try await with(backend) { test async throws in
            let account = try await test.account()
            try await test.buy("club.basic", by: account)
            test.store.catalog.replace(with: try price("2.49"))
            // Told with the first renewal, and charged with the second.
            try await advance(test, times: 2)
            test.store.catalog.replace(with: try price("1.99"))
            try await advance(test)
            test.store.catalog.replace(with: try price("2.49"))
            try await advance(test)
            #expect(try await test.ledger().map(\.price.milliunits) == [1990, 1990, 2490, 1990, 1990])
        }
    }
}
