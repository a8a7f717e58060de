import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

/// A device, an app and a store without threads: everything that can happen happens in any order, and the machine is
/// killed now and then.
struct World {
    enum Effect {
        case confirm(UUID, PaymentQueueStateMachine.Confirmation)
        case send(UUID, PaymentQueueStateMachine.Answer)
        case collect([UUID: Data]?)
        case finish(UUID, Bool)
        case list(Listing)
        case restore(UUID, PaymentQueueStateMachine.RestoreAnswer)
    }

    var random: SeededGenerator
    var faults = true
    var machine = PaymentQueueStateMachine()
    var journal: [UUID: PaymentQueueEntry] = [:]
    var pending: [Effect] = []
    var waits: [PaymentQueueStateMachine.Retry] = []
    var nextKey = 0
    var nextObserver = 0

    // The store.
    var answers: [UUID: PurchaseResponse] = [:]
    var unfinished: [TransactionID: TransactionDescription] = [:]
    var nextTransaction: Int64 = 1
    var everSold: Set<TransactionID> = []

    /// Finished purchases that can be restored, oldest first.
    var owned: [TransactionDescription] = []
    /// What a restore gave, by its key and the source.
    var restored: [UUID: [TransactionID: TransactionID]] = [:]
    /// What was restored and not finished, by source.
    var openRestored: [TransactionID: TransactionID] = [:]

    // The app's calls to restore since the last launch, and what it heard.
    var restoreCalls = 0
    var restoreEnds = 0

    /// The sources of which some restored transaction was told in some launch.
    var deliveredSources: Set<TransactionID> {
        Set(restored.values.joined().filter { deliveries[$0.value] != nil }.map(\.key))
    }

