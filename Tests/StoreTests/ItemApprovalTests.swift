import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct ItemApprovalTests {
    private func with(
        _ backend: Backend, _ processor: ScriptedProcessor, _ body: @Sendable (TestStore, Account) async throws -> Void
    ) async throws {
        try await backend.withStore(processor: processor) { test async throws in
            let items = ([901, 902] as [Int64]).map { number in
                var item = ItemSamples.item(number, .book, "Book \(number)")
                item.prices = CatalogPrices(amount: 4_990, byStorefront: [:], byCurrency: [:])
                return item
            }
            test.store.catalog.replace(with: try Catalog(apps: try TestStore.catalog().apps, items: items))
            try await body(test, try await test.account(asksToBuy: true))
        }
    }

    private func buy(_ item: Int64, _ test: TestStore, _ account: Account, key: UUID) async throws -> ItemPurchase {
        try await test.store.buyItem(ItemPurchaseRequest(item: item, idempotencyKey: key), by: account)
    }

    private func attempts(_ test: TestStore) async throws -> [PurchaseAttempt] {
        try await test.store.attempts(AttemptQuery()).rows
    }

    @Test(arguments: Backend.available) func anItemIsAskedForOnceAndApproved(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await with(backend, processor) { test, child async throws in
            let key = UUID()
            for other in [key, key, UUID()] {
                #expect(try await refusal { try await buy(901, test, child, key: other) } == .awaitsApproval)
            }
            let pending = try await test.store.pendingPurchases()
            #expect(pending.map(\.idempotencyKey) == [key] && pending.first?.productID == "item.901")
            #expect(pending.first?.accountID == child.accountID && processor.authorizations.isEmpty)
            #expect(try await attempts(test).map(\.state) == [.waiting])
            #expect(try await test.store.ownedItem(901, by: child) == nil)
            // The device learns that the request waits, also if it was not the one that asked.
            #expect(try await refusal { try await test.store.itemFileGrant(901, for: child) } == .awaitsApproval)
            #expect(try await refusal { try await test.store.itemFileGrant(902, for: child) } == .notOwned)
            #expect(try await refusal { try await buy(902, test, child, key: key) } == .idempotencyKeyReused)

            test.clock.milliseconds += 60_000
            #expect(
                try await test.store.approve(key)
                    == PurchaseResponse(state: .purchased, transaction: nil, failure: nil))
            let owned = try #require(try await test.store.ownedItem(901, by: child))
            let attempt = try #require(try await attempts(test).first)
            #expect(attempt.state == .bought && attempt.idempotencyKey == key && attempt.failure == nil)
            #expect(attempt.transactionID == owned.transactionID && attempt.paymentReference != nil)
            #expect(attempt.attemptID < owned.transactionID && attempt.createdAt == TestClock.start)
            #expect(owned.purchaseDate == TestClock.start + 60_000 && owned.price.milliunits == 4_990)
            #expect(try await buy(901, test, child, key: key) == owned && processor.held == [key: 4_990])
            #expect(try await test.store.pendingPurchases().isEmpty)
            #expect(try await refusal { try await test.store.approve(key) } == .wrongState)
            #expect(try await refusal { try await test.store.decline(key) } == .wrongState)
        }
    }

    @Test(arguments: Backend.available) func aDeclinedOrImpossibleRequestBuysNothing(_ backend: Backend) async throws {
        let processor = ScriptedProcessor {
            $0.productID == "item.902" ? .declined(message: "No funds.") : .approved(reference: "R")
        }
        try await with(backend, processor) { test, child async throws in
            let (first, second) = (UUID(), UUID())
            #expect(try await refusal { try await buy(901, test, child, key: first) } == .awaitsApproval)
            #expect(try await refusal { try await buy(902, test, child, key: second) } == .awaitsApproval)
            try await test.store.decline(first)
            #expect(try await refusal { try await test.store.itemFileGrant(901, for: child) } == .notOwned)
            #expect(try await refusal { try await buy(901, test, child, key: first) } == .paymentDeclined)
            // A new request is another question.
            #expect(try await refusal { try await buy(901, test, child, key: UUID()) } == .awaitsApproval)
            let failed = try await test.store.approve(second)
            #expect(failed.state == .failed && failed.failure?.message == "No funds.")
            #expect(try await refusal { try await buy(902, test, child, key: second) } == .paymentDeclined)
            #expect(try await test.store.ownedItems(of: child).isEmpty && processor.held.isEmpty)
            #expect(try await attempts(test).map(\.state) == [.waiting, .declined, .declined])
            #expect(
                try await attempts(test).dropFirst().map(\.failure?.message)
                    == ["No funds.", "The request to buy was declined."])
        }
    }

    @Test(arguments: Backend.available) func oneOfManyDecisionsCounts(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await with(backend, processor) { test, child async throws in
            let key = UUID()
            #expect(try await refusal { try await buy(901, test, child, key: key) } == .awaitsApproval)
            let done = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        do {
                            if number % 2 == 0 {
                                try await test.store.decline(key)
                                return false
                            }
                            return try await test.store.approve(key).state == .purchased
                        } catch { return false }
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            let owned = try await test.store.ownedItem(901, by: child)
            #expect(done == (owned == nil ? 0 : 1))
            #expect(processor.held.count == done)
        }
    }
}
