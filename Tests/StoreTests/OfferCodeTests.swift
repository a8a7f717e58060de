import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// A catalog with a group of three levels, whose middle plan has offers with codes.
enum OfferCatalog {
    /// Changes the text of the catalog.
    static func catalog(_ edit: (String) -> String = { $0 }) throws -> Catalog {
        try Catalog(apps: try CornerstoreCatalogFile.read(Array(edit(text).utf8), file: "codes.yaml").apps)
    }

    static let text = """
        cornerstore-catalog: 1
        apps:
          - bundleID: com.example.monkeys
            products: [{ productID: hats, type: NonConsumable, displayPrice: 2.99 }]
            subscriptionGroups:
              - id: "21000001"
                name: Club
                subscriptions:
                  - { productID: club.gold, groupNumber: 1, recurringSubscriptionPeriod: P1M, displayPrice: 9.99 }
                  - productID: club.monthly
                    groupNumber: 2
                    recurringSubscriptionPeriod: P1M
                    displayPrice: 5.99
                    introductoryOffers:
                      - { paymentMode: payAsYouGo, displayPrice: 0.99, subscriptionPeriod: P1M, numberOfPeriods: 2 }
                    codeOffers:
                      - { referenceName: Half, paymentMode: payAsYouGo, displayPrice: 2.99, subscriptionPeriod: P1M, numberOfPeriods: 2 }
                      - { referenceName: Block, paymentMode: payUpFront, displayPrice: 9.99, subscriptionPeriod: P3M }
                      - { referenceName: Gift, paymentMode: free, subscriptionPeriod: P1W, autoRenewEnabled: false }
                      - { referenceName: Stack, paymentMode: free, subscriptionPeriod: P1M, isStackable: true }
                      - { referenceName: New, paymentMode: free, subscriptionPeriod: P1M, eligibility: [new] }
                      - { referenceName: Old, paymentMode: free, subscriptionPeriod: P1M, eligibility: [existing] }
                      - { referenceName: Gone, paymentMode: free, subscriptionPeriod: P1M, eligibility: [expired] }
                      - { referenceName: Mix, paymentMode: free, subscriptionPeriod: P1M, eligibility: [new, expired] }
                    winbackOffers:
                      - { offerID: return, paymentMode: payAsYouGo, displayPrice: 1.99, subscriptionPeriod: P1M, numberOfPeriods: 2 }
                      - offerID: loyal
                        paymentMode: free
                        subscriptionPeriod: P1M
                        customers: { paidMonths: 3, lapsedMonths: 1, mostLapsedMonths: 12, waitMonths: 6, isPreferred: true }
                  - { productID: club.yearly, groupNumber: 2, recurringSubscriptionPeriod: P1Y, displayPrice: 49.99 }
                  - { productID: club.basic, groupNumber: 3, recurringSubscriptionPeriod: P1M, displayPrice: 1.99 }
          - bundleID: com.example.other
            products: [{ productID: thing, type: NonConsumable, displayPrice: 1.99 }]
        """
}

extension TestStore {
    /// Creates a custom code.
    func customCode(
        _ code: String, _ offer: String = "Half", limit: Int = 10, expiresAt: Int64? = nil,
        of product: ProductID = "club.monthly"
    ) async throws -> OfferCodeBatch {
        try await store.createOfferCodes(
            NewOfferCodes(
                bundleID: Self.bundleID, productID: product, offer: offer, customCode: code, count: limit,
                expiresAt: expiresAt))
    }

    /// Creates a batch, and returns its codes.
    func oneTimeCodes(_ count: Int, _ offer: String = "Half") async throws -> [String] {
        let batch = try await store.createOfferCodes(
            NewOfferCodes(bundleID: Self.bundleID, productID: "club.monthly", offer: offer, count: count))
        return try await store.offerCodes(of: batch.batchID).codes.map(\.code)
    }

    @discardableResult
    func redeem(_ code: String, by account: Account) async throws -> TransactionDescription {
        try await store.redeem(CodeRedemptionRequest(bundleID: Self.bundleID, code: code), by: account)
    }

    /// The types and subtypes of a subscription's news, oldest first.
    func words(of account: Account) async throws -> [String] {
        guard let subscription = try await store.subscriptions(of: account).first else { return [] }
        return try await store.news(of: subscription.originalTransactionID, limit: 200).reversed().map {
            [$0.type.rawValue, $0.subtype?.rawValue].compactMap(\.self).joined(separator: "/")
        }
    }
}

