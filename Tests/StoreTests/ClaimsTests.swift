import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// The scheduled work of several processes, which are stores over the same databases.
@Suite("Claims of scheduled work", .timeLimit(.minutes(1))) struct ClaimsTests {
    private static let day: Int64 = 86_400_000

    private static func claims(_ test: TestStore) -> Claims {
        Claims(test.databases, holder: UUID()) { [clock = test.clock] in clock.milliseconds }
    }

    @Test(arguments: Backend.available) func oneProcessHasAClaimUntilItsTimeIsOver(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (first, second) = (Self.claims(test), Self.claims(test))
            #expect(try await first.take("feed", seconds: 15))
            #expect(try await !second.take("feed", seconds: 15))
            // Another name is another claim.
            #expect(try await second.take("blobs", seconds: 15))
            test.clock.milliseconds += 10_000
            #expect(try await first.take("feed", seconds: 15))
            test.clock.milliseconds += 15_000
            #expect(try await !second.take("feed", seconds: 15))
            test.clock.milliseconds += 1
            #expect(try await second.take("feed", seconds: 15))
            #expect(try await !first.take("feed", seconds: 15))
            // Only the holder can give it back.
            await first.release("feed")
            #expect(try await !first.take("feed", seconds: 15))
            await second.release("feed")
            #expect(try await first.take("feed", seconds: 15))
        }
    }

    @Test(arguments: Backend.available) func aProcessWaitsForAnotherOnesClaim(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (first, second) = (Self.claims(test), Self.claims(test))
            #expect(try await first.take("feed", seconds: 15))
            async let waiting: Void = second.wait(for: "feed", seconds: 15)
            await first.release("feed")
            try await waiting
            #expect(try await !first.take("feed", seconds: 15))
            // One that was killed releases nothing.
            async let again: Void = first.wait(for: "feed", seconds: 15)
            test.clock.milliseconds += 15_001
            try await again
        }
    }

    @Test(arguments: Backend.available) func aProcessDoesNotWaitForever(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (first, second) = (Self.claims(test), Self.claims(test))
            #expect(try await first.take("feed", seconds: 15))
            #expect(
                try await refusal {
                    try await second.wait(for: "feed", seconds: 15, upTo: .zero)
                    return true
                } == .unavailable)
            await first.release("feed")
            try await second.wait(for: "feed", seconds: 15, upTo: .zero)
        }
    }

    @Test(arguments: Backend.available) func aKeptClaimIsReleasedWithItsTask(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let (first, second) = (Self.claims(test), Self.claims(test))
            let kept = KeptClaim(first, "feed", seconds: 60)
            #expect(!kept.isHeld)
            let task = Task { await kept.keep() }
            try await until { kept.isHeld }
            #expect(try await !second.take("feed", seconds: 60))
            let (refusals, refusal) = AsyncStream.makeStream(of: Void.self)
            let other = Task { await KeptClaim(second, "feed", seconds: 3).keep { refusal.yield() } }
            for await _ in refusals { break }
            other.cancel()
            await other.value
            task.cancel()
            await task.value
            #expect(!kept.isHeld)
            #expect(try await second.take("feed", seconds: 60))
        }
    }

    // MARK: Renewals

    /// Two processes on one ledger, and their payment processor.
    private struct Pair {
        let processor = ScriptedProcessor()
        let first: TestStore
        let second: TestStore

        init(_ database: Database, _ apps: Database) async throws {
            let clock = TestClock()
            first = try await TestStore.open(database, apps: apps, clock: clock, processor: processor)
            second = try await TestStore.open(database, apps: apps, clock: clock, processor: processor)
            for test in [first, second] { test.store.shareSchedule(ClaimsTests.claims(test)) }
        }

        var stores: [Store] { [first.store, second.store] }
    }

    @Test(arguments: Backend.available) func onlyOneProcessChargesARenewal(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let pair = try await Pair(database, apps)
            try await pair.first.buy("gym.monthly", by: pair.first.account())
            pair.first.clock.milliseconds += 365 * Self.day
            try await withThrowingTaskGroup(of: Void.self) { group in
                for store in pair.stores {
                    group.addTask { try await store.settleSubscriptions() }
                    group.addTask { try await store.settleSubscriptionsOnSchedule() }
                }
                try await group.waitForAll()
            }
            // The sandbox renews twelve times.
            #expect(try await pair.first.ledger().count == 13)
            let keys = pair.processor.authorizations.map(\.idempotencyKey)
            #expect(keys.count == 13 && Set(keys).count == 13 && pair.processor.voids.isEmpty)
            #expect(try await pair.first.count("subscriptions") == 1)
        }
    }

    @Test(arguments: Backend.available) func aProcessRenewsWhatAnotherOneSold(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let pair = try await Pair(database, apps)
            // Both know that nothing is due.
            for store in pair.stores { try await store.settleSubscriptionsOnSchedule() }
            try await pair.first.buy("gym.monthly", by: pair.first.account())
            pair.first.clock.milliseconds += 32 * Self.day
            try await pair.second.store.settleSubscriptionsOnSchedule()
            #expect(try await pair.second.ledger().count == 2)
        }
    }

    @Test(arguments: Backend.available) func anotherProcessContinuesAfterACrash(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let pair = try await Pair(database, apps)
            try await pair.first.buy("gym.monthly", by: pair.first.account())
            pair.first.clock.milliseconds += 32 * Self.day
            // Killed while it renewed.
            let killed = Self.claims(pair.first)
            #expect(try await killed.take("sandbox.subscriptions", seconds: Store.turnSeconds))
            try await pair.second.store.settleSubscriptionsOnSchedule()
            #expect(try await pair.second.ledger().count == 1)
            // A request does what is due for its account at once.
            try await pair.second.store.settleSubscriptions(of: pair.first.accountID())
            #expect(try await pair.second.ledger().count == 2)
            pair.first.clock.milliseconds += 31 * Self.day
            #expect(try await killed.take("sandbox.subscriptions", seconds: Store.turnSeconds))
            async let settling: Void = pair.second.store.settleSubscriptions()
            pair.first.clock.milliseconds += Store.turnSeconds * 1000 + 1
            try await settling
            #expect(try await pair.second.ledger().count == 3)
        }
    }
}

extension TestStore {
    fileprivate func accountID() async throws -> AccountID {
        try #require(try await store.accounts.account(email: "ape@example.com")).accountID
    }
}
