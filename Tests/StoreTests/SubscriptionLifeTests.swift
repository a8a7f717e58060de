import Database
import Foundation
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Random lives of a subscription over a real ledger. After each event the state, the ledger, the payments and the news
/// tell the same story.
@Suite("Lives of subscriptions", .timeLimit(.minutes(1))) struct SubscriptionLifeTests {
    /// What can happen, with a number for its chance.
    private enum Event: CaseIterable {
        case hours, days, month, year, cancel, enable, buyWeekly, buyMonthly, buyYearly, refundLast, refundEarlier
        case refundPart, reverse, extend, grace, noGrace, cardFails, cardWorks, receipt

        static func any(_ random: inout SeededGenerator) -> Event {
            let likely: [Event] = [.hours, .days, .days, .month, .month]
            return (Event.allCases + likely).randomElement(using: &random) ?? .days
        }
    }

    /// The seeds of the lives of one of ten parts. `CORNERSTORE_TEST_SEED` repeats one life.
    private static func seeds(_ backend: Backend, _ part: UInt64) -> Range<UInt64> {
        if let seed = ProcessInfo.processInfo.environment["CORNERSTORE_TEST_SEED"].flatMap(UInt64.init) {
            return seed..<seed + 1
        }
        let count: UInt64 = backend == .sqlite ? 20 : 4
        return part * count + 1..<(part + 1) * count + 1
    }

    @Test(arguments: Backend.available, 0..<10 as Range<UInt64>)
    func everyLifeAddsUp(_ backend: Backend, _ part: UInt64) async throws {
        let declines = Mutex(false)
        let processor = ScriptedProcessor { payment in
            declines.withLock { $0 }
                ? .declined(message: "The card is expired.") : .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withStore(processor: processor) { test async throws in
            for seed in Self.seeds(backend, part) {
                var random = SeededGenerator(seed: seed)
                declines.withLock { $0 = false }
                test.clock.milliseconds = TestClock.start
                try await test.store.changeClock { $0.reset() }
                let account = try await test.account("life-\(seed)@example.com")
                let heldBefore = processor.held.reduce(0) { $0 + $1.value }
                let refundedBefore = processor.refunds.reduce(0) { $0 + $1.amount.milliunits }
                var story: [String] = []
                for _ in 0..<Int.random(in: 10...60, using: &random) {
                    let event = Event.any(&random)
                    story.append("\(event)")
                    try await perform(event, test, account, declines, &random)
                    let problem = try await problem(test, account)
                    #expect(problem == nil, "seed \(seed): \(problem ?? ""); after \(story.joined(separator: " "))")
                    if problem != nil { return }
                }
                // Every payment that the processor holds is in the ledger, once, with its amount.
                let paid = try await periods(test, account).reduce(0) { $0 + $1.price.milliunits }
                // Reversing a refund charges its amount again.
                let again = try await test.reversed(of: account)
                let held = processor.held.reduce(0) { $0 + $1.value } - heldBefore
                #expect(held == paid + again, "seed \(seed): \(held) is held, \(paid + again) is in the ledger")
                let given = processor.refunds.reduce(0) { $0 + $1.amount.milliunits } - refundedBefore
                let refunded = try await periods(test, account).reduce(0) { $0 + $1.refunded }
                #expect(given == refunded + again, "seed \(seed): \(given) was given back of \(refunded + again)")
                // Later lives have the same clock; nothing of this one may be due then.
                _ = try await test.store.clearHistory(of: account)
                #expect(try await test.store.subscriptions(of: account).isEmpty)
            }
        }
    }

    private func perform(
        _ event: Event, _ test: TestStore, _ account: Account, _ declines: borrowing Mutex<Bool>,
        _ random: inout SeededGenerator
    ) async throws {
        let hour: Int64 = 3_600_000
        func advance(_ milliseconds: Int64) async throws {
            guard test.store.clock.milliseconds < 2_700_000_000_000 else { return }
            try await test.store.changeClock { try $0.advance(by: milliseconds) }
        }
        func buy(_ product: ProductID) async throws {
            let answer = try await test.store.purchase(test.request(product), by: account)
            #expect(
                answer.state == .purchased
                    || [.alreadySubscribed, .paymentDeclined].contains(answer.failure?.code), "\(answer)")
        }
        let subscription = try await test.store.subscriptions(of: account).first
        switch event {
        case .hours: try await advance(Int64.random(in: 1...40, using: &random) * hour)
        case .days: try await advance(Int64.random(in: 24...300, using: &random) * hour)
        case .month: try await test.store.changeClock { try $0.advance(months: 1) }
        case .year: try await advance(365 * 24 * hour)
        case .cancel:
            guard let subscription else { return }
            _ = try await test.store.setAutoRenew(false, of: subscription.originalTransactionID)
        case .enable:
            guard let subscription else { return }
            do { _ = try await test.store.setAutoRenew(true, of: subscription.originalTransactionID) } catch let error
                as StoreError where error.code == .wrongState
            {}
        case .buyWeekly: try await buy("club.weekly")
        case .buyMonthly: try await buy("club.monthly")
        case .buyYearly: try await buy("club.yearly")
        case .refundLast, .refundEarlier:
            let all = try await periods(test, account).filter { $0.revokedAt == nil }
            guard let one = event == .refundLast ? all.last : all.dropLast().randomElement(using: &random) else {
                return
            }
            _ = try await test.store.refund(one.transactionID, reason: .other)
        case .refundPart:
            guard let last = try await periods(test, account).last(where: { $0.revokedAt == nil }) else { return }
            _ = try await test.store.refund(last.transactionID, reason: .app, share: .prorated)
        case .reverse:
            guard let last = try await periods(test, account).last(where: { $0.revokedAt != nil }) else { return }
            do { _ = try await test.store.reverseRefund(last.transactionID) } catch let error as StoreError
                where error.code == .wrongState
            {}
        case .extend:
            guard let subscription else { return }
            do { _ = try await test.store.extend(subscription.originalTransactionID, days: 9) } catch let error
                as StoreError where error.code == .wrongState
            {}
        case .grace: try await test.store.apps.setGracePeriod(GracePeriod(length: .sixteenDays), of: TestStore.bundleID)
        case .noGrace: try await test.store.apps.setGracePeriod(nil, of: TestStore.bundleID)
        case .cardFails: declines.withLock { $0 = true }
        case .cardWorks: declines.withLock { $0 = false }
        case .receipt:
            guard subscription != nil else { return }
            let answer = try await test.verify(try await test.appReceipt(account), password: test.sharedSecret)
            let count = try await periods(test, account).count
            #expect(answer.status == 0 && answer.latest.count == count)
        }
    }

    private func periods(_ test: TestStore, _ account: Account) async throws -> [Transaction] {
        try await test.database.read { try Transactions.lasting(of: account.accountID, in: TestStore.bundleID, $0) }
    }

    /// What does not fit together; nil when all does.
    private func problem(_ test: TestStore, _ account: Account) async throws -> String? {
        let now = test.store.clock.milliseconds
        let periods = try await periods(test, account)
        let all = try await test.store.subscriptions(of: account)
        guard let subscription = all.first else { return periods.isEmpty ? nil : "periods without a subscription" }
        guard all.count == 1, let last = periods.last else { return "\(all.count) subscriptions" }
        func fails(_ condition: Bool, _ text: String) -> String? { condition ? text : nil }
        let news = try await test.store.news(of: subscription.originalTransactionID, limit: 200)
        let isOver = subscription.state == .expired || subscription.state == .revoked
        let element = PendingRenewal(subscription)
        var problems = [
            fails(Set(periods.map(\.originalTransactionID)).count != 1, "several original identifiers"),
            fails(Set(periods.map(\.originalPurchaseDate)).count != 1, "several original dates"),
            fails(Set(periods.compactMap(\.webOrderLineItemID)).count != periods.count, "a line item twice"),
            fails(subscription.transactionID != last.transactionID, "the last period is another one"),
            fails(subscription.expiresDate != last.expiresDate, "the end is another one"),
            fails(subscription.productID != last.productID, "the product is another one"),
            fails(periods.contains { $0.refunded > $0.price.milliunits }, "more is refunded than was paid"),
            fails(last.isUpgraded, "the last period is marked as replaced"),
            fails(
                subscription.state == .gracePeriod && subscription.graceEnds.map { $0 <= now } ?? true,
                "in grace after its end"),
            fails((subscription.dueAt ?? .max) <= now, "something is due still"),
            fails(isOver != (subscription.dueAt == nil), "\(subscription.state) and due at \(subscription.dueAt ?? 0)"),
            fails(isOver && subscription.willRenew, "over and renewing"),
            fails(
                subscription.state == .active && last.revokedAt == nil && subscription.expiresDate <= now,
                "active after the end"),
            fails(subscription.state == .revoked && last.revokedAt == nil, "revoked without a refund"),
            fails(subscription.state != .revoked && last.revokedAt != nil, "refunded and \(subscription.state)"),
            fails(subscription.isActive(at: now) && isOver, "active and over"),
            fails(
                element.map { $0.autoRenewStatus != subscription.willRenew } ?? false, "pending_renewal_info differs"),
        ]
        // No period begins before the end of the one before it, unless that was replaced by a change of plan, or bought
        // while the earlier one was refunded and got back later.
        let returned = Set(news.filter { $0.type == .refundReversed }.map(\.transactionID))
        for (earlier, later) in zip(periods, periods.dropFirst()) {
            let end = earlier.expiresDate ?? 0
            let isEarly =
                later.purchaseDate < end && earlier.revokedAt.map { $0 / 1000 > later.purchaseDate / 1000 } ?? true
            let isReplaced = earlier.isUpgraded || returned.contains(earlier.transactionID)
            problems.append(fails(isEarly && !isReplaced, "\(later.productID) is charged twice"))
            problems.append(fails(isReplaced && !isEarly && later.purchaseDate > end, "replaced after its end"))
            problems.append(fails(later.purchaseDate < earlier.purchaseDate, "periods in the wrong order"))
        }
        if news.count < 200 {
            // Each period is told of once: as a purchase, a change of plan or a renewal.
            let told = news.filter {
                $0.type == .subscribed || $0.type == .renewed || $0.type == .renewalPreference && $0.subtype == .upgrade
            }.map(\.transactionID).reversed()
            problems.append(fails(Array(told) != periods.map(\.transactionID), "the news tell of other periods"))
            var refunds: Set<TransactionID> = []
            for item in news.reversed() {
                if item.type == .refund { refunds.insert(item.transactionID) }
                if item.type == .refundReversed { refunds.remove(item.transactionID) }
            }
            let revoked = Set(periods.filter { $0.revokedAt != nil }.map(\.transactionID))
            problems.append(fails(refunds != revoked, "the news tell of other refunds"))
            // A purchase has whole seconds.
            let dates = news.map { $0.date / 1000 }
            problems.append(fails(dates != dates.sorted(by: >), "the news are out of order"))
        }
        return problems.compactMap(\.self).first
    }
}