@Suite("Offer codes", .timeLimit(.minutes(1))) struct OfferCodeTests {
    private func with(
        _ backend: Backend, _ environment: StoreEnvironment = .sandbox, processor: (any PaymentProcessor)? = nil,
        _ body: (TestStore) async throws -> Void
    ) async throws {
        try await backend.withStore(environment, processor: processor) { test async throws in
            test.store.catalog.replace(with: try OfferCatalog.catalog())
            try await body(test)
        }
    }

    private func advance(_ test: TestStore, months: Int64 = 1, times: Int = 1) async throws {
        for _ in 0..<times { try await test.store.changeClock { try $0.advance(months: months) } }
    }

    // MARK: New, existing and former subscribers

    @Test(arguments: Backend.available) func aNewCustomersCodeBeginsNowAndRenewsAtItsPrice(
        _ backend: Backend
    ) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            let code = try #require(try await test.oneTimeCodes(1).first)
            #expect(code.utf8.count == 18)
            let transaction = try await test.redeem(code.lowercased(), by: account)
            #expect(transaction.productID == "club.monthly" && transaction.expiresDate != nil)
            #expect(try await test.redeem(code, by: account) == transaction)
            try await advance(test, times: 3)
            let ledger = try await test.ledger()
            // The code takes the place of the introductory offer.
            #expect(ledger.map(\.price.milliunits) == [2990, 2990, 5990, 5990])
            #expect(ledger.map(\.offerCodeName) == ["Half", "Half", nil, nil])
            #expect(ledger.allSatisfy { $0.offer == nil && $0.promotionalOfferID == nil })
            let words = try await test.words(of: account)
            #expect(words == ["SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_RENEW", "DID_RENEW"])
            let answer = try await test.verify(test.appReceipt(account), password: test.sharedSecret)
            #expect(answer.latest.map { $0["offer_code_ref_name"] as? String } == [nil, nil, "Half", "Half"])
            #expect(answer.latest.allSatisfy { $0["promotional_offer_id"] == nil })
        }
    }

    /// After an offer of another plan, that plan's price holds, and not the earlier plan's.
    @Test(arguments: Backend.available) func anOfferOfAnotherPlanIsFollowedByItsPrice(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await with(backend, processor: processor) { test async throws in
            test.store.catalog.replace(
                with: try OfferCatalog.catalog {
                    $0.replacing(
                        "recurringSubscriptionPeriod: P1Y, displayPrice: 49.99 }",
                        with: "recurringSubscriptionPeriod: P1Y, displayPrice: 49.99, "
                            + "codeOffers: [{ referenceName: Year, paymentMode: payUpFront, displayPrice: 19.99, subscriptionPeriod: P1Y }] }"
                    )
                })
            let account = try await test.account()
            // Two months of the introductory offer, and one at the price.
            try await test.buy("club.monthly", by: account)
            try await advance(test, times: 2)
            _ = try await test.customCode("YEAR", "Year", of: "club.yearly")
            try await test.redeem("YEAR", by: account)
            try await advance(test)
            try await advance(test, months: 12, times: 2)
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [990, 990, 5990, 19_990, 49_990, 49_990])
            #expect(try await !test.words(of: account).contains { $0.hasPrefix("PRICE_INCREASE") })
            #expect(processor.held.values.reduce(0, +) == ledger.map(\.price.milliunits).reduce(0, +))
        }
    }

    /// An offer that waits is not listed when no renewal comes.
    @Test(arguments: Backend.available) func aWaitingCodeIsListedWhileItCanCome(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("club.monthly", by: account)
            _ = try await test.customCode("HALF")
            try await test.redeem("HALF", by: account)
            func name() async throws -> String? {
                let answer = try await test.verify(test.appReceipt(account), password: test.sharedSecret)
                return answer.pending.first?["offer_code_ref_name"] as? String
            }
            #expect(try await name() == "Half")
            _ = try await test.store.setAutoRenew(false, of: first.transactionID)
            #expect(try await name() == nil)
            try await advance(test, times: 3)
            #expect(try await test.store.subscriptions(of: account).first?.state == .expired)
            #expect(try await name() == nil)
        }
    }

    @Test(arguments: Backend.available) func aSubscribersCodeBeginsWithTheRenewal(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("club.monthly", by: account)
            try await advance(test, times: 2)
            try await test.cancelSubscriptions(of: account)
            _ = try await test.customCode("SPRING", "Block")
            let current = try #require(try await test.ledger().last)
            #expect(try await test.redeem("spring", by: account).transactionID == current.transactionID)
            // A device that lost the answer gets it again, although nothing was bought.
            #expect(try await test.redeem("SPRING", by: account).transactionID == current.transactionID)
            let words = try await test.words(of: account).suffix(2)
            #expect(words == ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", "OFFER_REDEEMED"])
            let subscription = try #require(try await test.store.subscriptions(of: account).first)
            #expect(subscription.nextOffer == NamedOffer(.code, "Block"))
            guard case .success(let charge) = try await test.store.nextCharge(of: subscription) else {
                Issue.record("nothing will be charged")
                return
            }
            #expect(charge.price.milliunits == 9990)
            let pending = try await test.verify(test.appReceipt(account), password: test.sharedSecret).pending.first
            #expect(pending?["offer_code_ref_name"] as? String == "Block")
            #expect(pending?["promotional_offer_id"] == nil)
            try await advance(test)
            let row = try #require(try await test.ledger().last)
            #expect(row.price.milliunits == 9990 && row.offerCodeName == "Block")
            #expect(row.originalTransactionID == first.transactionID)
            try await advance(test, months: 3)
            #expect(try await test.ledger().last?.price.milliunits == 5990)
            #expect(try await test.ledger().last?.offerCodeName == nil)
            try await test.store.finish(current.transactionID, of: account)
            #expect(try await refusal { try await test.redeem("SPRING", by: account) } == .codeUsed)
        }
    }

    @Test(arguments: Backend.available) func aFormerSubscriberResubscribesWithACode(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            let first = try await test.buy("club.monthly", by: account, username: "Ape-7")
            try await test.cancelSubscriptions(of: account)
            try await advance(test, months: 3)
            let code = try #require(try await test.oneTimeCodes(1).first)
            let transaction = try await test.redeem(code, by: account)
            #expect(transaction.originalTransactionID == first.transactionID)
            // The merchant finds the owner.
            #expect(transaction.applicationUsername == "Ape-7")
            #expect(try await test.ledger().map(\.price.milliunits) == [990, 2990])
            #expect(try await test.words(of: account).last == "SUBSCRIBED/RESUBSCRIBE")
        }
    }

    @Test(arguments: Backend.available) func anUpgradeBeginsNowAndALowerPlanIsRefused(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await with(backend, processor: processor) { test async throws in
            _ = try await test.customCode("UP")
            let (basic, gold, yearly) = (
                try await test.account("basic@example.com"), try await test.account("gold@example.com"),
                try await test.account("yearly@example.com")
            )
            try await test.buy("club.basic", by: basic)
            try await test.buy("club.gold", by: gold)
            try await test.buy("club.yearly", by: yearly)
            let upgrade = try await test.redeem("UP", by: basic)
            #expect(upgrade.productID == "club.monthly")
            #expect(try await test.words(of: basic).last == "OFFER_REDEEMED/UPGRADE")
            #expect(try await test.ledger().first { $0.productID == "club.basic" }?.isUpgraded == true)
            #expect(processor.refunds.count == 1)
            #expect(try await refusal { try await test.redeem("UP", by: gold) } == .ineligibleForOffer)
            // The same level with another length waits for the renewal.
            #expect(try await test.redeem("UP", by: yearly).productID == "club.yearly")
            #expect(try await test.words(of: yearly).last == "OFFER_REDEEMED/DOWNGRADE")
            // Four payments are held; the keys of what was refused and of what waits are not used again.
            #expect(processor.held.count == 4 && Set(processor.voids).isDisjoint(with: processor.held.keys))
            let batches = try await test.store.offerCodeBatches()
            #expect(batches.map(\.redeemed) == [2])
        }
    }

    /// Who can redeem which offer: by the offer's list, the customer's state and the plan.
    @Test(
        arguments: [
            ("New", [true, false, false, false]), ("Old", [false, true, true, false]),
            ("Gone", [false, false, false, true]), ("Mix", [true, false, false, true]),
            ("Half", [true, true, true, true]),
        ] as [(String, [Bool])])
    func theEligibilityIsByTheCustomersState(_ offer: String, _ allowed: [Bool]) async throws {
        try await with(.sqlite) { test async throws in
            _ = try await test.customCode("A", offer)
            let new = try await test.account("new@example.com")
            let existing = try await test.account("existing@example.com")
            let overdue = try await test.account("overdue@example.com")
            let expired = try await test.account("expired@example.com")
            try await test.buy("club.monthly", by: existing)
            try await test.buy("club.monthly", by: overdue)
            let id = try #require(try await test.store.subscriptions(of: overdue).first).originalTransactionID
            #expect(try await test.store.failRenewal(id).state == .billingRetry)
            try await test.store.payments.removeRules()
            try await test.buy("club.monthly", by: expired)
            let over = try #require(try await test.store.subscriptions(of: expired).first).originalTransactionID
            #expect(try await test.store.expireNow(over).state == .expired)
            for (account, isAllowed) in zip([new, existing, overdue, expired], allowed) {
                let code = try await refusal { try await test.redeem("A", by: account) }
                #expect(code == (isAllowed ? nil : .ineligibleForOffer), "\(offer) \(account.email)")
            }
            #expect(try await test.store.offerCodeBatches().first?.redeemed == allowed.count { $0 })
        }
    }

    // MARK: Offers that stack, and offers that end

    @Test(arguments: Backend.available) func anOfferThatStacksFollowsTheIntroductoryOffer(
        _ backend: Backend
    ) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            _ = try await test.customCode("STACK", "Stack")
            try await test.redeem("STACK", by: account)
            try await advance(test, times: 3)
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [990, 990, 0, 5990])
            #expect(ledger.map(\.offer) == [.introductory, .introductory, nil, nil])
            #expect(ledger.map(\.offerCodeName) == [nil, nil, "Stack", nil])
        }
    }

    @Test(arguments: Backend.available) func anOfferWithoutRenewalEndsTheSubscription(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            _ = try await test.customCode("GIFT", "Gift")
            let (new, current) = (try await test.account(), try await test.account("current@example.com"))
            try await test.buy("club.monthly", by: current)
            try await test.redeem("GIFT", by: new)
            try await test.redeem("GIFT", by: current)
            #expect(try await test.store.subscriptions(of: new).first?.willRenew == false)
            #expect(try await test.store.subscriptions(of: current).first?.willRenew == true)
            try await advance(test, times: 2)
            for account in [new, current] {
                let subscription = try #require(try await test.store.subscriptions(of: account).first)
                #expect(subscription.state == .expired && subscription.expirationIntent == .cancelled)
                #expect(try await test.words(of: account).last == "EXPIRED/VOLUNTARY")
            }
            #expect(try await test.ledger().map(\.price.milliunits).sorted() == [0, 0, 990])
            // The customer can keep the subscription.
            let other = try await test.account("other@example.com")
            let kept = try await test.redeem("GIFT", by: other)
            _ = try await test.store.setAutoRenew(true, of: kept.originalTransactionID)
            try await advance(test)
            #expect(try await test.store.subscriptions(of: other).first?.state == .active)
            #expect(try await test.ledger().last?.price.milliunits == 5990)
        }
    }

    // MARK: Limits

    @Test(arguments: Backend.available) func oneOfManyCustomersRedeemsAOneTimeCode(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await with(backend, processor: processor) { test async throws in
            let code = try #require(try await test.oneTimeCodes(1).first)
            var accounts: [Account] = []
            for number in 0..<6 { accounts.append(try await test.account("ape\(number)@example.com")) }
            let outcomes = await outcomes(of: accounts.map { ($0, code) }, at: test)
            #expect(outcomes.count { $0 == nil } == 1 && outcomes.count { $0 == .codeUsed } == 5)
            #expect(try await test.ledger().count == 1)
            // Nobody else was charged.
            #expect(processor.held.count == 1)
            #expect(try await test.store.offerCodeBatches().map(\.redeemed) == [1])
        }
    }

    @Test(arguments: Backend.available) func oneCustomersRepeatedCodeIsOnePurchase(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await with(backend, processor: processor) { test async throws in
            let codes = try await test.oneTimeCodes(2)
            let account = try await test.account()
            let outcomes = await outcomes(of: (0..<6).map { _ in (account, codes[0]) }, at: test)
            #expect(outcomes.allSatisfy { $0 == nil })
            #expect(try await test.ledger().count == 1 && processor.held.count == 1 && processor.voids.isEmpty)
            // One code of an offer for each customer.
            #expect(try await refusal { try await test.redeem(codes[1], by: account) } == .codeUsed)
            let used = try await test.store.offerCodes(of: test.store.offerCodeBatches()[0].batchID).codes
            #expect(used.compactMap(\.accountID) == [account.accountID])
        }
    }

    @Test(arguments: Backend.available) func aCustomCodeHasALimit(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await with(backend, processor: processor) { test async throws in
            _ = try await test.customCode("THREE", limit: 3)
            var accounts: [Account] = []
            for number in 0..<8 { accounts.append(try await test.account("ape\(number)@example.com")) }
            let outcomes = await outcomes(of: accounts.map { ($0, "THREE") }, at: test)
            #expect(outcomes.count { $0 == nil } == 3 && outcomes.count { $0 == .codeUsed } == 5)
            #expect(try await test.ledger().count == 3 && processor.held.count == 3)
            #expect(try await test.store.offerCodeBatches().map(\.redeemed) == [3])
        }
    }

    private func outcomes(of redemptions: [(Account, String)], at test: TestStore) async -> [WireError.Code?] {
        await withTaskGroup(of: WireError.Code?.self) { group in
            for (account, code) in redemptions {
                group.addTask {
                    do { return try await refusal { try await test.redeem(code, by: account) } } catch {
                        return WireError.Code(rawValue: "\(error)")
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test(arguments: Backend.available) func codesEnd(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            let now = test.clock.milliseconds
            let expiring = try await test.customCode("LATE", expiresAt: now + 1000)
            let closed = try await test.customCode("CLOSED")
            try await test.store.deactivateOfferCodes(closed.batchID)
            #expect(try await refusal { try await test.redeem("CLOSED", by: account) } == .unknownCode)
            test.clock.milliseconds = now + 1000
            #expect(try await refusal { try await test.redeem("LATE", by: account) } == .unknownCode)
            #expect(try await test.store.offerCodeBatch(expiring.batchID).redeemed == 0)
            #expect(try await refusal { try await test.redeem("NEVER", by: account) } == .unknownCode)
            #expect(
                try await refusal {
                    try await test.store.redeem(
                        CodeRedemptionRequest(bundleID: "com.example.other", code: "LATE"), by: account)
                } == .unknownCode)
            // An offer that left the catalog is inactive.
            _ = try await test.customCode("LEFT", "Gift")
            test.store.catalog.replace(
                with: try OfferCatalog.catalog { $0.replacing("referenceName: Gift", with: "referenceName: Present") })
            #expect(try await refusal { try await test.redeem("LEFT", by: account) } == .unknownCode)
            #expect(try await test.ledger().isEmpty)
        }
    }

    @Test(arguments: Backend.available) func aDeclinedPaymentLeavesTheCode(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            let code = try #require(try await test.oneTimeCodes(1).first)
            try await test.store.payments.setRule(
                DeclineRule(ruleID: "no", accountID: nil, productID: nil, minimumAmount: nil, remaining: 2))
            for _ in 0..<2 {
                #expect(try await refusal { try await test.redeem(code, by: account) } == .paymentDeclined)
            }
            #expect(try await test.store.offerCodeBatches().map(\.redeemed) == [0])
            #expect(try await test.redeem(code, by: account).productID == "club.monthly")
            #expect(try await test.count("attempts") == 2)
        }
    }

    @Test func accountsThatCannotBuyCannotRedeem() async throws {
        try await with(.sqlite) { test async throws in
            _ = try await test.customCode("A")
            let child = try await test.account("child@example.com", asksToBuy: true)
            let guest = try await test.account("guest@example.com", paymentsAllowed: false)
            for account in [child, guest] {
                #expect(try await refusal { try await test.redeem("A", by: account) } == .paymentNotAllowed)
            }
        }
    }

    @Test(arguments: StoreEnvironment.allCases) func ordersHaveLimits(_ environment: StoreEnvironment) async throws {
        try await with(.sqlite, environment) { test async throws in
            let isProduction = environment == .production
            func order(
                _ count: Int, code: String? = nil, offer: String = "Half", product: ProductID = "club.monthly",
                app: BundleID = TestStore.bundleID, expiresAt: Int64? = nil
            ) async throws -> WireError.Code? {
                try await refusal {
                    try await test.store.createOfferCodes(
                        NewOfferCodes(
                            bundleID: app, productID: product, offer: offer, customCode: code, count: count,
                            expiresAt: expiresAt))
                }
            }
            #expect(try await order(1) == (isProduction ? .invalidRequest : nil))
            #expect(try await order(0) == .invalidRequest)
            #expect(try await order(25_001) == .invalidRequest)
            #expect(try await order(500) == nil)
            #expect(try await order(25_000) == (isProduction ? nil : .invalidRequest))
            #expect(try await order(5, offer: "Nothing") == .invalidOfferIdentifier)
            #expect(try await order(5, product: "club.gold") == .invalidOfferIdentifier)
            #expect(try await order(500, product: "hats") == .productNotAvailable)
            #expect(try await order(500, app: "com.example.none") == .unknownApp)
            #expect(try await order(500, expiresAt: test.clock.milliseconds) == .invalidRequest)
            #expect(try await order(5, code: "A-B") == .invalidRequest)
            #expect(try await order(5, code: "") == .invalidRequest)
            #expect(try await order(5, code: "ÄB") == .invalidRequest)
            #expect(try await order(5, code: String(repeating: "A", count: 65)) == .invalidRequest)
            #expect(try await order(5, code: String(repeating: "a", count: 64)) == nil)
            #expect(try await order(5, code: String(repeating: "A", count: 64)) == .wrongState)
            #expect(try await order(0, code: "B") == .invalidRequest)
            // The codes of a quarter, and the next quarter.
            let most = isProduction ? Store.mostCodesInQuarter : Store.mostSandboxCodesInQuarter
            #expect(try await order(most, code: "B") == .invalidRequest)
            test.clock.milliseconds += 90 * 86_400_000
            #expect(try await order(most, code: "B") == nil)
            #expect(try await order(500) == .invalidRequest)
        }
    }

    /// After the clock was set back, codes of a later quarter do not count.
    @Test(arguments: Backend.available) func aQuarterCountsItsOwnCodesOnly(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let most = Store.mostSandboxCodesInQuarter
            try await test.store.changeClock { try $0.advance(by: 90 * 86_400_000) }
            _ = try await test.customCode("LATER", limit: most)
            try await test.store.changeClock { $0.reset() }
            _ = try await test.customCode("EARLIER", limit: most)
            #expect(try await refusal { try await test.customCode("MORE", limit: 1) } == .invalidRequest)
            try await test.store.changeClock { try $0.advance(by: 90 * 86_400_000) }
            #expect(try await refusal { try await test.customCode("MORE", limit: 1) } == .invalidRequest)
            try await test.store.changeClock { try $0.advance(by: 90 * 86_400_000) }
            #expect(try await refusal { try await test.customCode("MORE", limit: 1) } == nil)
        }
    }

    @Test func codesAreRandomAndListedInPages() async throws {
        try await with(.sqlite) { test async throws in
            let batch = try await test.store.createOfferCodes(
                NewOfferCodes(bundleID: TestStore.bundleID, productID: "club.monthly", offer: "Half", count: 1500))
            let first = try await test.store.offerCodes(of: batch.batchID)
            let second = try await test.store.offerCodes(of: batch.batchID, after: first.codes.last?.code)
            #expect(first.hasMore && !second.hasMore)
            let codes = (first.codes + second.codes).map(\.code)
            #expect(codes.count == 1500 && Set(codes).count == 1500 && codes == codes.sorted())
            let alphabet = Set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
            #expect(codes.allSatisfy { $0.count == 18 && alphabet.isSuperset(of: $0) })
            // Every character is about as frequent as the others.
            let counts: [Character: Int] = codes.joined().reduce(into: [:]) { $0[$1, default: 0] += 1 }
            #expect(counts.count == 32 && counts.values.allSatisfy { (600...1100).contains($0) })
        }
    }

    @Test func aClearedHistoryLetsTheTesterRedeemAgain() async throws {
        try await with(.sqlite) { test async throws in
            let account = try await test.account()
            _ = try await test.customCode("AGAIN")
            try await test.redeem("AGAIN", by: account)
            _ = try await test.store.clearHistory(of: account)
            try await test.redeem("AGAIN", by: account)
            #expect(try await test.words(of: account) == ["SUBSCRIBED/INITIAL_BUY"])
        }
    }

    @Test func quartersBeginInJanuaryAprilJulyAndOctober() {
        let february: Int64 = 1_770_091_506_789
        #expect(Store.quarter(of: february) == 1_767_225_600_000..<1_775_001_600_000)
        #expect(Store.quarter(of: 1_775_001_600_000) == 1_775_001_600_000..<1_782_864_000_000)
    }
}
