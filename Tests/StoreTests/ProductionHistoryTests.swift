import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// A period that Apple's production sold.
struct MeasuredPeriod: Sendable {
    /// Where the dates were published.
    var source: String
    /// A product of ``SubscriptionRow/catalog(_:)`` with the same length.
    var product: ProductID
    /// The purchase, in ISO 8601.
    var start: String
    /// The end, in ISO 8601.
    var end: String

    /// The periods in the order of their purchases. Of those with 18:00:00 only the days were published.
    static let all = [
        MeasuredPeriod(
            source: "a production receipt, over the end of daylight saving time", product: "gym.monthly",
            start: "2016-10-30T04:46:42Z", end: "2016-11-30T05:46:42Z"),
        MeasuredPeriod(
            source: "Stack Overflow 51852932: the month's end is the last day of February", product: "gym.monthly",
            start: "2018-01-29T18:00:00Z", end: "2018-02-28T18:00:00Z"),
        MeasuredPeriod(
            source: "a production receipt, three months", product: "gym.quarterly",
            start: "2019-09-18T09:30:22Z", end: "2019-12-18T10:30:22Z"),
        MeasuredPeriod(
            source: "a production receipt, before a recovery", product: "gym.monthly",
            start: "2019-10-20T17:56:56Z", end: "2019-11-20T18:56:56Z"),
        MeasuredPeriod(
            source: "a production receipt, 22:29:52 in Los Angeles", product: "gym.monthly",
            start: "2019-10-23T05:29:52Z", end: "2019-11-23T06:29:52Z"),
        MeasuredPeriod(
            source: "Stack Overflow 51852932, in a leap year", product: "gym.monthly",
            start: "2020-01-29T18:00:00Z", end: "2020-02-29T18:00:00Z"),
    ]
}

/// Dates that Apple's production showed. The store sells, charges and recovers at the same ones.
@Suite("Dates of Apple's production", .timeLimit(.minutes(1))) struct ProductionHistoryTests {
    private static let day: Int64 = 86_400_000

    private func withStore(_ backend: Backend, _ body: (TestStore, Account) async throws -> Void) async throws {
        try await backend.withStore(.production) { test async throws in
            test.store.catalog.replace(with: try SubscriptionRow.catalog())
            try await body(test, try await test.account())
        }
    }

    private func instant(_ text: String) throws -> Int64 {
        let date = try #require(ISO8601DateFormatter().date(from: text))
        return Int64(date.timeIntervalSince1970) * 1000
    }

    private func setClock(of test: TestStore, to instant: Int64) async throws {
        try await test.store.changeClock { try $0.set(to: instant) }
    }

    /// Lets all payments fail.
    private func declinePayments(at test: TestStore) async throws {
        try await test.store.payments.setRule(
            DeclineRule(ruleID: "card", accountID: nil, productID: nil, minimumAmount: nil, remaining: nil))
    }

    @Test(arguments: Backend.available)
    func measuredPeriodsEndAtTheSecondAndRenewADayEarly(_ backend: Backend) async throws {
        try await withStore(backend) { test, _ async throws in
            for (number, measured) in MeasuredPeriod.all.enumerated() {
                let (start, end) = (try instant(measured.start), try instant(measured.end))
                try await setClock(of: test, to: start)
                let account = try await test.account("subscriber\(number)@example.com")
                let first = try await test.buy(measured.product, by: account)
                #expect(first.purchaseDate == start && first.expiresDate == end, "\(measured.source)")
                // The charge comes a day before the end, and the period that it pays begins at the end.
                try await setClock(of: test, to: end - Self.day - 1)
                var ledger = try await test.ledger().filter { $0.accountID == account.accountID }
                #expect(ledger.count == 1, "\(measured.source)")
                try await setClock(of: test, to: end - Self.day)
                ledger = try await test.ledger().filter { $0.accountID == account.accountID }
                #expect(ledger.map(\.purchaseDate) == [start, end], "\(measured.source)")
                #expect(ledger.map(\.isRenewal) == [false, true], "\(measured.source)")
                let news = try await test.store.news(of: first.transactionID, limit: 1)
                #expect(news.first?.type == .renewed && news.first?.date == end - Self.day, "\(measured.source)")
                try await test.cancelSubscriptions(of: account)
            }
        }
    }

    /// A production receipt of 2019: a period that expired on 20 November was paid on 22 November.
    @Test(arguments: Backend.available)
    func aRecoveredPeriodBeginsWithThePayment(_ backend: Backend) async throws {
        try await withStore(backend) { test, account async throws in
            try await setClock(of: test, to: try instant("2019-10-20T17:56:56Z"))
            let first = try await test.buy("gym.monthly", by: account)
            let expired = try instant("2019-11-20T18:56:56Z")
            try await declinePayments(at: test)
            // Nobody hears of the charge that failed a day early until the period ends.
            try await setClock(of: test, to: expired - 1)
            #expect(try await test.store.news(of: first.transactionID).map(\.type) == [.subscribed])
            try await setClock(of: test, to: expired)
            let failed = try await test.store.news(of: first.transactionID, limit: 1)
            #expect(failed.first?.type == .failedToRenew && failed.first?.date == expired)
            let recovered = try instant("2019-11-22T01:06:10Z")
            try await setClock(of: test, to: recovered)
            #expect(try await test.store.subscription(first.transactionID).state == .billingRetry)
            try await test.store.payments.removeRules()
            _ = try await test.store.recover(first.transactionID)
            let period = try #require(try await test.ledger().last)
            let end = try instant("2019-12-22T01:06:10Z")
            #expect(period.purchaseDate == recovered && period.expiresDate == end)
        }
    }

    /// Thread 728090: the grace period of a weekly subscription was six days of Los Angeles, over a change of clocks.
    @Test(arguments: Backend.available)
    func aWeeklyGracePeriodLastsSixPacificDays(_ backend: Backend) async throws {
        try await withStore(backend) { test, account async throws in
            try await test.store.apps.setGracePeriod(GracePeriod(length: .sixteenDays), of: TestStore.bundleID)
            try await setClock(of: test, to: try instant("2022-10-25T09:15:38Z"))
            let first = try await test.buy("gym.weekly", by: account)
            let expired = try instant("2022-11-01T09:15:38Z")
            #expect(first.expiresDate == expired)
            try await declinePayments(at: test)
            try await setClock(of: test, to: expired)
            let subscription = try await test.store.subscription(first.transactionID)
            let graceEnds = try instant("2022-11-07T10:15:38Z")
            #expect(subscription.state == .gracePeriod && subscription.graceEnds == graceEnds)
            try await setClock(of: test, to: graceEnds - 1)
            #expect(try await test.store.subscription(first.transactionID).state == .gracePeriod)
            try await setClock(of: test, to: graceEnds)
            #expect(try await test.store.subscription(first.transactionID).state == .billingRetry)
        }
    }
}