    // What the app knows.
    var paymentKeys: Set<UUID> = []
    var held: [UUID: PaymentQueueEntry] = [:]
    var deliveries: [TransactionID: Int] = [:]
    var removals: [TransactionID: Int] = [:]
    var finishedByApp: Set<TransactionID> = []
    var complaints: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        perform(machine.observerAdded(nextObserver, isFirst: true))
    }

    mutating func chance(_ percent: Int) -> Bool { faults && Int.random(in: 0..<100, using: &random) < percent }

    mutating func makeKey() -> UUID {
        nextKey += 1
        return TestDevice.key(nextKey)
    }

    mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<12 where paymentKeys.count < 12: addPayment()
        case 12..<15: sellElsewhere()
        case 15..<20: decideDeferred()
        case 20..<24: relaunch()
        case 24..<40: finishOne()
        case 40..<55: if let retry = takeRandomWait() { perform(machine.waited(for: retry)) }
        case 55..<58: restore()
        case 58..<60:
            nextObserver += 1
            perform(machine.observerAdded(nextObserver, isFirst: chance(50)))
        case 60..<62: perform(machine.signedIn("me", isCurrent: chance(50)))
        default: deliverOne()
        }
    }

    /// Without faults, until nothing more happens.
    mutating func drain() {
        faults = false
        relaunch()
        restore()
        var rounds = 0
        while rounds < 10_000,
            !(pending.isEmpty && waits.isEmpty && held.isEmpty && !hasDeferred && restoreEnds == restoreCalls)
        {
            rounds += 1
            for key in answers.filter({ $0.value.state == .deferred }).map(\.key) { approve(key) }
            if !pending.isEmpty { deliverOne() }
            if let retry = takeRandomWait() { perform(machine.waited(for: retry)) }
            finishOne()
        }
        if rounds == 10_000 { complaints.append("never comes to rest") }
    }

    var hasDeferred: Bool { answers.values.contains { $0.state == .deferred } }

    /// Something bought on another device and finished there.
    mutating func own() {
        let id = TransactionID(rawValue: nextTransaction)
        nextTransaction += 1
        owned.append(
            TransactionDescription(
                transactionID: id, originalTransactionID: id, bundleID: "a.b", productID: ProductID("a.b.d\(id)"),
                kind: .nonConsumable, quantity: 1, purchaseDate: 0, originalPurchaseDate: 0, expiresDate: nil,
                applicationUsername: chance(50) ? "ape" : nil, idempotencyKey: nil))
    }

    mutating func restore() {
        if owned.count < 12, Int.random(in: 0..<2, using: &random) == 0 { own() }
        restoreCalls += 1
        perform(machine.restore(username: chance(30) ? "ape" : nil, key: makeKey()))
    }

    /// As the store's: the same page under the same key, and what is not finished under its first id.
    mutating func restorePage(_ restore: PaymentQueueStateMachine.Restore) -> PaymentQueueStateMachine.RestoreAnswer {
        if chance(3) { return .refused(.cancelled) }
        if chance(10) { return .unreachable(nil) }
        let rest = owned.filter {
            $0.transactionID > restore.after ?? TransactionID(rawValue: 0)
                && (restore.username == nil || $0.applicationUsername == restore.username)
        }
        let page = rest.prefix(3).map { source in
            let known = restored[restore.key]?[source.transactionID] ?? openRestored[source.transactionID]
            let id = known ?? TransactionID(rawValue: nextTransaction)
            if known == nil {
                nextTransaction += 1
                openRestored[source.transactionID] = id
                everSold.insert(id)
            }
            restored[restore.key, default: [:]][source.transactionID] = id
            var transaction = source
            transaction.transactionID = id
            return transaction
        }
        if chance(15) { return .unreachable(nil) }
        return .page(
            RestoreResponse(
                transactions: page, next: rest.count > 3 ? rest[rest.startIndex + 2].transactionID : nil),
            account: "me")
    }

    // MARK: The app

    mutating func addPayment() {
        let key = makeKey()
        paymentKeys.insert(key)
        perform(machine.add(PaymentValues(productIdentifier: "a.b.c"), key: key))
    }

    mutating func finishOne() {
        guard let key = held.keys.sorted(by: { $0.uuidString < $1.uuidString }).randomElement(using: &random),
            let entry = held.removeValue(forKey: key)
        else { return }
        if let id = entry.transaction?.transactionID { finishedByApp.insert(id) }
        perform(machine.finish(key))
    }

    mutating func told(_ entries: [PaymentQueueEntry]) {
        for entry in entries where [.purchased, .restored, .failed].contains(entry.phase) {
            if entry.phase != .failed {
                guard let id = entry.transaction?.transactionID else {
                    complaints.append("purchased without a transaction")
                    continue
                }
                deliveries[id, default: 0] += 1
                if (entry.phase == .restored) != (entry.isRestored == true) {
                    complaints.append("\(id) is restored and is not")
                }
                if removals[id] != nil { complaints.append("\(id) delivered after it was removed") }
                if journal[entry.key]?.phase != entry.phase { complaints.append("\(id) told before it was journaled") }
            }
            held[entry.key] = entry
        }
    }

    // MARK: Kills

    mutating func relaunch() {
        machine = PaymentQueueStateMachine(journal: journal.values.sorted { $0.position < $1.position })
        // What was on the wire reached the store already; its answers are lost.
        pending = []
        waits = []
        held = [:]
        restoreCalls = 0
        restoreEnds = 0
        nextObserver += 1
        perform(machine.observerAdded(nextObserver, isFirst: true))
    }

    // MARK: The store

    mutating func sell(_ key: UUID?) -> TransactionDescription {
        let id = TransactionID(rawValue: nextTransaction)
        nextTransaction += 1
        everSold.insert(id)
        let transaction = TransactionDescription(
            transactionID: id, originalTransactionID: id, bundleID: "a.b", productID: "a.b.c", kind: .consumable,
            quantity: 1,
            purchaseDate: 0, originalPurchaseDate: 0, expiresDate: nil, applicationUsername: nil, idempotencyKey: key)
        unfinished[id] = transaction
        return transaction
    }

    mutating func sellElsewhere() { _ = sell(nil) }

    mutating func approve(_ key: UUID) {
        answers[key] = PurchaseResponse(state: .purchased, transaction: sell(key), failure: nil)
    }

    mutating func decideDeferred() {
        guard
            let key = answers.filter({ $0.value.state == .deferred }).keys.sorted(by: { $0.uuidString < $1.uuidString })
                .first
        else { return }
        if chance(50) {
            answers[key] = PurchaseResponse(state: .failed, transaction: nil, failure: nil)
        } else {
            approve(key)
        }
    }

    mutating func buy(_ entry: PaymentQueueEntry) -> PaymentQueueStateMachine.Answer {
        if !paymentKeys.contains(entry.key) { complaints.append("sent under a key that no payment has") }
        if journal[entry.key]?.account != entry.account { complaints.append("sent before it was journaled") }
        if chance(20) { return .unreachable }
        if chance(3) { return .signedOut }
        let response: PurchaseResponse
        if let known = answers[entry.key] {
            response = known
        } else if chance(20) {
            response = PurchaseResponse(state: .deferred, transaction: nil, failure: nil)
        } else if chance(10) {
            response = PurchaseResponse(state: .failed, transaction: nil, failure: nil)
        } else {
            response = PurchaseResponse(state: .purchased, transaction: sell(entry.key), failure: nil)
        }
        answers[entry.key] = response
        return chance(25) ? .unreachable : .response(response)
    }

    mutating func page(after: TransactionID?) -> Listing {
        if chance(20) { return .unreachable }
        if chance(5) { return .signedOut }
        let rest = unfinished.values.filter { $0.transactionID > after ?? TransactionID(rawValue: 0) }
            .sorted { $0.transactionID < $1.transactionID }
        let page = Array(rest.prefix(3))
        return .page(
            UnfinishedTransactionsResponse(transactions: page, next: rest.count > 3 ? page.last?.transactionID : nil),
            account: "me")
    }

    // MARK: The engine

    mutating func perform(_ actions: [PaymentQueueStateMachine.Action]) {
        for action in actions {
            switch action {
            case .save(let entries, let isGate):
                if chance(4) {
                    guard isGate else { continue }
                    return perform(machine.saveFailed(entries.map(\.key)))
                }
                for entry in entries { journal[entry.key] = entry }
            case .forget(let keys): for key in keys { journal[key] = nil }
            case .update(let entries), .introduce(_, let entries): told(entries)
            case .remove(let keys): for key in keys { removed(key) }
            case .restore(let restore): pending.append(.restore(restore.key, restorePage(restore)))
            case .concludeRestore(let key): perform(machine.concludeRestore(key))
            case .restoreEnded(let calls, let failure, _):
                restoreEnds += calls
                if restoreEnds > restoreCalls { complaints.append("a restore ended twice") }
                if failure == nil, !faults {
                    for source in owned where !deliveredSources.contains(source.transactionID) {
                        complaints.append("\(source.transactionID) was not restored before the end")
                    }
                }
            case .confirm(let entry): pending.append(.confirm(entry.key, confirmation()))
            case .send(let entry): pending.append(.send(entry.key, buy(entry)))
            case .collect(let entries):
                pending.append(
                    .collect(chance(20) ? nil : Dictionary(uniqueKeysWithValues: entries.map { ($0.key, Data()) })))
            case .finish(let entry): finishAtStore(entry)
            case .list(let after): pending.append(.list(page(after: after)))
            case .wait(let retry, _): waits.append(retry)
            }
        }
    }

    mutating func confirmation() -> PaymentQueueStateMachine.Confirmation {
        if chance(15) { return .unreachable }
        if chance(10) { return .refused(.cancelled) }
        return .agreed(account: "me", price: Money(milliunits: 990, currency: "USD"))
    }

    mutating func finishAtStore(_ entry: PaymentQueueEntry) {
        guard let id = entry.transaction?.transactionID else { return complaints.append("finishes nothing") }
        if !finishedByApp.contains(id) { complaints.append("\(id) finished without the app's word") }
        if chance(15) { return pending.append(.finish(entry.key, false)) }
        unfinished[id] = nil
        if let source = openRestored.first(where: { $0.value == id })?.key { openRestored[source] = nil }
        finishedKeys[entry.key] = id
        pending.append(.finish(entry.key, !chance(20)))
    }

    var finishedKeys: [UUID: TransactionID] = [:]

    mutating func removed(_ key: UUID) {
        guard let id = finishedKeys[key] else { return }
        removals[id, default: 0] += 1
    }

    mutating func deliverOne() {
        guard !pending.isEmpty else { return }
        let effect = pending.remove(at: Int.random(in: 0..<pending.count, using: &random))
        switch effect {
        case .confirm(let key, let confirmation): perform(machine.confirmed(key, confirmation))
        case .send(let key, let answer): perform(machine.answered(key, answer))
        case .collect(let receipts): perform(receipts.map { machine.collected($0) } ?? machine.collectionFailed())
        case .finish(let key, let isDone): perform(isDone ? machine.finished(key) : machine.finishFailed(key))
        case .list(.page(let page, let account)):
            var made: [UUID] = (0..<page.transactions.count).map { _ in makeKey() }
            perform(machine.listed(page, account: account) { made.removeLast() })
        case .restore(let key, let answer):
            var made: [UUID] = (0..<3).map { _ in makeKey() }
            perform(machine.restored(key, answer) { made.removeLast() })
        case .list(.unreachable): perform(machine.listingFailed(isWorthRetrying: true))
        case .list(.signedOut): perform(machine.listingFailed(isWorthRetrying: false))
        }
    }

    mutating func takeRandomWait() -> PaymentQueueStateMachine.Retry? {
        waits.isEmpty ? nil : waits.remove(at: Int.random(in: 0..<waits.count, using: &random))
    }
}

