import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct ItemPurchaseTests {
    private static func item(_ number: Int64, _ price: Int64?, availability: CatalogAvailability = .everywhere)
        -> CatalogItem
    {
        var item = ItemSamples.item(number, .book, "Book \(number)")
        item.prices = price.map { CatalogPrices(amount: $0, byStorefront: ["DEU": 5_990], byCurrency: [:]) }
        item.availability = availability
        return item
    }

    /// Opens a store with four items: one that costs something, a free one, one that is not sold, one only in Japan.
    private func with(
        _ backend: Backend, processor: (any PaymentProcessor)? = nil,
        _ body: @escaping @Sendable (TestStore) async throws -> Void
    ) async throws {
        try await backend.withStore(processor: processor) { test async throws in
            let items = [
                Self.item(901, 4_990), Self.item(902, 0), Self.item(903, nil),
                Self.item(904, 990, availability: .only(["JPN"])),
            ]
            test.store.catalog.replace(with: try Catalog(apps: try TestStore.catalog().apps, items: items))
            try await body(test)
        }
    }

    private func buy(
        _ item: Int64, _ test: TestStore, _ account: Account, price: Int64? = nil, key: UUID = UUID()
    ) async throws -> ItemPurchase {
        try await test.store.buyItem(
            ItemPurchaseRequest(
                item: item, agreedPrice: price.map { Money(milliunits: $0, currency: "USD") }, idempotencyKey: key),
            by: account)
    }

    @Test(arguments: Backend.available) func anItemIsPaidOnceAndOwned(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await with(backend, processor: processor) { test async throws in
            let account = try await test.account()
            let key = UUID()
            let bought = try await buy(901, test, account, price: 4_990, key: key)
            #expect(bought.price == Money(milliunits: 4_990, currency: "USD") && bought.storefront == "USA")
            #expect(bought.purchaseDate == TestClock.start)
            #expect(try await buy(901, test, account, key: key) == bought)
            // Owned already, whatever price was seen.
            #expect(try await buy(901, test, account, price: 1) == bought)
            #expect(processor.held == [key: 4_990] && processor.authorizations.count == 1)
            #expect(processor.authorizations.first?.productID == "item.901")
            #expect(try await test.store.ownedItem(901, by: account) == bought)
            let free = try await buy(902, test, account)
            #expect(free.price.milliunits == 0 && processor.authorizations.count == 1)
            #expect(try await test.store.ownedItems(of: account) == [bought, free])
            #expect(try await test.store.ownedItems(of: account, after: bought.transactionID, limit: 1) == [free])
            let other = try await test.account("other@example.com")
            #expect(try await test.store.ownedItem(901, by: other) == nil)
        }
    }

    @Test(arguments: Backend.available) func oneOfManyRequestsPays(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await with(backend, processor: processor) { test async throws in
            let account = try await test.account()
            let bought = try await withThrowingTaskGroup(of: ItemPurchase.self) { group in
                for _ in 0..<8 { group.addTask { try await buy(901, test, account) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(bought.map(\.transactionID)).count == 1)
            #expect(processor.held.values.reduce(0, +) == 4_990)
        }
    }

    @Test(arguments: Backend.available) func whatCannotBeBoughtIsRefused(_ backend: Backend) async throws {
        try await with(backend) { test async throws in
            let account = try await test.account()
            #expect(try await refusal { try await buy(999, test, account) } == .notFound)
            #expect(try await refusal { try await buy(903, test, account) } == .productNotAvailable)
            #expect(try await refusal { try await buy(904, test, account) } == .productNotAvailable)
            #expect(try await refusal { try await buy(901, test, account, price: 4_991) } == .priceChanged)
            let request = test.request("credits5")
            _ = try await test.store.purchase(request, by: account)
            #expect(
                try await refusal { try await buy(901, test, account, key: request.idempotencyKey) }
                    == .idempotencyKeyReused)
            let key = UUID()
            _ = try await buy(902, test, account, key: key)
            #expect(try await refusal { try await buy(901, test, account, key: key) } == .idempotencyKeyReused)
            #expect(try await test.store.ownedItems(of: account).count == 1)
        }
    }

    @Test(arguments: Backend.available) func aDeclinedPaymentBuysNothing(_ backend: Backend) async throws {
        let processor = ScriptedProcessor { _ in .declined(message: "No funds.") }
        try await with(backend, processor: processor) { test async throws in
            let account = try await test.account()
            let key = UUID()
            // The answer to a key is final, and so is its attempt.
            for _ in 0..<2 {
                #expect(try await refusal { try await buy(901, test, account, key: key) } == .paymentDeclined)
            }
            #expect(try await test.store.ownedItems(of: account).isEmpty && processor.authorizations.count == 1)
            #expect(try await refusal { try await buy(902, test, account, key: key) } == .idempotencyKeyReused)
            let attempts = try await test.store.attempts(AttemptQuery())
            #expect(attempts.rows.map(\.idempotencyKey) == [key] && attempts.next == nil)
            let attempt = try #require(attempts.rows.first)
            #expect(attempt.state == .declined && attempt.productID == "item.901" && attempt.bundleID == "")
            #expect(attempt.failure == WireError(code: .paymentDeclined, message: "No funds."))
            #expect(attempt.amount.milliunits == 4_990 && attempt.storefront == "USA" && attempt.transactionID == nil)
        }
    }

    /// Earlier processes ended between the payments and their records.
    @Test(arguments: Backend.available) func whatBuysNothingLeavesNothingAuthorized(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await with(backend, processor: processor) { test async throws in
            var account = try await test.account()
            let accountID = account.accountID
            func authorize(_ key: UUID) async throws {
                _ = try await processor.authorize(
                    PaymentAuthorization(
                        idempotencyKey: key, accountID: accountID, bundleID: "", productID: "item.901",
                        amount: Money(milliunits: 4_990, currency: "USD")))
            }
            let (refused, asked, paid, late) = (UUID(), UUID(), UUID(), UUID())
            try await authorize(refused)
            var barred = account
            barred.paymentsAllowed = false
            // The answer's process can end as well before it voids the payment.
            for count in 1...2 {
                #expect(try await refusal { try await buy(901, test, barred, key: refused) } == .paymentNotAllowed)
                #expect(processor.held.isEmpty && processor.voids.count == count)
            }
            account.asksToBuy = true
            #expect(try await refusal { try await buy(901, test, account, key: asked) } == .awaitsApproval)
            account.asksToBuy = false
            let bought = try await buy(901, test, account, key: paid)
            try await authorize(late)
            #expect(try await buy(901, test, account, key: late) == bought && processor.held == [paid: 4_990])
            // The payment of a request that waits can still be used.
            #expect(try await buy(901, test, account, key: asked) == bought && !processor.voids.contains(asked))
        }
    }

    @Test(arguments: Backend.available) func refusedItemsAreListedAmongTheAttempts(_ backend: Backend) async throws {
        let processor = ScriptedProcessor {
            $0.productID == "item.901" ? .declined(message: "No funds.") : .approved(reference: "R")
        }
        try await with(backend, processor: processor) { test async throws in
            let account = try await test.account()
            #expect(try await refusal { try await buy(901, test, account) } == .paymentDeclined)
            #expect(try await refusal { try await buy(904, test, account) } == .productNotAvailable)
            let barred = try await test.store.accounts.change(account.accountID, AccountChange(paymentsAllowed: false))
            #expect(try await refusal { try await buy(902, test, barred) } == .paymentNotAllowed)
            #expect(try await test.store.purchase(test.request("hats"), by: barred).state == .failed)
            // What succeeds at once, and what nobody can buy, is no attempt; neither is a changed price.
            _ = try await buy(902, test, account)
            #expect(try await refusal { try await buy(999, test, account) } == .notFound)
            #expect(try await refusal { try await buy(901, test, account, price: 1) } == .priceChanged)
            func products(_ change: (inout AttemptQuery) -> Void = { _ in }) async throws -> [String] {
                var query = AttemptQuery()
                change(&query)
                return try await test.store.attempts(query).rows.map(\.productID.rawValue)
            }
            #expect(try await products() == ["hats", "item.902", "item.904", "item.901"])
            #expect(try await products { $0.state = .declined }.count == 4)
            #expect(try await products { $0.state = .waiting }.isEmpty)
            #expect(try await products { $0.productID = "item.904" } == ["item.904"])
            #expect(try await products { $0.bundleID = TestStore.bundleID } == ["hats"])
            #expect(try await products { $0.accountID = account.accountID }.count == 4)
            // The purchase is in the other list.
            #expect(try await products { $0.state = .bought } == ["item.902"])
            #expect(try await products { ($0.state, $0.productID) = (.bought, "item.902") } == ["item.902"])
            #expect(try await products { ($0.state, $0.bundleID) = (.bought, TestStore.bundleID) }.isEmpty)
            let cleared = try await test.store.clearHistory(of: account)
            #expect(cleared == ClearedHistory(transactions: 0, items: 1, attempts: 4))
            #expect(try await products().isEmpty)
            #expect(try await test.count("item_requests") == 0)
        }
    }

    @Test(arguments: Backend.available) func aRefundedItemCanBeBoughtAgain(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await with(backend, processor: processor) { test async throws in
            let account = try await test.account()
            let first = try await buy(901, test, account)
            processor.failRefunds(1)
            #expect(
                try await refusal { try await test.store.refundItem(first.transactionID, reason: .app) }
                    == .unavailable)
            #expect(
                try await refusal { try await test.store.refundItem(first.transactionID, reason: .app) } == .wrongState)
            #expect(processor.refunds.map(\.amount.milliunits) == [4_990])
            #expect(try await test.store.ownedItems(of: account).isEmpty)
            let second = try await buy(901, test, account)
            #expect(second.transactionID.rawValue > first.transactionID.rawValue)
            #expect(try await test.store.ownedItems(of: account) == [second])
            #expect(
                try await refusal {
                    try await test.store.refundItem(TransactionID(rawValue: 2_000_000_000_000_001), reason: .other)
                } == .unknownTransaction)
        }
    }

    // MARK: Songs and their album

    /// Opens a store with an album of two songs, of 0.69 each, for 1.29.
    private func withAlbum(
        _ backend: Backend, _ processor: ScriptedProcessor, _ body: @escaping @Sendable (TestStore) async throws -> Void
    ) async throws {
        try await backend.withStore(processor: processor) { test async throws in
            func item(_ number: Int64, _ kind: ItemKind, _ price: Int64) -> CatalogItem {
                var item = ItemSamples.item(number, kind, "Item \(number)")
                item.prices = CatalogPrices(amount: price, byStorefront: [:], byCurrency: [:])
                if kind == .song { item.place = ItemPlace(collection: 910, track: Int(number - 910)) }
                return item
            }
            let items = [item(910, .album, 1_290), item(911, .song, 690), item(912, .song, 690)]
            test.store.catalog.replace(with: try Catalog(apps: try TestStore.catalog().apps, items: items))
            try await body(test)
        }
    }

    /// What the customer has paid in the end.
    private static func paid(_ processor: ScriptedProcessor) -> Int64 {
        processor.held.values.reduce(0, +) - processor.refunds.reduce(0) { $0 + $1.amount.milliunits }
    }

    @Test(arguments: Backend.available)
    func aSongThatIsBoughtWhileItsAlbumIsBoughtIsGivenBack(_ backend: Backend) async throws {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let processor = ScriptedProcessor { payment in
            if payment.productID == "item.910" {
                begin.yield()
                for await _ in gate { break }
            }
            return .approved(reference: "R")
        }
        try await withAlbum(backend, processor) { test async throws in
            let account = try await test.account()
            let key = UUID()
            // It was bought before, and stays.
            let early = try await buy(912, test, account)
            let album = Task { try await buy(910, test, account, key: key) }
            for await _ in begun { break }
            let song = try await buy(911, test, account)
            // The process ends before it has told the processor.
            processor.failRefunds(1)
            open.finish()
            #expect(try await refusal { _ = try await album.value } == .unavailable)
            let bought = try await buy(910, test, account, key: key)
            #expect(processor.refunds.map(\.transactionID) == [song.transactionID])
            #expect(Self.paid(processor) == 690 + 1_290)
            #expect(try await test.store.ownedItems(of: account) == [early, bought])
            #expect(try await test.store.ownedItem(911, by: account) == bought)
            // Again and again: nothing more is given back.
            #expect(try await buy(910, test, account, key: key) == bought)
            #expect(try await buy(911, test, account) == bought && Self.paid(processor) == 690 + 1_290)
        }
    }

    @Test(arguments: Backend.available)
    func songsAndTheirAlbumAtTheSameMomentArePaidOnce(_ backend: Backend) async throws {
        let requests = 5
        let arrivals = Arrivals(requests)
        let processor = ScriptedProcessor { _ in
            await arrivals.arrive()
            return .approved(reference: "R")
        }
        try await withAlbum(backend, processor) { test async throws in
            for number in 0..<6 {
                let account = try await test.account("ape\(number)@example.com")
                let before = Self.paid(processor)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for item in [910, 911, 912, 910, 911] as [Int64] {
                        group.addTask { _ = try await buy(item, test, account) }
                    }
                    try await group.waitForAll()
                }
                #expect(Self.paid(processor) - before == 1_290)
                #expect(try await test.store.ownedItems(of: account).map(\.item) == [910])
            }
        }
    }

    @Test(arguments: Backend.available)
    func anApprovedAlbumGivesBackASongThatIsBoughtMeanwhile(_ backend: Backend) async throws {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let processor = ScriptedProcessor { payment in
            if payment.productID == "item.910" {
                begin.yield()
                for await _ in gate { break }
            }
            return .approved(reference: "R")
        }
        try await withAlbum(backend, processor) { test async throws in
            var account = try await test.account(asksToBuy: true)
            let key = UUID()
            #expect(try await refusal { try await buy(910, test, account, key: key) } == .awaitsApproval)
            account.asksToBuy = false
            let approval = Task { try await test.store.approve(key) }
            for await _ in begun { break }
            let song = try await buy(911, test, account)
            open.finish()
            #expect(try await approval.value.state == .purchased)
            #expect(processor.refunds.map(\.transactionID) == [song.transactionID])
            #expect(Self.paid(processor) == 1_290)
        }
    }
}

/// Lets requests go on when as many as expected have arrived, again and again.
private actor Arrivals {
    private let expected: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ expected: Int) { self.expected = expected }

    func arrive() async {
        await withCheckedContinuation { continuation in
            waiting.append(continuation)
            guard waiting.count == expected else { return }
            for one in waiting { one.resume() }
            waiting = []
        }
    }
}
