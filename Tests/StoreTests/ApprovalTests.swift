import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct ApprovalTests {
    @Test(arguments: Backend.available) func anAskToBuyPurchaseWaitsForApproval(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let child = try await test.account(asksToBuy: true)
            let request = test.request("credits5", quantity: 3, username: "kid")
            let waiting = PurchaseResponse(state: .deferred, transaction: nil, failure: nil)
            #expect(try await test.store.purchase(request, by: child) == waiting)
            #expect(try await test.store.purchase(request, by: child) == waiting)
            #expect(processor.authorizations.isEmpty)
            #expect(try await test.ledger().isEmpty)
            let pending = try await test.store.pendingPurchases()
            #expect(pending.map(\.idempotencyKey) == [request.idempotencyKey])
            #expect(pending.first?.quantity == 3 && pending.first?.accountID == child.accountID)
            test.clock.milliseconds += 60_000
            let approved = try await test.store.approve(request.idempotencyKey)
            let transaction = try #require(approved.transaction)
            #expect(approved.state == .purchased && transaction.purchaseDate == TestClock.start + 60_000)
            #expect(transaction.quantity == 3 && transaction.applicationUsername == "kid")
            #expect(transaction.idempotencyKey == request.idempotencyKey)
            #expect(processor.authorizations.map(\.amount.milliunits) == [2970])
            // The device finds it, and its key has the answer now.
            let unfinished = try await test.store.unfinishedTransactions(of: child, in: TestStore.bundleID, after: nil)
            #expect(unfinished.transactions == [transaction])
            #expect(try await test.store.purchase(request, by: child) == approved)
            #expect(try await test.store.pendingPurchases().isEmpty)
            #expect(try await refusal { try await test.store.approve(request.idempotencyKey) } == .wrongState)
            #expect(try await refusal { try await test.store.decline(request.idempotencyKey) } == .wrongState)
            #expect(try await test.ledger().count == 1)
        }
    }

    @Test(arguments: Backend.available) func theNewestPendingPurchasesAreListed(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = test.request("hats", asksToBuy: true)
            #expect(try await test.store.purchase(first, by: account).state == .deferred)
            // A thousand more, each a second later.
            try await test.database.write { connection in
                for number in 1...1_000 as ClosedRange<Int64> {
                    try connection.execute(
                        """
                        INSERT INTO purchases (idempotency_key, account_id, bundle_id, product_id, quantity, state, amount,
                            currency, created_at)
                        VALUES ($1, $2, $3, 'hats', 1, 'deferred', 2990, 'USD', $4)
                        """,
                        [
                            UUID().uuidString, account.accountID.rawValue, TestStore.bundleID.rawValue,
                            TestClock.start + 1_000 * number,
                        ])
                }
            }
            let pending = try await test.store.pendingPurchases()
            let dates = pending.map(\.createdAt)
            #expect(dates == (1...1_000).map { TestClock.start + 1_000 * $0 })
        }
    }

    @Test(arguments: Backend.available) func aDeclinedPurchaseStaysDeclined(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let request = test.request("hats", asksToBuy: true)
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            try await test.store.decline(request.idempotencyKey)
            #expect(try await refusal { try await test.store.decline(request.idempotencyKey) } == .wrongState)
            #expect(try await refusal { try await test.store.approve(request.idempotencyKey) } == .wrongState)
            #expect(try await refusal { try await test.store.approve(UUID()) } == .wrongState)
            let answer = try await test.store.purchase(request, by: account)
            #expect(answer.state == .failed && answer.failure?.code == .paymentDeclined)
            #expect(try await test.ledger().isEmpty)
        }
    }

    @Test(arguments: Backend.available) func askToBuyIsSimulatedInTheSandboxOnly(_ backend: Backend) async throws {
        try await backend.withStore(.production) { test async throws in
            let account = try await test.account()
            #expect(
                try await test.store.purchase(test.request("hats", asksToBuy: true), by: account).state == .purchased)
        }
    }

    @Test(arguments: Backend.available) func anOwnedProductNeedsNoApproval(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            try await test.buy("hats", by: account)
            #expect(
                try await test.store.purchase(test.request("hats", asksToBuy: true), by: account).state == .purchased)
        }
    }

    @Test(arguments: Backend.available) func anApprovalFailsWithoutTheRightOrTheApp(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account(asksToBuy: true)
            let (request, later) = (test.request("hats"), test.request("credits5"))
            for request in [request, later] { _ = try await test.store.purchase(request, by: account) }
            _ = try await test.store.accounts.change(account.accountID, AccountChange(paymentsAllowed: false))
            let answer = try await test.store.approve(request.idempotencyKey)
            #expect(answer.failure?.code == .paymentNotAllowed)
            #expect(try await test.store.purchase(request, by: account) == answer)
            let others = test.store.catalog.value.apps.filter { $0.bundleID != TestStore.bundleID }
            test.store.catalog.replace(with: try Catalog(apps: others))
            let removed = try await test.store.approve(later.idempotencyKey)
            #expect(removed.state == .failed && removed.failure?.code == .productNotAvailable)
            #expect(try await test.store.purchase(later, by: account) == removed)
            #expect(try await test.store.pendingPurchases().isEmpty)
        }
    }

    @Test(arguments: Backend.available) func manyApprovalsAtOnceAreOnePurchase(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account(asksToBuy: true)
            let request = test.request("credits5")
            _ = try await test.store.purchase(request, by: account)
            let codes = try await withThrowingTaskGroup(of: WireError.Code?.self) { group in
                for _ in 0..<16 {
                    group.addTask { try await refusal { try await test.store.approve(request.idempotencyKey) } }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.filter { $0 == nil }.count == 1 && codes.filter { $0 == .wrongState }.count == 15)
            #expect(try await test.ledger().count == 1)
            // All were given the one authorization of that key, which is in use.
            #expect(processor.voids.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func theAuthorizationOfADeclinedPurchaseIsReleased(_ backend: Backend)
        async throws
    {
        let declined = Gate()
        let asked = Gate()
        let processor = ScriptedProcessor { payment in
            await asked.open()
            await declined.wait()
            return .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account(asksToBuy: true)
            let request = test.request("credits5")
            _ = try await test.store.purchase(request, by: account)
            async let approval = refusal { try await test.store.approve(request.idempotencyKey) }
            await asked.wait()
            try await test.store.decline(request.idempotencyKey)
            await declined.open()
            #expect(try await approval == .wrongState)
            #expect(try await test.ledger().isEmpty)
            #expect(processor.held.isEmpty && processor.authorizations.count == 1)
        }
    }
}

/// What a purchase that waited costs in the end.
@Suite(.timeLimit(.minutes(1))) struct AgreedPriceTests {
    struct Agreed: Sendable, CustomTestStringConvertible {
        var product: ProductID
        var quantity = 1
        /// In milliunits, when it was asked for.
        var amount: Int64
        /// In the catalog's text, and what takes its place.
        var was: String
        var becomes: String
        var offer: Transaction.Offer?
        var testDescription: String { "\(product) \(becomes)" }
    }

    static let agreed: [Agreed] = [
        Agreed(
            product: "credits5", quantity: 3, amount: 2970, was: "displayPrice: 0.99\n", becomes: "displayPrice: 1.99\n"
        ),
        Agreed(
            product: "credits5", quantity: 3, amount: 2970, was: "displayPrice: 0.99\n", becomes: "displayPrice: 0.49\n"
        ),
        Agreed(product: "hats", amount: 2990, was: "displayPrice: 2.99\n", becomes: "displayPrice: 29.99\n"),
        Agreed(
            product: "club.weekly", amount: 1490, was: "displayPrice: 1.49,", becomes: "displayPrice: 1.79,",
            offer: .introductory),
        Agreed(
            product: "club.weekly", amount: 1490, was: "displayPrice: 1.99\n", becomes: "displayPrice: 9.99\n",
            offer: .introductory),
        Agreed(
            product: "club.monthly", amount: 0, was: "paymentMode: free, subscriptionPeriod: P1W",
            becomes: "paymentMode: payUpFront, displayPrice: 3.99, subscriptionPeriod: P1W", offer: .trial),
    ]

    @Test(arguments: Backend.available, agreed)
    func itIsWhatTheCustomerAgreedTo(_ backend: Backend, _ agreed: Agreed) async throws {
        for isInterrupted in [false, true] {
            let processor = ScriptedProcessor()
            try await backend.withStore(processor: processor) { test async throws in
                let account = try await test.accountThatWaits(isInterrupted)
                let request = test.request(agreed.product, quantity: agreed.quantity)
                let waiting = try await test.store.purchase(request, by: account)
                #expect(waiting.transaction == nil && waiting.failure?.code == (isInterrupted ? .interrupted : nil))
                test.store.catalog.replace(
                    with: try TestStore.catalog { text in
                        #expect(text.contains(agreed.was))
                        return text.replacing(agreed.was, with: agreed.becomes)
                    })
                let key = request.idempotencyKey
                let sold = isInterrupted ? try await test.store.resolve(key) : try await test.store.approve(key)
                #expect(sold.state == .purchased)
                let row = try #require(try await test.ledger().last)
                #expect(row.price == Money(milliunits: agreed.amount, currency: "USD"))
                #expect(row.quantity == agreed.quantity && row.offer == agreed.offer)
                #expect(processor.held == (agreed.amount > 0 ? [key: agreed.amount] : [:]))
            }
        }
    }
}

/// An account that moved to another country while its purchase waited.
@Suite(.timeLimit(.minutes(1))) struct AgreedStorefrontTests {
    private func move(_ account: Account, to storefront: String, _ test: TestStore) async throws -> Account {
        try await test.store.accounts.change(account.accountID, AccountChange(storefront: storefront))
    }

    private func settle(_ key: UUID, _ isInterrupted: Bool, _ test: TestStore) async throws -> PurchaseResponse {
        isInterrupted ? try await test.store.resolve(key) : try await test.store.approve(key)
    }

    @Test(arguments: Backend.available, [false, true])
    func priceCurrencyAndStorefrontAreOfTheMomentOfTheRequest(
        _ backend: Backend, _ isInterrupted: Bool
    ) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.accountThatWaits(isInterrupted)
            let products: [ProductID] = ["credits5", "hats", "club.weekly"]
            var keys: [UUID] = []
            for product in products {
                let request = test.request(product)
                _ = try await test.store.purchase(request, by: account)
                keys.append(request.idempotencyKey)
            }
            let moved = try await move(account, to: "JPN", test)
            for key in keys { #expect(try await settle(key, isInterrupted, test).state == .purchased) }
            let rows = try await test.ledger()
            #expect(rows.map(\.storefront) == ["USA", "USA", "USA"])
            #expect(rows.map(\.price) == [990, 2990, 1490].map { Money(milliunits: $0, currency: "USD") })
            #expect(processor.authorizations.map(\.amount.currency) == ["USD", "USD", "USD"])
            // What is asked for from now on is Japan's.
            let request = test.request("credits5")
            _ = try await test.store.purchase(request, by: moved)
            _ = try await settle(request.idempotencyKey, isInterrupted, test)
            let last = try #require(try await test.ledger().last)
            #expect(last.storefront == "JPN" && last.price.currency == "JPY")
        }
    }

    @Test(arguments: Backend.available) func anApprovedPurchaseOfAnOwnedProductIsFree(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account(asksToBuy: true)
            let requests = [test.request("hats"), test.request("hats")]
            for request in requests { _ = try await test.store.purchase(request, by: account) }
            _ = try await move(account, to: "JPN", test)
            for request in requests { _ = try await test.store.approve(request.idempotencyKey) }
            let rows = try await test.ledger()
            #expect(rows.map(\.storefront) == ["USA", "USA"])
            #expect(rows.map(\.price) == [2990, 0].map { Money(milliunits: $0, currency: "USD") })
        }
    }

    /// A row that an earlier version wrote names no storefront.
    @Test(arguments: Backend.available, ["USA", "JPN"])
    func withoutItsStorefrontItIsSoldInItsCurrencyOnly(_ backend: Backend, _ now: String) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account(asksToBuy: true)
            let request = test.request("credits5")
            _ = try await test.store.purchase(request, by: account)
            try await test.database.write { try $0.execute("UPDATE purchases SET storefront = NULL") }
            _ = try await move(account, to: now, test)
            let answer = try await test.store.approve(request.idempotencyKey)
            if now == "USA" {
                #expect(answer.state == .purchased)
            } else {
                #expect(answer.failure?.code == .priceChanged)
                #expect(try await test.ledger().isEmpty)
                #expect(try await test.store.pendingPurchases().isEmpty)
            }
        }
    }
}

