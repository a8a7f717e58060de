import Database
import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct PurchaseTests {
    struct Sold: Sendable {
        var product: ProductID
        var kind: ProductKind
        var quantity: Int
        var amount: Int64
        var paid: Bool
    }

    private static let sold: [Sold] = [
        Sold(product: "credits5", kind: .consumable, quantity: 1, amount: 990, paid: true),
        Sold(product: "credits5", kind: .consumable, quantity: 10, amount: 9900, paid: true),
        Sold(product: "dear", kind: .consumable, quantity: 10, amount: 9_999_990_000, paid: true),
        Sold(product: "hats", kind: .nonConsumable, quantity: 1, amount: 2990, paid: true),
        Sold(product: "season", kind: .nonRenewingSubscription, quantity: 1, amount: 4990, paid: true),
        Sold(product: "news", kind: .freeSubscription, quantity: 1, amount: 0, paid: false),
        Sold(product: "gym.monthly", kind: .autoRenewableSubscription, quantity: 1, amount: 9990, paid: true),
    ]

    @Test(arguments: Backend.available) func eachKindIsSoldAndRecordedInTheLedger(_ backend: Backend) async throws {
        for sold in Self.sold {
            let processor = ScriptedProcessor()
            try await backend.withStore(processor: processor) { test async throws in
                let account = try await test.account()
                let request = test.request(sold.product, quantity: sold.quantity, username: "bob")
                let response = try await test.store.purchase(request, by: account)
                #expect(response.state == .purchased && response.failure == nil)
                let told = try #require(response.transaction)
                let ledger = try await test.ledger()
                let row = try #require(ledger.first)
                #expect(ledger.count == 1 && row.description == told)
                #expect(row.kind == sold.kind && row.quantity == sold.quantity && row.accountID == account.accountID)
                #expect(row.price == Money(milliunits: sold.amount, currency: "USD") && row.storefront == "USA")
                #expect(row.originalTransactionID == row.transactionID && row.originalPurchaseDate == row.purchaseDate)
                let isSubscription = sold.kind == .autoRenewableSubscription
                // Subscriptions begin on whole seconds.
                #expect(row.purchaseDate == (isSubscription ? TestClock.start - 789 : TestClock.start))
                #expect((row.expiresDate != nil) == isSubscription && (row.webOrderLineItemID != nil) == isSubscription)
                #expect(row.webOrderLineItemID != row.transactionID.rawValue)
                #expect(
                    row.applicationUsername == "bob" && row.idempotencyKey == request.idempotencyKey
                        && row.finishedAt == nil)
                #expect(row.itemID > 0)
                #expect(processor.authorizations.map(\.amount.milliunits) == (sold.paid ? [sold.amount] : []))
                #expect(processor.held == (sold.paid ? [request.idempotencyKey: sold.amount] : [:]))
            }
        }
    }

    struct Refused: Sendable, CustomTestStringConvertible {
        var product: ProductID
        var quantity = 1
        var storefront = "USA"
        var paymentsAllowed = true
        var agreed: Money?
        var code: WireError.Code
        var testDescription: String { "\(product) × \(quantity) in \(storefront): \(code)" }
    }

    private static let refused: [Refused] = [
        Refused(product: "unknown", code: .productNotAvailable), Refused(product: "", code: .productNotAvailable),
        Refused(product: "thing", code: .productNotAvailable),
        Refused(product: "domestic", storefront: "DEU", code: .productNotAvailable),
        Refused(product: "credits5", quantity: 0, code: .invalidQuantity),
        Refused(product: "credits5", quantity: 11, code: .invalidQuantity),
        Refused(product: "credits5", quantity: -1, code: .invalidQuantity),
        Refused(product: "credits5", quantity: .max, code: .invalidQuantity),
        Refused(product: "credits5", quantity: .min, code: .invalidQuantity),
        Refused(product: "hats", quantity: 2, code: .invalidQuantity),
        Refused(product: "season", quantity: 2, code: .invalidQuantity),
        Refused(product: "news", quantity: 2, code: .invalidQuantity),
        Refused(product: "gym.monthly", quantity: 2, code: .invalidQuantity),
        Refused(product: "credits5", paymentsAllowed: false, code: .paymentNotAllowed),
        Refused(product: "credits5", agreed: Money(milliunits: 989, currency: "USD"), code: .priceChanged),
        Refused(product: "credits5", agreed: Money(milliunits: 990, currency: "EUR"), code: .priceChanged),
        Refused(
            product: "credits5", storefront: "DEU", agreed: Money(milliunits: 990, currency: "USD"), code: .priceChanged
        ),
    ]

    @Test(arguments: Backend.available) func anImpossiblePurchaseFailsPermanentlyWithoutCharge(_ backend: Backend)
        async throws
    {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            for (number, refused) in Self.refused.enumerated() {
                let account = try await test.account(
                    "ape\(number)@example.com", storefront: refused.storefront, paymentsAllowed: refused.paymentsAllowed
                )
                let request = test.request(refused.product, quantity: refused.quantity, agreedPrice: refused.agreed)
                let response = try await test.store.purchase(request, by: account)
                #expect(response.state == .failed && response.transaction == nil, "\(refused)")
                #expect(response.failure?.code == refused.code, "\(refused)")
                // The key has its answer, also the one of a quantity that the tables cannot hold.
                #expect(try await test.store.purchase(request, by: account) == response, "\(refused)")
                #expect(try await test.ledger().isEmpty)
                #expect(processor.authorizations.isEmpty)
            }
        }
    }

    @Test(arguments: Backend.available) func theAgreedPriceIsTheStorefronts(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account(storefront: "DEU")
            let request = test.request("credits5", quantity: 3, agreedPrice: Money(milliunits: 1190, currency: "EUR"))
            #expect(try await test.store.purchase(request, by: account).state == .purchased)
            #expect(try await test.ledger().map(\.price) == [Money(milliunits: 3570, currency: "EUR")])
        }
    }

    @Test(arguments: Backend.available) func aRequestThatCannotBeCheckedIsNotRecorded(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            var unknown = test.request("credits5")
            unknown.bundleID = "com.example.nothing"
            #expect(try await refusal { try await test.store.purchase(unknown, by: account) } == .unknownApp)
            let long = String(repeating: "a", count: 256)
            for change: (inout PurchaseRequest) -> Void in [
                { $0.productID = ProductID(long) }, { $0.bundleID = BundleID(long) }, { $0.productID = "credits5\0" },
                { $0.bundleID = "\0" }, { $0.applicationUsername = "\0" },
                { $0.applicationUsername = String(repeating: "é", count: 257) },
            ] {
                var request = test.request("credits5")
                change(&request)
                #expect(try await refusal { try await test.store.purchase(request, by: account) } == .invalidRequest)
            }
            #expect(try await test.count("purchases") == 0)
            var longest = test.request("credits5")
            longest.applicationUsername = String(repeating: "é", count: 256)
            #expect(try await test.store.purchase(longest, by: account).state == .purchased)
        }
    }

    // MARK: One key, one purchase

    @Test(arguments: Backend.available) func aRepeatedKeyAlwaysGetsTheFirstAnswer(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let processor = ScriptedProcessor()
            let test = try await TestStore.open(database, apps: apps, clock: clock, processor: processor)
            let account = try await test.account()
            let requests = ["credits5", "hats", "gym.monthly", "club.monthly", "season", "news"].map {
                test.request(ProductID($0))
            }
            var answers: [PurchaseResponse] = []
            for request in requests { answers.append(try await test.store.purchase(request, by: account)) }
            #expect(answers.allSatisfy { $0.state == .purchased })
            clock.milliseconds += 5000
            for (request, answer) in zip(requests, answers) {
                #expect(try await test.store.purchase(request, by: account) == answer)
            }
            for answer in answers {
                try await test.store.finish(try #require(answer.transaction).transactionID, of: account)
            }

            // After a restart, with the app gone from the catalog, and with a processor that nobody reaches.
            let later = try await TestStore.open(
                database, apps: apps, clock: clock,
                processor: ScriptedProcessor { _ in throw ScriptedProcessor.Unreachable() })
            for catalog in [try TestStore.catalog(), .empty] {
                later.store.catalog.replace(with: catalog)
                for (request, answer) in zip(requests, answers) {
                    #expect(try await later.store.purchase(request, by: account) == answer)
                }
            }
            #expect(try await later.ledger().count == requests.count)
            #expect(processor.authorizations.count == 4)
        }
    }

    @Test(arguments: Backend.available) func aRestartAfterTheClockWentBackGivesHigherIds(_ backend: Backend)
        async throws
    {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let test = try await TestStore.open(database, apps: apps, clock: clock)
            let account = try await test.account()
            let first = try await test.buy("credits5", by: account)
            clock.milliseconds -= 10 * 86_400_000
            let later = try await TestStore.open(database, apps: apps, clock: clock)
            let second = try await later.buy("credits5", by: account)
            #expect(second.transactionID > first.transactionID)
            let page = try await later.store.unfinishedTransactions(
                of: account, in: TestStore.bundleID, after: first.transactionID)
            #expect(page.transactions == [second])
        }
    }

    @Test(arguments: Backend.available) func aKeyCannotBeReusedForAnotherPurchase(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let other = try await test.account("other@example.com")
            let first = test.request("credits5", quantity: 2, username: "bob")
            #expect(try await test.store.purchase(first, by: account).state == .purchased)
            for change: (inout PurchaseRequest) -> Void in [
                { $0.quantity = 3 }, { $0.productID = "hats" }, { $0.applicationUsername = nil },
                { $0.productID = "unknown" },
                { $0.quantity = 11 },
                {
                    $0.bundleID = "com.example.other"
                    $0.productID = "thing"
                },
            ] {
                var request = first
                change(&request)
                #expect(
                    try await refusal { try await test.store.purchase(request, by: account) } == .idempotencyKeyReused)
            }
            #expect(try await refusal { try await test.store.purchase(first, by: other) } == .idempotencyKeyReused)
            #expect(try await test.ledger().count == 1)
            #expect(processor.voids.isEmpty && processor.authorizations.count == 1)
        }
    }

    @Test(arguments: Backend.available) func concurrentRequestsWithOneKeyMakeOnePurchase(_ backend: Backend)
        async throws
    {
        for product: ProductID in ["credits5", "hats", "club.monthly"] {
            try await backend.withStore { test async throws in
                let account = try await test.account()
                let request = test.request(product)
                let answers = try await withThrowingTaskGroup(of: PurchaseResponse.self) { group in
                    for _ in 0..<32 { group.addTask { try await test.store.purchase(request, by: account) } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.count == 32 && Set(answers.map { $0.transaction?.transactionID }).count == 1)
                #expect(answers.allSatisfy { $0.state == .purchased })
                let counts = try await [test.count("transactions"), test.count("purchases")]
                #expect(counts == [1, 1])
            }
        }
    }

    // MARK: Owned once

    @Test(arguments: Backend.available) func anOwnedProductIsDeliveredAgainWithoutCharge(_ backend: Backend)
        async throws
    {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            for product: ProductID in ["hats", "news"] {
                let first = try await test.buy(product, by: account)
                test.clock.milliseconds += 86_400_000
                let again = try await test.buy(product, by: account)
                #expect(again.transactionID > first.transactionID)
                #expect(again.originalTransactionID == first.transactionID)
                #expect(
                    again.originalPurchaseDate == first.purchaseDate
                        && again.purchaseDate == first.purchaseDate + 86_400_000)
                // Another account pays for itself.
                let other = try await test.account("other-\(product)@example.com")
                let others = try await test.buy(product, by: other)
                #expect(others.originalTransactionID == others.transactionID)
            }
            #expect(processor.authorizations.map(\.productID) == ["hats", "hats"])
            #expect(try await test.ledger().map(\.price.milliunits) == [2990, 0, 2990, 0, 0, 0])
        }
    }

    @Test(arguments: Backend.available) func concurrentPurchasesOfOneProductAreChargedOnce(_ backend: Backend)
        async throws
    {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let answers = try await withThrowingTaskGroup(of: PurchaseResponse.self) { group in
                for _ in 0..<24 { group.addTask { try await test.store.purchase(test.request("hats"), by: account) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.state == .purchased })
            let ledger = try await test.ledger()
            let charged = ledger.filter { $0.price.milliunits > 0 }
            #expect(ledger.count == 24 && charged.count == 1)
            #expect(ledger.allSatisfy { $0.originalTransactionID == charged.first?.transactionID })
            #expect(ledger.allSatisfy { $0.originalPurchaseDate == charged.first?.originalPurchaseDate })
            // Every authorization but the one that was used was given back.
            #expect(processor.held == [charged.first?.idempotencyKey: 2990])
        }
    }

    // MARK: The processor

    @Test(arguments: Backend.available) func theSandboxDeclinesByRule(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (ape, bob) = (try await test.account(), try await test.account("bob@example.com"))
            func outcome(_ product: ProductID, _ account: Account, _ quantity: Int = 1) async throws -> WireError.Code?
            {
                try await test.store.purchase(test.request(product, quantity: quantity), by: account).failure?.code
            }
            func rule(
                account: AccountID? = nil, product: ProductID? = nil, minimum: Int64? = nil, remaining: Int? = nil
            ) async throws {
                try await test.store.payments.removeRules()
                try await test.store.payments.setRule(
                    DeclineRule(
                        ruleID: "r", accountID: account, productID: product, minimumAmount: minimum,
                        remaining: remaining))
            }
            try await rule(account: ape.accountID)
            #expect(try await outcome("credits5", ape) == .paymentDeclined)
            #expect(try await outcome("credits5", bob) == nil)
            // Nobody is asked where nothing is to be paid.
            #expect(try await outcome("news", ape) == nil)
            try await rule(product: "hats")
            #expect(try await outcome("hats", ape) == .paymentDeclined)
            #expect(try await outcome("credits5", ape) == nil)
            try await rule(minimum: 2970)
            #expect(try await outcome("credits5", ape, 2) == nil)
            #expect(try await outcome("credits5", ape, 3) == .paymentDeclined)
            try await rule(account: bob.accountID, product: "credits5", minimum: 1)
            #expect(try await outcome("credits5", ape) == nil)
            #expect(try await outcome("hats", bob) == nil)
            #expect(try await outcome("credits5", bob) == .paymentDeclined)
            try await rule(remaining: 2)
            #expect(try await outcome("credits5", ape) == .paymentDeclined)
            #expect(try await SandboxPaymentProcessor.open(test.database).declineRules.map(\.remaining) == [1])
            #expect(try await outcome("credits5", bob) == .paymentDeclined)
            #expect(try await outcome("credits5", ape) == nil)
            #expect(try await test.store.payments.declineRules.isEmpty)
            #expect(try await SandboxPaymentProcessor.open(test.database).declineRules.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func aRepeatedKeyUsesUpNoRule(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = test.request("credits5")
            let answer = try await test.store.purchase(first, by: account)
            try await test.store.payments.setRule(
                DeclineRule(ruleID: "once", accountID: nil, productID: nil, minimumAmount: nil, remaining: 1))
            #expect(try await test.store.purchase(first, by: account) == answer)
            let second = test.request("credits5")
            let declined = try await test.store.purchase(second, by: account)
            #expect(declined.failure?.code == .paymentDeclined)
            // Refused for good: the rule is used up, and the key still has its answer.
            #expect(try await test.store.purchase(second, by: account) == declined)
            #expect(try await test.store.purchase(test.request("credits5"), by: account).state == .purchased)
        }
    }

    @Test(arguments: [(Int?.some(0), Int64?.none, "r"), (-1, nil, "r"), (nil, -1, "r"), (nil, nil, "")])
    func aRuleThatCannotBeIsRefused(_ remaining: Int?, _ minimum: Int64?, _ name: String) async throws {
        try await Backend.sqlite.withStore { test async throws in
            let rule = DeclineRule(
                ruleID: name, accountID: nil, productID: nil, minimumAmount: minimum, remaining: remaining)
            #expect(try await refusal { try await test.store.payments.setRule(rule) } == .invalidRequest)
            #expect(try await test.store.payments.declineRules.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func anUnavailableProcessorLeavesNoTrace(_ backend: Backend) async throws {
        let isUp = Mutex(false)
        let processor = ScriptedProcessor { payment in
            guard isUp.withLock({ $0 }) else { throw ScriptedProcessor.Unreachable() }
            return .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withStore(processor: processor) { test async throws in
            let account = try await test.account()
            let request = test.request("hats")
            #expect(try await refusal { try await test.store.purchase(request, by: account) } == .unavailable)
            #expect(try await test.count("purchases") == 0)
            #expect(try await test.count("transactions") == 0)
            #expect(try await test.count("ownerships") == 0)
            isUp.withLock { $0 = true }
            #expect(try await test.store.purchase(request, by: account).state == .purchased)
            #expect(Set(processor.authorizations.map(\.idempotencyKey)) == [request.idempotencyKey])
        }
    }
}
