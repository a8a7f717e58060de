import Foundation
import Synchronization

@testable import StoreKit

/// One launch of the app: its queue, and an observer that notes what it is told, as `updated purchased credits5`; one
/// line a call, batches joined.
// @unchecked: `state` is a Mutex, and all else is constant.
final class JourneyApp: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    private struct State {
        var history: [String] = []
        var transactions: [SKPaymentTransaction] = []
        var waiters: [Int: (wanted: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
        var cancelled: Set<Int> = []
        var nextWaiter = 0
    }

    let engine: StoreKitEngine
    let queue: SKPaymentQueue
    private let state = Mutex(State())
    private let grants: Grants?

    /// With `grants` the app delivers and finishes by itself; without, the test does.
    init(_ engine: StoreKitEngine, grants: Grants? = nil) {
        self.engine = engine
        self.grants = grants
        queue = SKPaymentQueue(engine: engine)
        super.init()
        queue.add(self)
    }

    var history: [String] { state.withLock { $0.history } }

    /// All that calls were about, in their order.
    var transactions: [SKPaymentTransaction] { state.withLock { $0.transactions } }

    /// The transaction that the last call was about.
    var latest: SKPaymentTransaction? { state.withLock { $0.transactions.last } }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        note("updated", transactions)
        guard let grants else { return }
        for transaction in transactions {
            switch transaction.transactionState {
            case .purchased, .restored:
                grants.grant(transaction)
                queue.finishTransaction(transaction)
            case .failed: queue.finishTransaction(transaction)
            case .purchasing, .deferred: break
            }
        }
    }

    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        note("removed", transactions)
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) { note(line: "restore finished") }

    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        note(line: "restore failed \((error as? SKError).map { "\($0.code)" } ?? "?")")
    }

    private func note(_ what: String, _ transactions: [SKPaymentTransaction]) {
        let line = transactions.map { "\(what) \($0.transactionState) \($0.payment.productIdentifier)" }
            .joined(separator: " + ")
        note(line: line, transactions)
    }

    private func note(line: String, _ transactions: [SKPaymentTransaction] = []) {
        let ready = state.withLock { state in
            state.history.append(line)
            state.transactions += transactions
            let count = state.history.count
            let ready = state.waiters.filter { $0.value.wanted <= count }
            for id in ready.keys { state.waiters[id] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    /// Waits for so many calls, or the end of the test's time, and gives them.
    @discardableResult
    func told(_ count: Int) async -> [String] {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.history.count >= count || state.cancelled.contains(id) { return true }
                    state.waiters[id] = (count, continuation)
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLock { state in
                state.cancelled.insert(id)
                return state.waiters.removeValue(forKey: id)?.continuation
            }
            waiting?.resume()
        }
        return history
    }

    func stop() async { await engine.stop() }
}

/// What the app granted over all launches, as it keeps it on its disk: each transaction once.
final class Grants: Sendable {
    private let quantities = Mutex<[String: Int]>([:])
    private let firsts = Mutex<[String]>([])

    /// The ids of the first transactions of what was restored, once for each time it was told.
    var originals: [String] { firsts.withLock { $0 } }

    var all: [String: Int] { quantities.withLock { $0 } }

    func grant(_ transaction: SKPaymentTransaction) {
        guard let id = transaction.transactionIdentifier else { return }
        quantities.withLock { $0[id] = transaction.payment.quantity }
        if let original = transaction.original?.transactionIdentifier { firsts.withLock { $0.append(original) } }
    }
}
