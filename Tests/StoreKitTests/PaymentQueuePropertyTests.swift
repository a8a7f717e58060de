import Foundation
import StoreWire
import Testing

@testable import StoreKit

/// SplitMix64, so that a seed that fails can be run again.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// A device, an app and a store without threads: everything that can happen happens in any order, and the machine is
/// killed now and then.
struct World {
    enum Effect {
        case confirm(UUID, PaymentQueueStateMachine.Confirmation)
        case send(UUID, PaymentQueueStateMachine.Answer)
        case collect([UUID: Data]?)
        case finish(UUID, Bool)
        case list(Listing)
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

    // What the app knows.
    var paymentKeys: Set<UUID> = []
    var held: [UUID: PaymentQueueEntry] = [:]
    var deliveries: [TransactionID: Int] = [:]
    var removals: [TransactionID: Int] = [:]
    var finishedByApp: Set<TransactionID> = []
    var complaints: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(state: seed)
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
        case 55..<57:
            nextObserver += 1
            perform(machine.observerAdded(nextObserver, isFirst: chance(50)))
        default: deliverOne()
        }
    }

    /// Without faults, until nothing more happens.
    mutating func drain() {
        faults = false
        relaunch()
        var rounds = 0
        while rounds < 10_000, !(pending.isEmpty && waits.isEmpty && held.isEmpty && !hasDeferred) {
            rounds += 1
            for key in answers.filter({ $0.value.state == .deferred }).map(\.key) { approve(key) }
            if !pending.isEmpty { deliverOne() }
            if let retry = takeRandomWait() { perform(machine.waited(for: retry)) }
            finishOne()
        }
        if rounds == 10_000 { complaints.append("never comes to rest") }
    }

    var hasDeferred: Bool { answers.values.contains { $0.state == .deferred } }

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
        for entry in entries where entry.phase == .purchased || entry.phase == .failed {
            if entry.phase == .purchased {
                guard let id = entry.transaction?.transactionID else {
                    complaints.append("purchased without a transaction")
                    continue
                }
                deliveries[id, default: 0] += 1
                if removals[id] != nil { complaints.append("\(id) delivered after it was removed") }
                if journal[entry.key]?.phase != .purchased { complaints.append("\(id) told before it was journaled") }
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
            case .forget(let key): journal[key] = nil
            case .update(let entries), .introduce(_, let entries): told(entries)
            case .remove(let key): removed(key)
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
        case .list(.unreachable): perform(machine.listingFailed(isWorthRetrying: true))
        case .list(.signedOut): perform(machine.listingFailed(isWorthRetrying: false))
        }
    }

    mutating func takeRandomWait() -> PaymentQueueStateMachine.Retry? {
        waits.isEmpty ? nil : waits.remove(at: Int.random(in: 0..<waits.count, using: &random))
    }
}

@Suite("The payment queue in any order of events")
struct PaymentQueuePropertyTests {
    @Test(arguments: 0..<40)
    func `everything sold is delivered, finished and removed once`(block: UInt64) {
        for seed in block * 50..<block * 50 + 50 {
            var world = World(seed: seed)
            for _ in 0..<250 { world.step() }
            world.drain()
            #expect(world.complaints == [], "seed \(seed)")
            #expect(world.machine.entries.isEmpty, "seed \(seed)")
            #expect(world.journal.isEmpty, "seed \(seed)")
            #expect(world.unfinished.isEmpty, "seed \(seed)")
            #expect(Set(world.deliveries.keys) == world.everSold, "seed \(seed)")
            #expect(Set(world.removals.keys) == world.everSold, "seed \(seed)")
            #expect(world.removals.values.allSatisfy { $0 == 1 }, "seed \(seed)")
            #expect(Set(world.answers.keys).isSubset(of: world.paymentKeys), "seed \(seed)")
        }
    }
}
