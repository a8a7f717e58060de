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

    /// One event, with a seed for what it chooses at random.
    private struct Step: Sendable, CustomStringConvertible {
        var event: Event
        var seed: UInt64

        var description: String { "\(event)" }
    }

    /// The number of lives on SQLite, a fifth of it on PostgreSQL. `make soak` has more.
    private static let lives = ProcessInfo.processInfo.environment["CORNERSTORE_TEST_LIVES"].flatMap(UInt64.init) ?? 200

    /// The seeds of the lives of one part. `CORNERSTORE_TEST_SEED` repeats one life.
    private static func seeds(_ backend: Backend, _ part: UInt64) -> Range<UInt64> {
        if let seed = ProcessInfo.processInfo.environment["CORNERSTORE_TEST_SEED"].flatMap(UInt64.init) {
            return seed..<seed + 1
        }
        let count: UInt64 = backend == .sqlite ? 20 : 4
        return part * count + 1..<(part + 1) * count + 1
    }

    /// Whether the payments of a life are declined now.
    private final class Card: Sendable {
        private let declines = Mutex(false)

        var fails: Bool {
            get { declines.withLock { $0 } }
            set { declines.withLock { $0 = newValue } }
        }
    }

    @Test(arguments: Backend.available, 0..<(lives + 19) / 20)
    func everyLifeAddsUp(_ backend: Backend, _ part: UInt64) async throws {
        let card = Card()
        let processor = ScriptedProcessor { payment in
            card.fails
                ? .declined(message: "The card is expired.") : .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withStore(processor: processor) { test async throws in
            for seed in Self.seeds(backend, part) {
                var random = SeededGenerator(seed: seed)
                let steps = (0..<Int.random(in: 10...60, using: &random)).map { _ in
                    Step(event: .any(&random), seed: random.next())
                }
                guard let problem = try await live(steps, "\(seed)", test, card, processor) else { continue }
                let shortest = try await shrink(steps, seed, test, card, processor)
                Issue.record("seed \(seed): \(problem); the shortest life with a problem: \(shortest)")
                return
            }
        }
    }

    /// Leaves steps out as long as a problem is left.
    private func shrink(
        _ steps: [Step], _ seed: UInt64, _ test: TestStore, _ card: Card, _ processor: ScriptedProcessor
    ) async throws -> String {
        var (shortest, said, tries) = (steps, "", 0)
        var size = max(steps.count / 2, 1)
        while size >= 1, tries < 200 {
            var start = 0
            while start < shortest.count, tries < 200 {
                var fewer = shortest
                fewer.removeSubrange(start..<min(start + size, fewer.count))
                tries += 1
                if let problem = try await live(fewer, "\(seed)-\(tries)", test, card, processor) {
                    (shortest, said) = (fewer, problem)
                } else {
                    start += size
                }
            }
            size /= 2
        }
        return "\(shortest.map(\.description).joined(separator: " ")) (\(said))"
    }

    /// Lives a life. Returns the first problem, or nil.
    private func live(
        _ steps: [Step], _ name: String, _ test: TestStore, _ card: Card, _ processor: ScriptedProcessor
    ) async throws -> String? {
        card.fails = false
        test.clock.milliseconds = TestClock.start
        try await test.store.changeClock { $0.reset() }
        try await test.store.apps.setGracePeriod(nil, of: TestStore.bundleID)
        let account = try await test.account("life-\(name)@example.com")
        let heldBefore = processor.held.reduce(0) { $0 + $1.value }
        let refundedBefore = processor.refunds.reduce(0) { $0 + $1.amount.milliunits }
        var found: String?
        for step in steps where found == nil {
            var random = SeededGenerator(seed: step.seed)
            try await perform(step.event, test, account, card, &random)
            found = try await problem(test, account)
        }
        // Every payment that the processor holds is in the ledger, once, with its amount. Reversing a refund charges
        // its amount again.
        let periods = try await periods(test, account)
        let paid = periods.reduce(0) { $0 + $1.price.milliunits } + (try await test.reversed(of: account))
        let held = processor.held.reduce(0) { $0 + $1.value } - heldBefore
        if held != paid { found = found ?? "\(held) is held, \(paid) is in the ledger" }
        let given = processor.refunds.reduce(0) { $0 + $1.amount.milliunits } - refundedBefore
        let refunded = periods.reduce(0) { $0 + $1.refunded } + (try await test.reversed(of: account))
        if given != refunded { found = found ?? "\(given) was given back, \(refunded) is in the ledger" }
        // Later lives have the same clock; nothing of this one may be due then.
        _ = try await test.store.clearHistory(of: account)
        if try await !test.store.subscriptions(of: account).isEmpty { found = found ?? "a cleared history is left" }
        return found
    }

    private func perform(
        _ event: Event, _ test: TestStore, _ account: Account, _ card: Card, _ random: inout SeededGenerator
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
        case .cardFails: card.fails = true
        case .cardWorks: card.fails = false
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
            problems.append(fails(earlier.isUpgraded && later.purchaseDate > end, "replaced after its end"))
            problems.append(fails(later.purchaseDate < earlier.purchaseDate, "periods in the wrong order"))
        }
        if let snapshot = try await test.lastSnapshot(of: subscription.originalTransactionID) {
            func text(_ name: String) -> String? { ReadSnapshot.text(snapshot.renewal[name]) }
            let renews = text("autoRenewStatus") == "1"
            problems += [
                fails(renews != subscription.willRenew, "the snapshot renews: \(renews)"),
                fails(
                    text("productId") != subscription.productID.rawValue,
                    "the snapshot has another product"),
                fails(
                    text("renewalDate") != "\(subscription.expiresDate)",
                    "the snapshot has another end"),
            ]
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
