import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct UnfinishedTransactionsTests {
    @Test(arguments: Backend.available) func unfinishedTransactionsComeInPagesOldestFirst(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            var bought: [TransactionDescription] = []
            for _ in 0..<StoreLimits.page * 2 + 1 { bought.append(try await test.buy("credits5", by: account)) }
            // Neither another app's nor another account's are among them.
            var other = test.request("thing")
            other.bundleID = "com.example.other"
            _ = try await test.store.purchase(other, by: account)
            try await test.buy("hats", by: try await test.account("other@example.com"))
            var pages: [[TransactionDescription]] = []
            var after: TransactionID?
            repeat {
                let page = try await test.store.unfinishedTransactions(
                    of: account, in: TestStore.bundleID, after: after)
                pages.append(page.transactions)
                after = page.next
            } while after != nil
            #expect(pages.map(\.count) == [StoreLimits.page, StoreLimits.page, 1])
            #expect(pages.flatMap { $0 } == bought)
            for transaction in bought.dropLast() { try await test.store.finish(transaction.transactionID, of: account) }
            let rest = try await test.store.unfinishedTransactions(of: account, in: TestStore.bundleID, after: nil)
            #expect(rest.transactions == [bought[bought.count - 1]] && rest.next == nil)
        }
    }

    @Test(arguments: Backend.available) func anExactlyFullPageIsTheLast(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            for _ in 0..<StoreLimits.page { try await test.buy("credits5", by: account) }
            let page = try await test.store.unfinishedTransactions(of: account, in: TestStore.bundleID, after: nil)
            #expect(page.transactions.count == StoreLimits.page && page.next == nil)
        }
    }

    @Test(arguments: Backend.available) func finishingTwiceKeepsTheFirstTime(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let id = try await test.buy("credits5", by: account).transactionID
            try await test.store.finish(id, of: account)
            test.clock.milliseconds += 1000
            try await test.store.finish(id, of: account)
            #expect(try await test.ledger().map(\.finishedAt) == [TestClock.start])
        }
    }

    @Test(arguments: Backend.available) func nobodyFinishesAnothersTransaction(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (ape, bob) = (try await test.account(), try await test.account("bob@example.com"))
            let id = try await test.buy("credits5", by: ape).transactionID
            #expect(try await refusal { try await test.store.finish(id, of: bob) } == .unknownTransaction)
            #expect(
                try await refusal { try await test.store.finish(TransactionID(rawValue: 1), of: ape) }
                    == .unknownTransaction)
            #expect(try await test.ledger().map(\.finishedAt) == [nil])
        }
    }

    @Test(arguments: Backend.available) func theOperatorsPagesCanBeNarrowed(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (ape, bob) = (try await test.account(), try await test.account("bob@example.com"))
            var ids: [TransactionID] = []
            for account in [ape, bob, ape, bob] {
                ids.append(try await test.buy("credits5", by: account).transactionID)
            }
            var request = test.request("thing")
            request.bundleID = "com.example.other"
            ids.append(try #require(try await test.store.purchase(request, by: ape).transaction).transactionID)
            func page(_ before: TransactionID?, _ bundleID: BundleID?, _ account: AccountID?, _ limit: Int) async throws
                -> [TransactionID]
            {
                var query = LedgerQuery(before: before, accountID: account, limit: limit)
                query.bundleID = bundleID
                return try await test.store.ledger(query).rows.map(\.transactionID)
            }
            #expect(try await page(nil, nil, nil, 50) == ids.reversed())
            #expect(try await page(nil, nil, nil, 2) == [ids[4], ids[3]])
            #expect(try await page(ids[3], nil, nil, 2) == [ids[2], ids[1]])
            #expect(try await page(nil, "com.example.other", nil, 50) == [ids[4]])
            #expect(try await page(nil, TestStore.bundleID, ape.accountID, 50) == [ids[2], ids[0]])
            #expect(try await page(nil, nil, "nobody", 50).isEmpty)
            for limit in [0, -5, .min] { #expect(try await page(nil, nil, nil, limit).count == 1) }
            #expect(try await page(nil, nil, nil, .max).count == 5)
        }
    }
}