/// What the first period of a subscription is in the end that waited.
@Suite(.timeLimit(.minutes(1))) struct AgreedPeriodTests {
    private static let day: Int64 = 86_400_000

    private func days(_ test: TestStore) async throws -> [Int64] {
        try await test.ledger().map { (($0.expiresDate ?? 0) - $0.purchaseDate) / Self.day }
    }

    @Test(arguments: Backend.available, [false, true])
    func oneGroupIntroducesItselfOnce(_ backend: Backend, _ isInterrupted: Bool) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.accountThatWaits(isInterrupted)
            // Both are asked for while the account is new to the group.
            var keys: [UUID] = []
            for product: ProductID in ["club.monthly", "club.yearly", "gym.monthly"] {
                let request = test.request(product)
                _ = try await test.store.purchase(request, by: account)
                keys.append(request.idempotencyKey)
            }
            var answers: [PurchaseResponse] = []
            for key in keys {
                answers.append(
                    isInterrupted ? try await test.store.resolve(key) : try await test.store.approve(key))
            }
            #expect(answers.map(\.state) == [.purchased, .failed, .purchased])
            #expect(answers[1].failure?.code == .priceChanged)
            #expect(try await test.ledger().map(\.price.milliunits) == [0, 9990])
            #expect(try await days(test) == [7, 28])
            #expect(processor.held == [keys[2]: 9990])
            #expect(try await test.count("waiting_subscriptions") == 0)
        }
    }

    @Test(arguments: Backend.available) func anApprovedSubscriptionHasTheAgreedPeriod(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account(asksToBuy: true)
            let with = "paymentMode: free, subscriptionPeriod: P1W"
            let weeks = "paymentMode: free, subscriptionPeriod: P3W"
            let first = test.request("club.monthly")
            _ = try await test.store.purchase(first, by: account)
            test.store.catalog.replace(with: try TestStore.catalog { $0.replacing(with, with: weeks) })
            #expect(try await test.store.approve(first.idempotencyKey).state == .purchased)
            #expect(try await days(test) == [7])
        }
    }

    @Test(arguments: Backend.available) func aDeclinedPurchaseIsRemoved(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account(asksToBuy: true)
            let request = test.request("club.monthly")
            _ = try await test.store.purchase(request, by: account)
            #expect(try await test.count("waiting_subscriptions") == 1)
            try await test.store.decline(request.idempotencyKey)
            #expect(try await test.count("waiting_subscriptions") == 0)
        }
    }
}

