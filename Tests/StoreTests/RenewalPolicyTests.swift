import StoreWire
import TestSupport
import Testing

@testable import Store

/// Stores whose operator chose when subscriptions renew.
@Suite("Renewal policies", .timeLimit(.minutes(1))) struct RenewalPolicyTests {
    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 86_400_000

    @Test(arguments: Backend.available, StoreEnvironment.allCases)
    func aRenewalIsChargedAtTheChosenTime(_ backend: Backend, _ environment: StoreEnvironment) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            var policy = RenewalPolicy.usual(environment)
            policy.lead = 2 * Self.hour
            let test = try await TestStore.open(
                database, apps: apps, environment: environment, clock: TestClock(), policy: policy)
            let account = try await test.account()
            let end = try #require(try await test.buy("gym.monthly", by: account).expiresDate)
            try await test.store.changeClock { try $0.set(to: end - 2 * Self.hour - 1) }
            #expect(try await test.ledger().count == 1)
            try await test.store.changeClock { try $0.set(to: end - 2 * Self.hour) }
            let ledger = try await test.ledger()
            #expect(ledger.count == 2 && ledger.last?.purchaseDate == end)
        }
    }

    /// The date of the next charge is recorded with the period before it.
    @Test(arguments: Backend.available) func anotherTimeHoldsFromTheNextPeriodOn(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let before = try await TestStore.open(database, apps: apps, environment: .production, clock: clock)
            let account = try await before.account()
            let end = try #require(try await before.buy("gym.monthly", by: account).expiresDate)
            let test = try await TestStore.open(
                database, apps: apps, environment: .production, clock: clock, policy: RenewalPolicy(lead: 0))
            try await test.store.changeClock { try $0.set(to: end - Self.day) }
            let ledger = try await test.ledger()
            let next = try #require(ledger.last?.expiresDate)
            #expect(ledger.count == 2)
            try await test.store.changeClock { try $0.set(to: next - 1) }
            #expect(try await test.ledger().count == 2)
            try await test.store.changeClock { try $0.set(to: next) }
            #expect(try await test.ledger().count == 3)
        }
    }

    /// After the last renewal that the sandbox makes, the period is not cut short by the early charge of another one.
    @Test(arguments: Backend.available) func theLastPeriodLastsUntilItsEnd(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let test = try await TestStore.open(
                database, apps: apps, clock: TestClock(), policy: RenewalPolicy(lead: Self.day, mostRenewals: 1))
            let account = try await test.account()
            let first = try #require(try await test.buy("gym.monthly", by: account).expiresDate)
            try await test.store.changeClock { try $0.set(to: first - Self.day) }
            let end = try #require(try await test.ledger().last?.expiresDate)
            #expect(end > first)
            try await test.store.changeClock { try $0.set(to: end - 1) }
            let last = try #require(try await test.store.subscriptions(of: account).first)
            #expect(last.isActive(at: end - 1) && last.willRenew)
            try await test.store.changeClock { try $0.set(to: end) }
            #expect(try await test.store.subscriptions(of: account).first?.state == .expired)
            #expect(try await test.ledger().count == 2)
        }
    }

    @Test(arguments: Backend.available) func anOverdueRenewalIsChargedOnTheChosenDays(
        _ backend: Backend
    ) async throws {
        let declines = ScriptedProcessor { _ in .declined(message: "No.") }
        try await backend.withTestDatabases { database, apps async throws in
            let clock = TestClock()
            let before = try await TestStore.open(
                database, apps: apps, clock: clock, processor: ScriptedProcessor())
            let account = try await before.account()
            let end = try #require(try await before.buy("gym.monthly", by: account).expiresDate)
            let test = try await TestStore.open(
                database, apps: apps, clock: clock, processor: declines,
                policy: RenewalPolicy(lead: 0, retryDays: [3, 10]))
            func day(_ count: Int) -> Int64 { SubscriptionPeriod(unit: .day, count: count).end(from: end) }
            // How many charges were declined until each date.
            let expected: [(date: Int64, attempts: Int)] = [
                (end, 1), (day(3) - 1, 1), (day(3), 2), (day(10) - 1, 2), (day(10), 3), (day(60) - 1, 3),
            ]
            for (date, attempts) in expected {
                try await test.store.changeClock { try $0.set(to: date) }
                #expect(declines.authorizations.count == attempts)
                #expect(try await test.store.subscriptions(of: account).first?.state == .billingRetry)
            }
            try await test.store.changeClock { try $0.set(to: day(60)) }
            let over = try #require(try await test.store.subscriptions(of: account).first)
            #expect(over.state == .expired && over.expirationIntent == .billingError)
            #expect(declines.authorizations.count == 3)
        }
    }

    /// The period before it is the current one, and no command shortens that.
    @Test(arguments: Backend.available) func aPeriodThatHasNotBegunIsNotEnded(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let test = try await TestStore.open(
                database, apps: apps, clock: TestClock(), policy: RenewalPolicy(lead: Self.day))
            let account = try await test.account()
            let first = try await test.buy("gym.monthly", by: account)
            let end = try #require(first.expiresDate)
            try await test.store.changeClock { try $0.set(to: end - Self.day / 2) }
            let ledger = try await test.ledger()
            #expect(ledger.count == 2)
            let (store, original) = (test.store, first.transactionID)
            #expect(try await refusal { try await store.renewNow(original) } == .wrongState)
            #expect(try await refusal { try await store.failRenewal(original) } == .wrongState)
            #expect(try await refusal { try await store.expireNow(original) } == .wrongState)
            #expect(try await test.ledger() == ledger)
            #expect(try await store.subscriptions(of: account).first?.willRenew == true)
            // Once it has begun, it can be ended, and no payment rule is left from before.
            try await test.store.changeClock { try $0.set(to: end) }
            _ = try await store.renewNow(original)
            #expect(try await test.ledger().count == 3)
        }
    }
}
