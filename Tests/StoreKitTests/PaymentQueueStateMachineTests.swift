import Foundation
import StoreWire
import Testing

@testable import StoreKit

@Suite("The payment queue's state machine", .timeLimit(.minutes(1)))
struct PaymentQueueStateMachineTests {
    private let key = TestDevice.key(1)
    private let price = Money(milliunits: 990, currency: "USD")
    private let values = PaymentValues(productIdentifier: "a.b.c")

    private func transaction(_ id: Int64, key: UUID?) -> TransactionDescription {
        TransactionDescription(
            transactionID: TransactionID(rawValue: id), originalTransactionID: TransactionID(rawValue: id),
            bundleID: "a.b",
            productID: "a.b.c", kind: .consumable, quantity: 1, purchaseDate: 0, originalPurchaseDate: 0,
            expiresDate: nil,
            applicationUsername: nil, idempotencyKey: key)
    }

    private func bought(_ id: Int64) -> PaymentQueueStateMachine.Answer {
        .response(PurchaseResponse(state: .purchased, transaction: transaction(id, key: key), failure: nil))
    }

    private let restoreKey = TestDevice.key(1000)

    /// A page of restored transactions, each the later delivery of the one with the number before.
    private func page(_ ids: [Int64], next: Int64?) -> PaymentQueueStateMachine.RestoreAnswer {
        let transactions = ids.map { id in
            var restored = transaction(id, key: nil)
            restored.originalTransactionID = TransactionID(rawValue: id - 1)
            restored.kind = .nonConsumable
            return restored
        }
        return .page(
            RestoreResponse(transactions: transactions, next: next.map { TransactionID(rawValue: $0) }), account: "me")
    }