/// The offer of a subscription whose purchase waited while the catalog's offer changed.
@Suite(.timeLimit(.minutes(1))) struct AgreedOfferTests {
    struct Agreed: Sendable, CustomTestStringConvertible {
        var product: ProductID
        /// In the catalog's text, and what takes its place.
        var was: String
        var becomes: String
        /// In milliunits, when it was asked for.
        var amount: Int64
        var firstPeriod: SubscriptionPeriod
        var discountType: String
        var offerPeriod: String
        /// The prices of the next renewals.
        var renewals: [Int64]
        var testDescription: String { "\(product) \(becomes)" }
    }

    private static let yearly =
        "[{ paymentMode: payAsYouGo, displayPrice: 0.99, subscriptionPeriod: P1M, numberOfPeriods: 3 }]"
    private static let weekly =
        "[{ paymentMode: payUpFront, displayPrice: 1.49, subscriptionPeriod: P3D, numberOfPeriods: 2 }]"

    static let agreed: [Agreed] = [
        Agreed(
            product: "club.yearly", was: yearly,
            becomes: "[{ paymentMode: payUpFront, displayPrice: 3.99, subscriptionPeriod: P6M }]", amount: 990,
            firstPeriod: SubscriptionPeriod(unit: .month, count: 1), discountType: "PAY_AS_YOU_GO", offerPeriod: "P3M",
            renewals: [990, 990, 49_990]),
        Agreed(
            product: "club.yearly", was: "introductoryOffers: \(yearly)",
            becomes: "codeOffers: [{ referenceName: Other, paymentMode: free, subscriptionPeriod: P1M }]", amount: 990,
            firstPeriod: SubscriptionPeriod(unit: .month, count: 1), discountType: "PAY_AS_YOU_GO", offerPeriod: "P3M",
            renewals: [990, 990, 49_990]),
        Agreed(
            product: "club.weekly", was: weekly,
            becomes: "[{ paymentMode: payAsYouGo, displayPrice: 0.49, subscriptionPeriod: P1W, numberOfPeriods: 2 }]",
            amount: 1490, firstPeriod: SubscriptionPeriod(unit: .day, count: 6), discountType: "PAY_UP_FRONT",
            offerPeriod: "P6D", renewals: [1990]),
        Agreed(
            product: "club.weekly", was: weekly, becomes: "[{ paymentMode: free, subscriptionPeriod: P1W }]",
            amount: 1490, firstPeriod: SubscriptionPeriod(unit: .day, count: 6), discountType: "PAY_UP_FRONT",
            offerPeriod: "P6D", renewals: [1990]),
        Agreed(
            product: "club.monthly", was: "[{ paymentMode: free, subscriptionPeriod: P1W }]",
            becomes: "[{ paymentMode: payAsYouGo, displayPrice: 0.99, subscriptionPeriod: P1M, numberOfPeriods: 2 }]",
            amount: 0, firstPeriod: SubscriptionPeriod(unit: .week, count: 1), discountType: "FREE_TRIAL",
            offerPeriod: "P1W", renewals: [5990]),
    ]

    @Test(arguments: Backend.available, agreed)
    func theOfferIsTheOneOfTheRequest(_ backend: Backend, _ agreed: Agreed) async throws {
        for isInterrupted in [false, true] {
            try await backend.withStore { test async throws in
                let account = try await test.accountThatWaits(isInterrupted)
                let request = test.request(agreed.product)
                _ = try await test.store.purchase(request, by: account)
                test.store.catalog.replace(
                    with: try TestStore.catalog { text in
                        #expect(text.contains(agreed.was))
                        return text.replacing(agreed.was, with: agreed.becomes)
                    })
                let key = request.idempotencyKey
                let sold = isInterrupted ? try await test.store.resolve(key) : try await test.store.approve(key)
                let id = try #require(sold.transaction).transactionID
                let row = try #require(try await test.ledger().last)
                #expect(row.price == Money(milliunits: agreed.amount, currency: "USD"))
                #expect(row.expiresDate == agreed.firstPeriod.end(from: row.purchaseDate))
                let snapshot = try #require(try await test.snapshots(of: id).first)
                let members = ["price", "offerType", "offerDiscountType", "offerPeriod"]
                #expect(
                    members.map { ReadSnapshot.text(snapshot.transaction[$0]) }
                        == ["\(agreed.amount)", "1", agreed.discountType, agreed.offerPeriod])
                let latest = try await test.verify(test.appReceipt(account), password: test.sharedSecret).latest.first
                let isTrial = agreed.amount == 0
                #expect(latest?["is_trial_period"] as? String == (isTrial ? "true" : "false"))
                #expect(latest?["is_in_intro_offer_period"] as? String == (isTrial ? "false" : "true"))
                for price in agreed.renewals {
                    let subscription = try #require(try await test.store.subscriptions(of: account).first)
                    try await test.store.changeClock { try $0.set(to: subscription.expiresDate) }
                    #expect(try await test.ledger().last?.price.milliunits == price)
                }
            }
        }
    }

    @Test(arguments: Backend.available) func aWinBackOfferIsTheOneOfTheRequest(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            test.store.catalog.replace(with: try OfferCatalog.catalog())
            let account = try await test.account()
            try await test.buy("club.basic", by: account)
            try await test.cancelSubscriptions(of: account)
            try await test.store.changeClock { try $0.advance(months: 2) }
            var request = test.request("club.monthly", asksToBuy: true)
            request.winBackOfferID = "return"
            #expect(try await test.store.purchase(request, by: account).state == .deferred)
            let was = "displayPrice: 1.99, subscriptionPeriod: P1M, numberOfPeriods: 2"
            test.store.catalog.replace(
                with: try OfferCatalog.catalog { text in
                    #expect(text.contains(was))
                    return text.replacing(was, with: "displayPrice: 4.99, subscriptionPeriod: P1M, numberOfPeriods: 6")
                })
            #expect(try await test.store.approve(request.idempotencyKey).state == .purchased)
            for _ in 0..<2 { try await test.store.changeClock { try $0.advance(months: 1) } }
            let sold = try await test.ledger().dropFirst()
            #expect(sold.map(\.price.milliunits) == [1990, 1990, 5990])
            #expect(sold.map(\.winBackOfferID) == ["return", "return", nil])
            #expect(sold.first?.offerTerms?.period == SubscriptionPeriod(unit: .month, count: 2))
        }
    }

    /// The price of the request is the one that the customer agreed to. A higher one is announced first.
    @Test(arguments: Backend.available) func aHigherPriceIsAnnouncedAfterAnApproval(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account(asksToBuy: true)
            let request = test.request("gym.monthly")
            _ = try await test.store.purchase(request, by: account)
            let was = "recurringSubscriptionPeriod: P1M\n            displayPrice: 9.99"
            test.store.catalog.replace(
                with: try TestStore.catalog { $0.replacing(was, with: was.replacing("9.99", with: "11.99")) })
            #expect(try await test.store.approve(request.idempotencyKey).state == .purchased)
            for _ in 0..<2 { try await test.store.changeClock { try $0.advance(months: 1) } }
            #expect(try await test.ledger().map(\.price.milliunits) == [9990, 9990, 11_990])
        }
    }

    /// A row of an older version says nothing of the offer, which is then the catalog's.
    @Test(arguments: Backend.available) func withoutTermsTheCatalogSays(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account(asksToBuy: true)
            let request = test.request("club.yearly")
            _ = try await test.store.purchase(request, by: account)
            try await test.database.write {
                try $0.execute("UPDATE waiting_subscriptions SET offer_mode = NULL, offer_ends = NULL")
            }
            test.store.catalog.replace(
                with: try TestStore.catalog { $0.replacing("numberOfPeriods: 3 }", with: "numberOfPeriods: 2 }") })
            #expect(try await test.store.approve(request.idempotencyKey).state == .purchased)
            for _ in 0..<2 { try await test.store.changeClock { try $0.advance(months: 1) } }
            let rows = try await test.ledger()
            #expect(rows.map(\.price.milliunits) == [990, 990, 49_990])
            #expect(rows.map(\.offer) == [.introductory, .introductory, nil])
            let terms = rows.prefix(2).map(\.offerTerms)
            #expect(terms.allSatisfy { $0?.period == SubscriptionPeriod(unit: .month, count: 2) })
        }
    }
}

extension TestStore {
    /// An account whose purchases wait: interrupted, or for approval.
    fileprivate func accountThatWaits(_ isInterrupted: Bool) async throws -> Account {
        let account = try await account(asksToBuy: !isInterrupted)
        guard isInterrupted else { return account }
        return try await store.accounts.change(account.accountID, AccountChange(interruptsPurchases: true))
    }
}

/// Lets nobody through until it is opened.
actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func open() {
        isOpen = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    func wait() async {
        if isOpen { return }
        await withCheckedContinuation { waiting.append($0) }
    }
}
