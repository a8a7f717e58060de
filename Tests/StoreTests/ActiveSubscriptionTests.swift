import StoreWire
import TestSupport
import Testing

@testable import Store

/// Which questions count the grace period of a subscription, and which ask for a paid period that lasts.
@Suite("Active subscriptions", .timeLimit(.minutes(1))) struct ActiveSubscriptionTests {
    private static let day: Int64 = 86_400_000
    private static let gym: ProductID = "gym.monthly"

    /// An increase would ask the customer for consent, and its lack would end the subscription with the next attempt.
    @Test(arguments: Backend.available) func noPriceIsIncreasedInAGracePeriod(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            try await test.store.apps.setGracePeriod(GracePeriod(length: .sixteenDays), of: TestStore.bundleID)
            let account = try await test.account()
            let id = try await test.buy(Self.gym, by: account).originalTransactionID
            func order() async throws -> WireError.Code? {
                try await refusal {
                    try await test.store.increasePrice(of: Self.gym, in: TestStore.bundleID, to: 12_990, for: account)
                }
            }
            test.clock.milliseconds += Self.day
            let overdue = try await test.store.failRenewal(id)
            #expect(overdue.state == .gracePeriod && overdue.isActive(at: test.store.clock.milliseconds))
            #expect(try await order() == .wrongState)
            #expect(try await test.store.priceIncreases(of: account).isEmpty)
            #expect(try await test.store.recover(id).state == .active)
            #expect(try await order() == nil)
        }
    }

    /// A price of the plan that the customer leaves is of no use to the renewal, which has been charged already.
    @Test(arguments: Backend.available)
    func noPriceOfAReplacedPlanIsIncreased(_ backend: Backend) async throws {
        try await backend.withStore(.production) { test async throws in
            let account = try await test.account()
            let trial = try await test.buy("club.monthly", by: account)
            try await test.buy("club.weekly", by: account)
            let end = try #require(trial.expiresDate)
            // Production charges the lower plan a day before it begins.
            try await test.store.changeClock { try $0.set(to: end - Self.day) }
            #expect(try await test.ledger().map(\.productID) == ["club.monthly", "club.weekly"])
            func order(_ productID: ProductID) async throws -> WireError.Code? {
                try await refusal {
                    try await test.store.increasePrice(
                        of: productID, in: TestStore.bundleID, to: 9990, for: account)
                }
            }
            #expect(try await order("club.monthly") == .wrongState)
            #expect(try await order("club.weekly") == nil)
        }
    }

    /// The refund of an earlier period takes nothing from the purchaser or a member of the family.
    @Test(arguments: Backend.available) func theRefundOfAnEarlierPeriodTakesNothingFromAGracePeriod(
        _ backend: Backend
    ) async throws {
        try await backend.withHousehold { home async throws in
            let store = home.store
            func lost(_ account: Account) async throws -> [ProductID] {
                try await store.notices(for: account, in: TestStore.bundleID, after: nil, languages: [])
                    .revokedProductIDs
            }
            try await store.apps.setGracePeriod(GracePeriod(length: .sixteenDays), of: TestStore.bundleID)
            let first = try await home.test.buy(Self.gym, by: home.anna)
            try await home.advance(days: 40)
            #expect(try await store.failRenewal(first.originalTransactionID).state == .gracePeriod)
            _ = try await store.refund(first.transactionID, reason: .other)
            #expect(try await store.subscriptions(of: home.anna).map(\.state) == [.gracePeriod])
            #expect(try await home.shared(home.ben).isActive(at: store.clock.milliseconds))
            for account in [home.anna, home.ben] { #expect(try await lost(account).isEmpty) }
            // Nobody pays until the grace period is over.
            try await home.advance(days: 17)
            #expect(try await store.subscriptions(of: home.anna).map(\.state) == [.billingRetry])
            for account in [home.anna, home.ben] { #expect(try await lost(account) == [Self.gym]) }
        }
    }
}