    /// A short name for each action.
    private func names(_ actions: [PaymentQueueStateMachine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .save(let entries, let isGate):
                "\(isGate ? "gate" : "save") \(entries.map(\.phase.rawValue).joined(separator: ","))"
            case .forget: "forget"
            case .update(let entries): "update \(entries.map(\.phase.rawValue).joined(separator: ","))"
            case .introduce(_, let entries): "introduce \(entries.map(\.phase.rawValue).joined(separator: ","))"
            case .remove: "remove"
            case .confirm: "confirm"
            case .send: "send"
            case .collect(let entries): "collect \(entries.count)"
            case .finish: "finish"
            case .list(let after): after.map { "list \($0)" } ?? "list"
            case .wait(let retry, let attempt):
                switch retry {
                case .entry: "wait entry \(attempt)"
                case .collection: "wait collection \(attempt)"
                case .listing: "wait listing \(attempt)"
                case .restore: "wait restore \(attempt)"
                }
            case .restore(let restore): restore.after.map { "restore \($0)" } ?? "restore"
            case .concludeRestore: "conclude"
            case .restoreEnded(let calls, let failure, _): "ended \(calls)\(failure.map { " \($0.text)" } ?? "")"
            }
        }
    }

    private func machine(at phase: PaymentQueueEntry.Phase) -> PaymentQueueStateMachine {
        var machine = PaymentQueueStateMachine()
        _ = machine.observerAdded(1, isFirst: true)
        _ = machine.listingFailed(isWorthRetrying: false)
        _ = machine.add(values, key: key)
        let agreed = PaymentQueueStateMachine.Confirmation.agreed(account: "me", price: price)
        switch phase {
        case .queued: _ = machine.confirmed(key, .unreachable)
        case .confirming: break
        case .sending: _ = machine.confirmed(key, agreed)
        case .deferred:
            _ = machine.confirmed(key, agreed)
            _ = machine.answered(key, .response(PurchaseResponse(state: .deferred, transaction: nil, failure: nil)))
        case .collecting, .purchased, .finishing:
            _ = machine.confirmed(key, agreed)
            _ = machine.answered(key, bought(7))
            if phase != .collecting { _ = machine.collected([key: Data([1])]) }
            if phase == .finishing { _ = machine.finish(key) }
        case .restored:
            machine = quiet
            _ = machine.restore(username: nil, key: restoreKey)
            _ = machine.restored(restoreKey, page([7], next: nil)) { key }
            _ = machine.concludeRestore(restoreKey)
        case .failed: _ = machine.confirmed(key, .refused(.cancelled))
        }
        return machine
    }

    @Test func `the journal is written before observers are called, and observers before the store`() {
        var machine = PaymentQueueStateMachine()
        #expect(names(machine.observerAdded(1, isFirst: true)) == ["list"])
        #expect(names(machine.add(values, key: key)) == ["gate queued", "update queued", "confirm"])
        #expect(names(machine.confirmed(key, .agreed(account: "me", price: price))) == ["gate sending", "send"])
        #expect(names(machine.answered(key, bought(7))) == ["collect 1"])
        #expect(names(machine.collected([key: Data()])) == ["gate purchased", "update purchased"])
        #expect(names(machine.finish(key)) == ["save finishing", "finish"])
        #expect(names(machine.finished(key)) == ["forget", "remove"])
        #expect(machine.entries.isEmpty)
    }

    @Test(arguments: PaymentQueueEntry.Phase.allCases)
    func `each phase handles each event`(phase: PaymentQueueEntry.Phase) {
        let agreed = PaymentQueueStateMachine.Confirmation.agreed(account: "me", price: price)
        let refused = PaymentQueueStateMachine.Answer.refused(.notAllowed)
        let deferred = PaymentQueueStateMachine.Answer.response(
            PurchaseResponse(state: .deferred, transaction: nil, failure: nil))
        func after(_ event: (inout PaymentQueueStateMachine) -> [PaymentQueueStateMachine.Action]) -> [String] {
            var machine = machine(at: phase)
            #expect(machine.entries[key]?.phase == phase)
            return names(event(&machine))
        }
        let isConfirming = phase == .confirming
        #expect(after { $0.confirmed(key, agreed) } == (isConfirming ? ["gate sending", "send"] : []))
        #expect(
            after { $0.confirmed(key, .refused(.cancelled)) } == (isConfirming ? ["save failed", "update failed"] : []))
        #expect(after { $0.confirmed(key, .unreachable) } == (isConfirming ? ["wait entry 1"] : []))

        let isSending = phase == .sending
        #expect(after { $0.answered(key, bought(7)) } == (isSending ? ["collect 1"] : []))
        #expect(after { $0.answered(key, refused) } == (isSending ? ["save failed", "update failed"] : []))
        #expect(
            after { $0.answered(key, deferred) }
                == (isSending ? ["save deferred", "update deferred", "wait entry 1"] : []))
        #expect(after { $0.answered(key, .unreachable) } == (isSending ? ["wait entry 1"] : []))
        #expect(after { $0.answered(key, .signedOut) } == [])

        #expect(after { $0.collected([:]) } == (phase == .collecting ? ["gate purchased", "update purchased"] : []))
        let finishing: [String] =
            switch phase {
            case .purchased, .restored: ["save finishing", "finish"]
            case .failed: ["forget", "remove"]
            default: []
            }
        #expect(after { $0.finish(key) } == finishing)
        #expect(after { $0.finished(key) } == (phase == .finishing ? ["forget", "remove"] : []))
        #expect(after { $0.finishFailed(key) } == (phase == .finishing ? ["wait entry 1"] : []))
        let again: [String] =
            switch phase {
            case .queued: ["confirm"]
            case .deferred: ["send"]
            default: []
            }
        #expect(after { $0.waited(for: .entry(key)) } == again)
        #expect(
            after { $0.observerAdded(2, isFirst: false) }
                == (phase == .finishing ? [] : ["introduce \(phase.rawValue)"]))
    }

    @Test(arguments: PaymentQueueEntry.Phase.allCases)
    func `a relaunch continues each phase from the journal`(phase: PaymentQueueEntry.Phase) {
        let journal = machine(at: phase).inOrder
        var machine = PaymentQueueStateMachine(journal: journal)
        let expected: [String] =
            switch phase {
            case .queued, .confirming: ["introduce queued", "confirm", "list"]
            case .sending: ["introduce sending", "send", "list"]
            case .deferred: ["introduce deferred", "send", "list"]
            case .collecting: ["introduce collecting", "collect 1", "list"]
            case .purchased: ["introduce purchased", "list"]
            case .restored: ["introduce restored", "list"]
            case .failed: ["introduce failed", "list"]
            case .finishing: ["finish", "list"]
            }
        #expect(names(machine.observerAdded(1, isFirst: true)) == expected)
    }

    @Test func `a transaction that is finished while the list is requested is not delivered again`() {
        var machine = machine(at: .finishing)
        _ = machine.observerAdded(2, isFirst: true)
        _ = machine.finished(key)
        let page = UnfinishedTransactionsResponse(transactions: [transaction(7, key: key)], next: nil)
        #expect(machine.listed(page, account: "me") { TestDevice.key(99) } == [])
        #expect(machine.entries.isEmpty)
    }

    @Test(arguments: ["list", "restore", "code"])
    func `a redeemed transaction that was finished meanwhile is not delivered again`(underWay: String) {
        var machine = machine(at: .finishing)
        switch underWay {
        case "restore": _ = machine.restore(username: nil, key: restoreKey)
        case "code": machine.expectTransactions()
        default: _ = machine.listAgain()
        }
        _ = machine.finished(key)
        #expect(machine.entries.isEmpty)
        #expect(machine.received([transaction(7, key: nil)], account: "me") { TestDevice.key(98) } == [])
        #expect(machine.entries.isEmpty)
        // Another of the same answer is delivered, once.
        let others = [transaction(8, key: nil), transaction(8, key: nil)]
        #expect(names(machine.received(others, account: "me") { TestDevice.key(97) }) == ["collect 1"])
        #expect(machine.entries.count == 1)
    }

    @Test func `a finished transaction is forgotten when no pending answer can contain it`() {
        var machine = machine(at: .finishing)
        machine.expectTransactions()
        _ = machine.finished(key)
        #expect(machine.isKnown(TransactionID(rawValue: 7)))
        _ = machine.received([], account: "me") { TestDevice.key(98) }
        #expect(!machine.isKnown(TransactionID(rawValue: 7)))
    }

    @Test func `a listed transaction completes its payment even if the purchase's answer was lost`() {
        for phase in [PaymentQueueEntry.Phase.sending, .deferred] {
            var machine = machine(at: phase)
            _ = machine.observerAdded(2, isFirst: true)
            let page = UnfinishedTransactionsResponse(transactions: [transaction(7, key: key)], next: nil)
            #expect(names(machine.listed(page, account: "me") { TestDevice.key(99) }) == ["collect 1"])
            #expect(machine.entries.count == 1)
            #expect(machine.answered(key, bought(7)) == [])
        }
    }

    @Test func `a failed payment that the store completed is a new transaction`() {
        var machine = machine(at: .failed)
        _ = machine.observerAdded(2, isFirst: true)
        let page = UnfinishedTransactionsResponse(transactions: [transaction(7, key: key)], next: nil)
        #expect(names(machine.listed(page, account: "me") { TestDevice.key(99) }) == ["collect 1"])
        // The app may be finishing the failed one this moment, which must not finish what was bought.
        #expect(names(machine.finish(key)) == ["forget", "remove"])
        #expect(machine.entries.values.map(\.phase) == [.collecting])
        #expect(names(machine.received([transaction(7, key: key)], account: "me") { TestDevice.key(98) }) == [])
        #expect(machine.entries.count == 1)
    }

    @Test func `newly hosted content is delivered with a known transaction`() {
        var machine = PaymentQueueStateMachine()
        _ = machine.observerAdded(1, isFirst: true)
        var listed = transaction(7, key: nil)
        let page = { UnfinishedTransactionsResponse(transactions: [$0], next: nil) }
        _ = machine.listed(page(listed), account: "me") { TestDevice.key(7) }
        _ = machine.collected([:])
        _ = machine.listAgain()
        #expect(machine.listed(page(listed), account: "me") { TestDevice.key(8) }.isEmpty)
        listed.content = HostedContent(version: "1.0", lengths: [5])
        _ = machine.listAgain()
        #expect(
            names(machine.listed(page(listed), account: "me") { TestDevice.key(9) }) == [
                "save purchased", "update purchased",
            ])
        #expect(machine.inOrder.map { $0.transaction?.content } == [listed.content])
        _ = machine.listAgain()
        #expect(machine.listed(page(listed), account: "me") { TestDevice.key(9) }.isEmpty)
    }

    @Test func `a list whose pages repeat is not followed forever`() {
        var machine = PaymentQueueStateMachine()
        _ = machine.observerAdded(1, isFirst: true)
        let page = UnfinishedTransactionsResponse(transactions: [], next: TransactionID(rawValue: 5))
        #expect(names(machine.listed(page, account: "me") { TestDevice.key(99) }) == ["list 5"])
        #expect(machine.listed(page, account: "me") { TestDevice.key(99) } == [])
    }

    @Test func `payment sheets are shown one at a time, in order`() {
        var machine = PaymentQueueStateMachine()
        _ = machine.add(values, key: key)
        let second = TestDevice.key(2)
        #expect(names(machine.add(values, key: second)) == ["gate queued", "update queued"])
        let actions = machine.confirmed(key, .refused(.cancelled))
        #expect(names(actions) == ["confirm", "save failed", "update failed"])
        guard case .confirm(let entry) = actions.first else {
            Issue.record("no sheet")
            return
        }
        #expect(entry.key == second)
    }

    @Test func `a payment that cannot be journaled is not sent, and a paid one is tried again`() {
        var machine = machine(at: .confirming)
        _ = machine.confirmed(key, .agreed(account: "me", price: price))
        #expect(names(machine.saveFailed([key])) == ["update failed"])
        #expect(machine.answered(key, bought(7)) == [])

        machine = self.machine(at: .purchased)
        #expect(names(machine.saveFailed([key])) == ["wait collection 1"])
        #expect(names(machine.waited(for: .collection)) == ["collect 1"])
    }

    // MARK: Restoring

    /// A queue with an observer, whose list from the store is there.
    private var quiet: PaymentQueueStateMachine {
        var machine = PaymentQueueStateMachine()
        _ = machine.observerAdded(1, isFirst: true)
        _ = machine.listed(UnfinishedTransactionsResponse(transactions: [], next: nil), account: "me") { key }
        return machine
    }

    @Test func `each page is journaled, delivered, and then the next is requested`() {
        var machine = quiet
        var made = 10
        func fresh() -> UUID {
            made += 1
            return TestDevice.key(made)
        }
        #expect(names(machine.restore(username: nil, key: restoreKey)) == ["restore"])
        #expect(
            names(machine.restored(restoreKey, page([7, 9], next: 5), makeKey: fresh))
                == ["gate restored,restored", "update restored,restored", "restore 5"])
        #expect(
            machine.restored(restoreKey, .unreachable(nil), makeKey: fresh) == [
                .wait(for: .restore(restoreKey), attempt: 1)
            ])
        #expect(names(machine.waited(for: .restore(restoreKey))) == ["restore 5"])
        #expect(
            names(machine.restored(restoreKey, page([11], next: nil), makeKey: fresh))
                == ["gate restored", "update restored", "conclude"])
        #expect(names(machine.concludeRestore(restoreKey)) == ["ended 1"])
        // An answer that comes late finds nothing to do.
        #expect(machine.restored(restoreKey, page([13], next: nil), makeKey: fresh) == [])
        #expect(machine.concludeRestore(restoreKey) == [])
        #expect(machine.inOrder.map { $0.transaction?.transactionID.rawValue } == [7, 9, 11])
        #expect(machine.inOrder.allSatisfy { $0.isRestored == true && $0.account == "me" })
    }

    @Test func `a page without new transactions is not journaled, and a repeated page ends the restore`() {
        var machine = quiet
        _ = machine.restore(username: nil, key: restoreKey)
        #expect(names(machine.restored(restoreKey, page([], next: nil)) { key }) == ["conclude"])
        #expect(names(machine.concludeRestore(restoreKey)) == ["ended 1"])
        _ = machine.restore(username: nil, key: restoreKey)
        _ = machine.restored(restoreKey, page([7], next: 5)) { key }
        #expect(names(machine.restored(restoreKey, page([7], next: 5)) { TestDevice.key(2) }) == ["conclude"])
        #expect(machine.entries.count == 1)
    }

    @Test func `equal restores share a run, others wait, and each call gets its end`() {
        var machine = quiet
        let (second, third) = (TestDevice.key(1001), TestDevice.key(1002))
        #expect(names(machine.restore(username: nil, key: restoreKey)) == ["restore"])
        #expect(machine.restore(username: nil, key: second) == [])
        #expect(machine.restore(username: "ape", key: third) == [])
        #expect(machine.restore(username: "ape", key: second) == [])
        _ = machine.restored(restoreKey, page([], next: nil)) { key }
        #expect(names(machine.concludeRestore(restoreKey)) == ["ended 2", "restore"])
        #expect(machine.restore?.username == "ape")
        let failure = machine.restored(third, .refused(.cancelled)) { key }
        #expect(failure == [.restoreEnded(calls: 2, .cancelled, nil)])
        #expect(machine.restore == nil && machine.restoresToCome.isEmpty)
    }

    @Test func `signing in for a restore also delivers unfinished transactions`() {
        var machine = PaymentQueueStateMachine()
        _ = machine.observerAdded(1, isFirst: true)
        _ = machine.listingFailed(isWorthRetrying: false)
        _ = machine.restore(username: nil, key: restoreKey)
        #expect(
            names(machine.restored(restoreKey, page([7], next: 5)) { key })
                == ["list", "gate restored", "update restored", "restore 5"])
        _ = machine.listingFailed(isWorthRetrying: true)
        #expect(
            names(machine.restored(restoreKey, page([9], next: nil)) { TestDevice.key(2) }).first == "gate restored")
    }

    @Test func `a restore waits for the first observer`() {
        var machine = PaymentQueueStateMachine()
        #expect(machine.restore(username: nil, key: restoreKey) == [])
        #expect(names(machine.observerAdded(1, isFirst: true)) == ["list", "restore"])
    }

    @Test func `an unavailable store fails the restore with the network's error`() {
        var machine = quiet
        let cause = NetworkCause(code: NSURLErrorTimedOut, text: "late")
        _ = machine.restore(username: nil, key: restoreKey)
        for attempt in 1..<PaymentQueueStateMachine.restoreAttempts {
            #expect(names(machine.restored(restoreKey, .unreachable(cause)) { key }) == ["wait restore \(attempt)"])
            #expect(names(machine.waited(for: .restore(restoreKey))) == ["restore"])
        }
        #expect(
            machine.restored(restoreKey, .unreachable(cause)) { key }
                == [.restoreEnded(calls: 1, .unreachable, cause)])
    }

    @Test(arguments: [nil, 5 as Int64]) func `a page that cannot be journaled is not delivered, and fails the restore`(
        next: Int64?
    ) {
        var machine = quiet
        _ = machine.restore(username: nil, key: restoreKey)
        _ = machine.restored(restoreKey, page([7], next: next)) { key }
        // The engine drops what stands behind the gate.
        #expect(machine.saveFailed([key]) == [.restoreEnded(calls: 1, .restoreJournal, nil)])
        #expect(machine.entries.isEmpty)
        // Then nothing is known of it, and it can come again.
        _ = machine.restore(username: nil, key: restoreKey)
        #expect(names(machine.restored(restoreKey, page([7], next: nil)) { key }).first == "gate restored")
    }

    @Test func `transactions in the queue, or finished meanwhile, are not restored twice`() {
        var machine = machine(at: .restored)
        _ = machine.restore(username: nil, key: restoreKey)
        _ = machine.finish(key)
        _ = machine.finished(key)
        #expect(machine.entries.isEmpty)
        #expect(names(machine.restored(restoreKey, page([7], next: nil)) { TestDevice.key(2) }) == ["conclude"])
        _ = machine.concludeRestore(restoreKey)
        // Another restore, asked for after that, brings it.
        _ = machine.restore(username: nil, key: restoreKey)
        #expect(names(machine.restored(restoreKey, page([7], next: nil)) { key }).first == "gate restored")
    }

    // MARK: Many

    @Test func `many finishes are journaled together and sent in order, a few at a time`() {
        var machine = quiet
        _ = machine.restore(username: nil, key: restoreKey)
        var keys: [UUID] = []
        _ = machine.restored(restoreKey, page((1...20).map { $0 * 2 }, next: nil)) {
            keys.append(TestDevice.key(keys.count + 1))
            return keys[keys.count - 1]
        }
        let width = PaymentQueueStateMachine.finishesAtOnce
        let actions = machine.finish(keys)
        #expect(actions.count == 1 + width)
        guard case .save(let saved, false)? = actions.first else {
            Issue.record("not journaled first")
            return
        }
        #expect(saved.map(\.key) == keys)
        #expect(actions.dropFirst().map(finishedKey) == keys.prefix(width).map { $0 })
        #expect(machine.finished([keys[0], keys[2]]).suffix(2).map(finishedKey) == [keys[width], keys[width + 1]])
        // One that failed waits, and another takes its turn.
        let failed = machine.finishFailed(keys[1])
        #expect(failed.first == .wait(for: .entry(keys[1]), attempt: 1))
        #expect(failed.last.map(finishedKey) == keys[width + 2])
        #expect(machine.waited(for: .entry(keys[1])) == [])
        #expect(machine.finished(keys[3]).last.map(finishedKey) == keys[1])
    }

    private func finishedKey(_ action: PaymentQueueStateMachine.Action) -> UUID? {
        if case .finish(let entry) = action { entry.key } else { nil }
    }

    /// Ten times the queue may not cost a hundred times the work. The bound is loose: quadratic work is over it by far.
    @Test func `fifty thousand transactions are restored and finished in one go`() {
        var machine = quiet
        var made = 10
        _ = machine.restore(username: nil, key: restoreKey)
        let count: Int64 = 50_000
        for start in stride(from: 1, through: count, by: StoreLimits.page) {
            let end = start + Int64(StoreLimits.page)
            let next = end > count ? nil : end
            _ = machine.restored(restoreKey, page(Array(start..<end), next: next)) {
                made += 1
                return TestDevice.key(made)
            }
        }
        _ = machine.concludeRestore(restoreKey)
        #expect(machine.entries.count == Int(count))
        for key in 11...made { _ = machine.finish(TestDevice.key(key)) }
        for key in 11...made { _ = machine.finished(TestDevice.key(key)) }
        #expect(machine.entries.isEmpty)
    }

    @Test
    func `ten thousand finishes wait for an unavailable store and are sent in the end`() {
        var machine = quiet
        _ = machine.restore(username: nil, key: restoreKey)
        var keys: [UUID] = []
        _ = machine.restored(restoreKey, page((1...10_000).map { $0 * 2 }, next: nil)) {
            keys.append(TestDevice.key(keys.count + 1))
            return keys[keys.count - 1]
        }
        _ = machine.concludeRestore(restoreKey)
        var inFlight = machine.finish(keys).compactMap(finishedKey)[...]
        var waiting: [UUID] = []
        while let key = inFlight.popFirst() {
            waiting.append(key)
            inFlight += machine.finishFailed(key).compactMap(finishedKey)
        }
        #expect(waiting == keys)
        for key in waiting.reversed() { inFlight += machine.waited(for: .entry(key)).compactMap(finishedKey) }
        var told = 0
        while let key = inFlight.popFirst() {
            told += 1
            inFlight += machine.finished(key).compactMap(finishedKey)
        }
        #expect(told == keys.count && machine.entries.isEmpty)
    }

    @Test func `delays double up to a minute, and are spread`() {
        let steady = Backoff(jitter: { 1 })
        #expect((1...8).map(steady.delay) == [1, 2, 4, 8, 16, 32, 60, 60])
        #expect(Backoff(jitter: { 0 }).delay(3) == 2)
        #expect(steady.delay(Int.max) == 60)
    }

    @Test func `a missing sign-in does not delay another account's receipts`() throws {
        let keys = (1...3).map(TestDevice.key)
        let entries = zip(keys, ["me", "you", "me"] as [AccountID]).enumerated().map { index, pair in
            PaymentQueueEntry(
                key: pair.0, position: Int64(index + 1), payment: values, account: pair.1, phase: .collecting,
                transaction: transaction(Int64(index + 1), key: pair.0))
        }
        func collects(_ actions: [PaymentQueueStateMachine.Action]) -> [UUID] {
            actions.flatMap { action -> [UUID] in
                guard case .collect(let entries) = action else { return [] }
                return entries.map(\.key)
            }
        }
        var machine = PaymentQueueStateMachine(journal: entries)
        #expect(collects(machine.observerAdded(1, isFirst: true)) == [keys[0], keys[2]])
        let other = machine.collectionFailed()
        #expect(names(other) == ["wait collection 1", "collect 1"] && collects(other) == [keys[1]])
        #expect(names(machine.collected([:])) == ["gate purchased", "update purchased"])
        // The first account's wait for their time, and no longer.
        #expect(collects(machine.waited(for: .collection)) == [keys[0], keys[2]])
        #expect(names(machine.collectionFailed()) == ["wait collection 1"])
        #expect(collects(machine.waited(for: .collection)) == [keys[0], keys[2]])
        #expect(names(machine.collected([:])) == ["gate purchased,purchased", "update purchased,purchased"])
    }

    @Test func `signing in continues that account's payments and requests its list`() {
        let phases: [PaymentQueueEntry.Phase] = [.sending, .deferred, .finishing, .collecting, .purchased]
        let entries = phases.enumerated().map { index, phase in
            let isPaid = phase == .finishing || phase == .collecting || phase == .purchased
            return PaymentQueueEntry(
                key: TestDevice.key(index + 1), position: Int64(index + 1), payment: values, account: "me",
                phase: phase,
                transaction: isPaid ? transaction(Int64(index + 1), key: TestDevice.key(index + 1)) : nil)
        }
        var machine = PaymentQueueStateMachine(journal: entries)
        #expect(machine.signedIn("me", isCurrent: true).isEmpty)
        _ = machine.observerAdded(1, isFirst: true)
        // Nobody is signed in: the payments are parked, and the others wait.
        _ = machine.answered(TestDevice.key(1), .signedOut)
        _ = machine.answered(TestDevice.key(2), .signedOut)
        _ = machine.finishFailed(TestDevice.key(3))
        _ = machine.collectionFailed()
        _ = machine.listingFailed(isWorthRetrying: false)
        #expect(machine.isQuiet)
        #expect(machine.signedIn("you", isCurrent: false).isEmpty)
        let actions = machine.signedIn("me", isCurrent: true)
        #expect(names(actions) == ["send", "send", "finish", "list", "collect 1"])
        #expect(machine.answered(TestDevice.key(2), .signedOut).isEmpty)
        #expect(names(machine.signedIn("me", isCurrent: true)) == ["send"])
        // The first request was running at that sign-in, perhaps with no valid token.
        #expect(names(machine.answered(TestDevice.key(1), .signedOut)) == ["wait entry 1"])
        #expect(names(machine.waited(for: .entry(TestDevice.key(1)))) == ["send"])
        #expect(machine.answered(TestDevice.key(1), .signedOut).isEmpty)
        // That was while the list was asked for, perhaps with nobody's token: it is asked for again, once.
        #expect(names(machine.listingFailed(isWorthRetrying: false)) == ["list"])
        #expect(machine.listingFailed(isWorthRetrying: false).isEmpty)
    }
}