@Suite("The payment queue in any order of events", .timeLimit(.minutes(1)))
struct PaymentQueuePropertyTests {
    @Test(arguments: 0..<40)
    func `every purchase is delivered, finished and removed once`(block: UInt64) {
        for seed in block * 50..<block * 50 + 50 {
            var world = World(seed: seed)
            for _ in 0..<250 { world.step() }
            world.drain()
            #expect(world.complaints == [], "seed \(seed)")
            #expect(world.machine.entries.isEmpty, "seed \(seed)")
            #expect(world.journal.isEmpty, "seed \(seed)")
            #expect(world.restoreEnds == world.restoreCalls, "seed \(seed)")
            #expect(world.deliveredSources == Set(world.owned.map(\.transactionID)), "seed \(seed)")
            #expect(world.openRestored.isEmpty, "seed \(seed)")
            #expect(world.unfinished.isEmpty, "seed \(seed)")
            #expect(Set(world.deliveries.keys) == world.everSold, "seed \(seed)")
            #expect(Set(world.removals.keys) == world.everSold, "seed \(seed)")
            #expect(world.removals.values.allSatisfy { $0 == 1 }, "seed \(seed)")
            #expect(Set(world.answers.keys).isSubset(of: world.paymentKeys), "seed \(seed)")
        }
    }
}
