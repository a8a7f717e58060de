import Database
import Foundation
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Random lives of a subscription over a real ledger, in the sandbox and in production. After each event the state, the
/// ledger, the payments, the receipt, `verifyReceipt`, StoreKit's list and the news tell the same story.
@Suite("Lives of subscriptions", .timeLimit(.minutes(1))) struct SubscriptionLifeTests {
    /// One event, with a seed for what it chooses at random.
    private struct Step: Sendable, CustomStringConvertible {
        var event: LifeEvent
        var seed: UInt64

        var description: String { "\(event)" }
    }

    /// The numbers that a variable of the environment has.
    private static func variable(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
    }

    /// The number of lives on SQLite. `make soak` has more, and then as many on PostgreSQL; otherwise that has a fifth.
    private static let lives = variable("CORNERSTORE_TEST_LIVES")
    /// The only life to repeat; nil for all.
    private static let onlySeed = variable("CORNERSTORE_TEST_SEED").map { max($0, 1) }
    /// The lives of one part, which share a store. Every second part is in production.
    private static let partSize: UInt64 = 10

    private static let parts: [UInt64] =
        onlySeed.map { [($0 - 1) / partSize] } ?? Array(0..<((lives ?? 200) + partSize - 1) / partSize)

    /// What happened in all lives.
    private struct Tally {
        /// The parts that are over.
        var parts = 0
        /// How often the store accepted an offer.
        var accepted: [String: Int] = [:]
    }

    private static let tally = Mutex(Tally())

    /// The seeds of the lives of one part. `CORNERSTORE_TEST_SEED` repeats one life.
    private static func seeds(_ backend: Backend, _ part: UInt64) -> Range<UInt64> {
        if let onlySeed { return onlySeed..<onlySeed + 1 }
        let count = backend == .sqlite || lives != nil ? partSize : partSize / 5
        return part * partSize + 1..<part * partSize + 1 + count
    }

    @Test(arguments: Backend.available, parts)
    func everyLifeAddsUp(_ backend: Backend, _ part: UInt64) async throws {
        let environment: StoreEnvironment = part.isMultiple(of: 2) ? .sandbox : .production
        let card = LifeCard()
        let processor = ScriptedProcessor { payment in
            card.fails
                ? .declined(message: "The card is expired.") : .approved(reference: "R-\(payment.idempotencyKey)")
        }
        try await backend.withStore(environment, processor: processor) { test async throws in
            test.store.catalog.replace(with: try LifeCatalog.catalog())
            for code in LifeCatalog.codes { _ = try await test.customCode(code.uppercased(), code, limit: 2_000) }
            for seed in Self.seeds(backend, part) {
                var random = SeededGenerator(seed: seed)
                let steps = (0..<Int.random(in: 10...60, using: &random)).map { _ in
                    Step(event: .any(&random), seed: random.next())
                }
                guard let problem = try await live(steps, "\(seed)", test, card, processor) else { continue }
                // The time limit may end the search for a shorter one.
                Issue.record(
                    "seed \(seed) (CORNERSTORE_TEST_SEED=\(seed) repeats it), \(backend), \(environment): \(problem)")
                let shortest = try await shrink(steps, seed, test, card, processor)
                Issue.record("seed \(seed): the shortest life with a problem: \(shortest)")
                return
            }
        }
        checkTally()
    }

    /// Checks after the last part that customers got every offer. A store that refuses all is not wrong in any life.
    private func checkTally() {
        let (parts, accepted) = Self.tally.withLock { tally in
            tally.parts += 1
            return (tally.parts, tally.accepted)
        }
        // In fewer lives, chance may leave one out.
        guard parts == Backend.available.count * Self.parts.count, Self.lives.map({ $0 > 1_000 }) ?? false else {
            return
        }
        print("Lives of subscriptions: \(accepted)")
        let named = LifeCatalog.offers.keys.map { Self.name($0) }
        for offer in named + LifeCatalog.introductions.keys.map({ Self.name(ofIntroductionTo: $0) }) {
            #expect(accepted[offer, default: 0] > 0, "No customer got the \(offer) offer.")
        }
    }

    private static func name(_ offer: NamedOffer) -> String { "\(offer.kind) \(offer.id)" }
    private static func name(ofIntroductionTo product: ProductID) -> String { "introductory \(product)" }

    /// Counts the offers of a life.
    private func count(_ offers: [NamedOffer: Int], _ rows: [Transaction]) {
        Self.tally.withLock { tally in
            for (offer, times) in offers { tally.accepted[Self.name(offer), default: 0] += times }
            if let first = rows.first(where: { $0.offer != nil }) {
                tally.accepted[Self.name(ofIntroductionTo: first.productID), default: 0] += 1
            }
        }
    }

    /// Leaves steps out as long as a problem is left.
    private func shrink(
        _ steps: [Step], _ seed: UInt64, _ test: TestStore, _ card: LifeCard, _ processor: ScriptedProcessor
    ) async throws -> String {
        let end = ContinuousClock.now + .seconds(25)
        var (shortest, said, tries) = (steps, "", 0)
        var size = max(steps.count / 2, 1)
        while size >= 1, tries < 200 {
            var start = 0
            while start < shortest.count, tries < 200, ContinuousClock.now < end {
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
        _ steps: [Step], _ name: String, _ test: TestStore, _ card: LifeCard, _ processor: ScriptedProcessor
    ) async throws -> String? {
        card.fails = false
        test.clock.milliseconds = TestClock.start
        test.store.catalog.replace(with: try LifeCatalog.catalog())
        try await test.store.changeClock { $0.reset() }
        try await test.store.apps.setGracePeriod(nil, of: TestStore.bundleID)
        var scene = LifeScene(
            test, card, processor, account: try await test.account("life-\(name)@example.com"),
            kin: try await test.account("kin-\(name)@example.com"))
        var model = LifeModel(after: try await newestNumber(test))
        let before = LifeBooks(processor)
        var found: String?
        for (index, step) in steps.enumerated() where found == nil {
            var random = SeededGenerator(seed: step.seed)
            do {
                found = try await scene.perform(step.event, &random)
                if found == nil { found = try await model.check(step.event, scene) }
            } catch {
                found = "\(error)"
            }
            found = found.map { "\($0), after \(step.event), event \(index + 1)" }
        }
        if found == nil { found = try await check(model.rows, since: before, scene) }
        count(scene.accepted, model.rows)
        return try await clear(scene) ?? found
    }

    private func newestNumber(_ test: TestStore) async throws -> Int64 {
        try await test.database.read { try SubscriptionFeed.highestNumber($0)?.rawValue ?? 0 }
    }

    // MARK: The end of a life

    /// What a payment processor has, in milliunits.
    private struct LifeBooks {
        let held: Int64
        let refunded: Int64

        init(_ processor: ScriptedProcessor) {
            held = processor.held.reduce(0) { $0 + $1.value }
            refunded = processor.refunds.reduce(0) { $0 + $1.amount.milliunits }
        }
    }

    /// Compares the books with the ledger, and signs what was compared unsigned until now.
    private func check(_ rows: [Transaction], since before: LifeBooks, _ scene: LifeScene) async throws -> String? {
        let (test, account, books) = (scene.test, scene.account, LifeBooks(scene.processor))
        // Every payment that the processor holds is in the ledger, once, with its amount. Reversing a refund charges
        // its amount again.
        let reversed = try await test.reversed(of: account)
        let paid = rows.reduce(0) { $0 + $1.price.milliunits } + reversed
        let held = books.held - before.held
        guard held == paid else { return "\(held) is held, \(paid) is in the ledger" }
        let refunded = rows.reduce(0) { $0 + $1.refunded } + reversed
        let given = books.refunded - before.refunded
        guard given == refunded else { return "\(given) was given back, \(refunded) is in the ledger" }
        let query = LedgerQuery(accountID: account.accountID, limit: 1_000)
        let ledger = try await test.database.read { try Transactions.page(query, $0).rows }
        guard ledger.reversed() == rows else { return "the operator's ledger differs" }
        if let problem = try await checkReceipt(of: account, rows, scene) { return problem }
        guard scene.hasFamily else { return nil }
        let kinID = scene.kin.accountID
        let kin = try await test.database.read { try Transactions.lasting(of: kinID, in: TestStore.bundleID, $0) }
        return try await checkReceipt(of: scene.kin, kin, scene)
    }

    private func checkReceipt(
        of account: Account, _ rows: [Transaction], _ scene: LifeScene
    ) async throws -> String? {
        let test = scene.test
        let lines = rows.map { LifeLine($0) }
        let bytes = try await test.appReceipt(account)
        let receipt = try await AppReceipt(bytes)
        let inApp = receipt.inApp.map { LifeLine($0) }.sorted { $0.id < $1.id }
        guard inApp == lines else { return "the signed receipt has \(inApp), the ledger \(lines)" }
        guard !rows.isEmpty else { return nil }
        let answer = try await test.verify(bytes, password: test.sharedSecret)
        guard answer.status == 0 else { return "verifyReceipt answers \(answer.text)" }
        let latest = answer.latest.compactMap { LifeLine(answer: $0) }
        let byID = Dictionary(latest.map { ($0.id, $0) }) { first, _ in first }
        guard answer.latest.count == lines.count, lines.allSatisfy({ byID[$0.id] == $0 }) else {
            return "verifyReceipt has \(latest), the ledger \(lines)"
        }
        let subscriptions =
            try await test.store.subscriptions(of: account) + test.store.sharedSubscriptions(of: account)
        let expected = subscriptions.compactMap { PendingRenewal($0) }.map { LifeRenewal($0) }
        let pending = answer.pending.map { LifeRenewal(answer: $0) }
        return pending == expected ? nil : "verifyReceipt has \(pending), the state is \(expected)"
    }

    /// Removes a life. Later ones have the same clock, and nothing of this one may be due then.
    private func clear(_ scene: LifeScene) async throws -> String? {
        let store = scene.test.store
        guard store.environment == .sandbox else {
            // Production keeps its histories.
            let accountID = scene.account.accountID
            try await scene.test.database.write { try Subscriptions.delete(of: accountID, $0) }
            return nil
        }
        _ = try await store.clearHistory(of: scene.account)
        if scene.hasFamily { _ = try await store.clearHistory(of: scene.kin) }
        let left = try await store.subscriptions(of: scene.account) + store.sharedSubscriptions(of: scene.kin)
        return left.isEmpty ? nil : "a cleared history is left"
    }
}
