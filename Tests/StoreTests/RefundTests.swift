import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct RefundTests {
    private func notices(_ test: TestStore, _ account: Account, after: Int64?) async throws -> NoticesResponse {
        try await test.store.notices(for: account, in: TestStore.bundleID, after: after, languages: ["en"])
    }

    @Test(arguments: Backend.available) func aRefundedPurchaseIsNotDeliveredAgain(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await test.buy("hats", by: account)
            let request = test.request("hats")
            let app = try #require(test.store.catalog.value.app(TestStore.bundleID))
            let offer = try await test.store.offer(request, app: app, account: account, isApproved: false)
            guard case .sell(let sale) = offer else {
                Issue.record("\(offer)")
                return
            }
            #expect(sale.amount.milliunits == 0)
            _ = try await test.store.refund(first.transactionID, reason: .app)
            let again = test.store.transaction(sale, request, account)
            await #expect(throws: OwnedMeanwhile.self) {
                try await test.database.write { try Store.insert(again, sale, test.store.recorder, $0) }
            }
            #expect(try await test.ledger().map(\.transactionID) == [first.transactionID])
            // Looked at again, it is sold.
            try await test.buy("hats", by: account)
            #expect(try await test.ledger().map(\.price.milliunits) == [2990, 2990])
        }
    }

    @Test(arguments: Backend.available) func aRefundedProductIsLostOnceAndCanBeBoughtAgain(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await test.buy("hats", by: account)
            let second = try await test.buy("hats", by: account)
            #expect(try await notices(test, account, after: nil).revokedProductIDs.isEmpty)
            test.clock.milliseconds += 5000
            let given = try await test.store.refund(second.transactionID, reason: .app)
            let refunded = try #require(given.transactions.first)
            #expect(refunded.revokedAt == TestClock.start + 5000 && refunded.revocationReason == 1)
            #expect(given.transactions.map(\.transactionID) == [second.transactionID, first.transactionID])
            #expect(given.amount == Money(milliunits: 2990, currency: "USD"))
            // The second delivery was of the same purchase.
            #expect(try await test.ledger().map(\.revokedAt) == [TestClock.start + 5000, TestClock.start + 5000])
            for id in [first.transactionID, second.transactionID] {
                #expect(try await refusal { try await test.store.refund(id, reason: .other) } == .wrongState)
            }
            #expect(
                try await refusal {
                    try await test.store.refund(TransactionID(rawValue: 2_000_000_000_000_001), reason: .other)
                } == .unknownTransaction)

            let told = try await notices(test, account, after: nil)
            #expect(told.revokedProductIDs == ["hats"] && told.cursor == 1)
            let after = try await notices(test, account, after: told.cursor)
            #expect(after.revokedProductIDs.isEmpty && after.cursor == 1)

            let receipt = try await test.appReceipt(account)
            let parsed = try await TestStore.verified(receipt)
            #expect(
                parsed.inApp.map(\.cancellationDate) == [Date(milliseconds: (TestClock.start + 5000) / 1000 * 1000)])
            let answer = try await test.verify(receipt)
            #expect(answer.status == 0)
            #expect(answer.inApp.map { $0["cancellation_date"] as? String } == ["2026-02-03 04:05:11 Etc/GMT"])

            let third = try await test.buy("hats", by: account)
            #expect(third.originalTransactionID == third.transactionID)
            #expect(try await test.ledger().last?.price.milliunits == 2990)
            // A device that never asked is not told of what is owned again.
            #expect(try await notices(test, account, after: nil).revokedProductIDs.isEmpty)
            _ = try await test.store.refund(third.transactionID, reason: .other)
            let last = try await notices(test, account, after: told.cursor)
            #expect(last.revokedProductIDs == ["hats"] && last.cursor == 2)
            #expect(try await test.count("ownerships") == 0)
        }
    }

    @Test(arguments: Backend.available) func aReversalByAFreeDeliveryChargesThePurchaseAgain(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await test.buy("hats", by: account)
            let free = try await test.buy("hats", by: account)
            let price = Money(milliunits: 2990, currency: "USD")
            for _ in 1...2 {
                #expect(try await test.store.refund(free.transactionID, reason: .app).amount == price)
                let reversed = try await test.store.reverseRefund(free.transactionID)
                #expect(reversed.amount == price && reversed.transactions.map(\.transactionID) == [free.transactionID])
                #expect(try await test.ledger().map(\.revokedAt) == [nil, nil])
                #expect(try await test.ledger().map(\.refunded) == [0, 0])
                // The refund is reversed once.
                #expect(try await refusal { try await test.store.reverseRefund(first.transactionID) } == .wrongState)
            }
        }
    }

    @Test(arguments: Backend.available) func manyRefundsAreDeliveredInPages(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let count = Revocations.page + 2
            try await test.database.write { connection in
                for number in 1...count {
                    try connection.execute(
                        """
                        INSERT INTO revocations (account_id, bundle_id, number, product_id, transaction_id)
                        VALUES ($1, $2, $3, $4, $3)
                        """, [account.accountID.rawValue, TestStore.bundleID.rawValue, number, "hat\(number)"])
                }
            }
            let first = try await notices(test, account, after: nil)
            #expect(first.hasMore && first.revokedProductIDs.count == Revocations.page)
            #expect(first.cursor == Int64(Revocations.page))
            let second = try await notices(test, account, after: first.cursor)
            #expect(!second.hasMore && second.revokedProductIDs.count == 2 && second.cursor == Int64(count))
            // Exactly a page is all of it.
            let last = try await notices(test, account, after: 2)
            #expect(!last.hasMore && last.revokedProductIDs.count == Revocations.page)
        }
    }

    @Test(arguments: Backend.available) func refundedConsumablesCauseNoNotice(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let other = try await test.account("other@example.com")
            let credits = try await test.buy("credits5", by: account)
            _ = try await test.store.refund(credits.transactionID, reason: .other)
            #expect(try await notices(test, account, after: nil).revokedProductIDs.isEmpty)
            let hats = try await test.buy("hats", by: account)
            _ = try await test.buy("hats", by: other)
            _ = try await test.store.refund(hats.transactionID, reason: .other)
            #expect(try await notices(test, other, after: nil).revokedProductIDs.isEmpty)
            #expect(try await test.count("ownerships") == 1)
        }
    }

    @Test(arguments: Backend.available) func aRefundedSubscriptionIsLostUnlessAnotherPeriodHolds(
        _ backend: Backend
    ) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let period = try await test.buy("gym.monthly", by: account)
            _ = try await test.store.refund(period.transactionID, reason: .app)
            let told = try await notices(test, account, after: nil)
            #expect(told.revokedProductIDs == ["gym.monthly"])
            // It is active no more, so it can be bought again, and then it is not lost.
            _ = try await test.buy("gym.monthly", by: account)
            #expect(try await notices(test, account, after: nil).revokedProductIDs.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func concurrentIncrementsAreCountedOnceEach(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            var bought: [TransactionID] = []
            for product: ProductID in ["hats", "domestic", "season", "gym.monthly"] {
                bought.append(try await test.buy(product, by: account).transactionID)
            }
            let refunds = await withTaskGroup(of: Bool.self) { group in
                for id in bought + bought {
                    group.addTask { (try? await test.store.refund(id, reason: .other)) != nil }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(refunds == 4)
            let told = try await notices(test, account, after: nil)
            #expect(Set(told.revokedProductIDs) == ["hats", "domestic", "season", "gym.monthly"] && told.cursor == 4)
        }
    }
}
