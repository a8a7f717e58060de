import Foundation
import StoreWire
import Testing

@testable import StoreKit

@Suite("The payment queue's state machine")
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
                }
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
        case .failed: _ = machine.confirmed(key, .refused(.cancelled))
        }
        return machine
    }

    @Test func `the journal comes before the word, the word before the deed`() {
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
    func `each phase takes each event as it should`(phase: PaymentQueueEntry.Phase) {
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
            case .purchased: ["save finishing", "finish"]
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
    func `a relaunch takes each phase up where the journal left it`(phase: PaymentQueueEntry.Phase) {
        let journal = machine(at: phase).inOrder
        var machine = PaymentQueueStateMachine(journal: journal)
        let expected: [String] =
            switch phase {
            case .queued, .confirming: ["introduce queued", "confirm", "list"]
            case .sending: ["introduce sending", "send", "list"]
            case .deferred: ["introduce deferred", "send", "list"]
            case .collecting: ["introduce collecting", "collect 1", "list"]
            case .purchased: ["introduce purchased", "list"]
            case .failed: ["introduce failed", "list"]
            case .finishing: ["finish", "list"]
            }
        #expect(names(machine.observerAdded(1, isFirst: true)) == expected)
    }

    @Test func `a transaction finished while the list was on its way is not delivered again`() {
        var machine = machine(at: .finishing)
        _ = machine.observerAdded(2, isFirst: true)
        _ = machine.finished(key)
        let page = UnfinishedTransactionsResponse(transactions: [transaction(7, key: key)], next: nil)
        #expect(machine.listed(page, account: "me") { TestDevice.key(99) } == [])
        #expect(machine.entries.isEmpty)
    }

    @Test func `a listed transaction completes its payment, whatever became of the answer`() {
        for phase in [PaymentQueueEntry.Phase.sending, .deferred] {
            var machine = machine(at: phase)
            _ = machine.observerAdded(2, isFirst: true)
            let page = UnfinishedTransactionsResponse(transactions: [transaction(7, key: key)], next: nil)
            #expect(names(machine.listed(page, account: "me") { TestDevice.key(99) }) == ["collect 1"])
            #expect(machine.entries.count == 1)
            #expect(machine.answered(key, bought(7)) == [])
        }
    }

    @Test func `a payment that failed and was completed at the store comes as a transaction of its own`() {
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

    @Test func `a list that does not go on is not followed for ever`() {
        var machine = PaymentQueueStateMachine()
        _ = machine.observerAdded(1, isFirst: true)
        let page = UnfinishedTransactionsResponse(transactions: [], next: TransactionID(rawValue: 5))
        #expect(names(machine.listed(page, account: "me") { TestDevice.key(99) }) == ["list 5"])
        #expect(machine.listed(page, account: "me") { TestDevice.key(99) } == [])
    }

    @Test func `one sheet is up at a time, in order`() {
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

    @Test func `what cannot be journaled is not sent, and what was paid is tried again`() {
        var machine = machine(at: .confirming)
        _ = machine.confirmed(key, .agreed(account: "me", price: price))
        #expect(names(machine.saveFailed([key])) == ["update failed"])
        #expect(machine.answered(key, bought(7)) == [])

        machine = self.machine(at: .purchased)
        #expect(names(machine.saveFailed([key])) == ["wait collection 1"])
        #expect(names(machine.waited(for: .collection)) == ["collect 1"])
    }

    @Test func `delays double up to a minute, and are spread`() {
        let steady = Backoff(jitter: { 1 })
        #expect((1...8).map(steady.delay) == [1, 2, 4, 8, 16, 32, 60, 60])
        #expect(Backoff(jitter: { 0 }).delay(3) == 2)
        #expect(steady.delay(Int.max) == 60)
    }
}
