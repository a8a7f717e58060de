import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// What the requests of running apps wait for.
@Suite("News of accounts", .timeLimit(.minutes(1))) struct AccountNewsTests {
    private static let day: Int64 = 86_400_000

    private func marks(_ test: TestStore, _ account: Account) async throws -> NewsMarks {
        try await test.store.newsMarks(of: account, in: TestStore.bundleID)
    }

    private func arrived(_ test: TestStore, _ account: Account) async throws -> [TransactionDescription] {
        try await test.store.arrivedTransactions(of: account, in: TestStore.bundleID, after: nil).transactions
    }

    @Test(arguments: Backend.available) func aRenewalIsTold(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let first = try await test.buy("gym.monthly", by: account)
            let before = try await marks(test, account)
            #expect(before.transactions == NewsMarks.nothing)
            let count = test.store.accountNews.count(of: [account.accountID])
            try await test.store.changeClock { try $0.advance(by: 40 * Self.day) }
            #expect(test.store.accountNews.count(of: [account.accountID]) != count)
            #expect(try await marks(test, account).transactions != before.transactions)
            let renewal = try #require(try await arrived(test, account).first)
            #expect(renewal.originalTransactionID == first.transactionID)
            #expect(renewal.transactionID > first.transactionID)
            try await test.store.finish(renewal.transactionID, of: account)
            #expect(try await arrived(test, account).isEmpty)
            #expect(try await marks(test, account) == before)
        }
    }

    @Test(arguments: Backend.available) func whatADeviceBuysIsNotTold(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let before = try await marks(test, account)
            let count = test.store.accountNews.count(of: [account.accountID])
            try await test.buy("credits5", by: account)
            try await test.buy("hats", by: account)
            #expect(try await marks(test, account) == before)
            #expect(try await arrived(test, account).isEmpty)
            #expect(test.store.accountNews.count(of: [account.accountID]) == count)
            let all = try await test.store.unfinishedTransactions(of: account, in: TestStore.bundleID, after: nil)
            #expect(all.transactions.count == 2)
        }
    }

    @Test(arguments: Backend.available) func approvalsAndRefusalsAreTold(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let child = try await test.account(asksToBuy: true)
            let (approved, declined) = (test.request("credits5"), test.request("credits5"))
            for request in [approved, declined] {
                #expect(try await test.store.purchase(request, by: child).state == .deferred)
            }
            let before = try await marks(test, child)
            let first = test.store.accountNews.count(of: [child.accountID])
            _ = try await test.store.approve(approved.idempotencyKey)
            let second = test.store.accountNews.count(of: [child.accountID])
            let between = try await marks(test, child)
            #expect(second != first && between.transactions != before.transactions)
            #expect(try await arrived(test, child).map(\.idempotencyKey) == [approved.idempotencyKey])
            try await test.store.decline(declined.idempotencyKey)
            #expect(test.store.accountNews.count(of: [child.accountID]) != second)
            let after = try await marks(test, child)
            #expect(after.notices != between.notices && after.transactions == between.transactions)
        }
    }

    @Test(arguments: Backend.available) func refundsAndPromotionsAreTold(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let bought = try await test.buy("hats", by: account)
            var seen = [try await marks(test, account)]
            var counts = [test.store.accountNews.count(of: [account.accountID])]
            _ = try await test.store.refund(bought.transactionID, reason: .other)
            seen.append(try await marks(test, account))
            counts.append(test.store.accountNews.count(of: [account.accountID]))
            _ = try await test.store.promote("credits5", in: TestStore.bundleID, to: account)
            seen.append(try await marks(test, account))
            counts.append(test.store.accountNews.count(of: [account.accountID]))
            #expect(Set(seen.map(\.notices)).count == 3 && Set(counts).count == 3)
            #expect(seen.allSatisfy { $0.transactions == NewsMarks.nothing })
            #expect(seen.allSatisfy { $0.notices.utf8.count <= NewsMarks.longest })
        }
    }

    @Test(arguments: Backend.available) func aFamilyHearsOfWhatAMemberBuys(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let home = try await Household(test)
            let sources = try await test.store.newsSources(of: home.ben)
            #expect(sources == [home.ben.accountID, home.anna.accountID])
            #expect(try await test.store.newsSources(of: home.cleo) == [home.cleo.accountID])
            let count = test.store.accountNews.count(of: sources)
            try await test.buy("gym.monthly", by: home.anna)
            #expect(test.store.accountNews.count(of: sources) != count)
            #expect(try await arrived(test, home.ben).map(\.productID) == ["gym.monthly"])
            #expect(try await arrived(test, home.anna).isEmpty)
        }
    }

    @Test(arguments: Backend.available)
    func anUpgradeIsToldToTheOtherDevicesOfTheAccount(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            try await test.buy("club.weekly", by: account)
            #expect(try await arrived(test, account).isEmpty)
            let count = test.store.accountNews.count(of: [account.accountID])
            let upgrade = try await test.buy("club.monthly", by: account)
            #expect(test.store.accountNews.count(of: [account.accountID]) != count)
            #expect(try await arrived(test, account).map(\.transactionID) == [upgrade.transactionID])
        }
    }

    @Test(arguments: Backend.available) func aFamilyHearsOfAReversedRefund(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let home = try await Household(test)
            let gym = try await test.buy("gym.monthly", by: home.anna)
            _ = try await test.store.refund(gym.transactionID, reason: .other)
            let sources = try await test.store.newsSources(of: home.ben)
            let count = test.store.accountNews.count(of: sources)
            _ = try await test.store.reverseRefund(gym.transactionID)
            #expect(test.store.accountNews.count(of: sources) != count)
        }
    }

    @Test func otherProcessesAreToldOnce() {
        let (here, there) = (AccountNews(), AccountNews())
        here.record(["a"])
        #expect(here.takeUntold().isEmpty)
        here.share()
        here.record(["a", "b"])
        here.record(["a"])
        here.hear(["c"])
        let told = here.takeUntold()
        #expect(Set(told) == ["a", "b"] && here.takeUntold().isEmpty)
        let count = there.count(of: ["a"])
        there.hear(told)
        #expect(there.count(of: ["a"]) != count && there.takeUntold().isEmpty)
    }
}
