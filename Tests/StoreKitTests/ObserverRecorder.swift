import Foundation
import Synchronization

@testable import StoreKit

/// What an observer was told, in order, as `updated purchased 2000000000000001 credits5` lines; one line a
/// transaction, batches joined.
// @unchecked: `state` is a Mutex; `respond` is constant.
final class ObserverRecorder: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    private struct State {
        var history: [String] = []
        var waiters:
            [(id: Int, predicate: @Sendable ([String]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
        var cancelled: Set<Int> = []
        var nextWaiter = 0
    }

    private let state = Mutex(State())
    private let errors = Mutex<[SKError]>([])
    private let respond: @Sendable (SKPaymentQueue, SKPaymentTransaction) -> Void

    /// `respond` is the app: it is given each updated transaction.
    init(respond: @escaping @Sendable (SKPaymentQueue, SKPaymentTransaction) -> Void = { _, _ in }) {
        self.respond = respond
    }

    var history: [String] { state.withLock { $0.history } }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        record("updated", transactions)
        for transaction in transactions { respond(queue, transaction) }
    }

    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        record("removed", transactions)
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) { record("restore finished") }

    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        let code = (error as? SKError).map { "\($0.code)" } ?? "?"
        record("restore failed \(code)")
        errors.withLock { if let error = error as? SKError { $0.append(error) } }
    }

    /// The errors of failed restores.
    var restoreErrors: [SKError] { errors.withLock { $0 } }

    private func record(_ what: String, _ transactions: [SKPaymentTransaction]) {
        let line = transactions.map { transaction in
            let product = transaction.payment.productIdentifier.split(separator: ".").last ?? ""
            return "\(what) \(transaction.transactionState) \(transaction.transactionIdentifier ?? "-") \(product)"
        }.joined(separator: " + ")
        record(line)
    }

    private func record(_ line: String) {
        let ready = state.withLock { state in
            state.history.append(line)
            let history = state.history
            let ready = state.waiters.filter { $0.predicate(history) }
            state.waiters.removeAll { waiter in ready.contains { $0.id == waiter.id } }
            return ready.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    /// Returns once the history satisfies `predicate`, or the test's time is over.
    func wait(_ predicate: @escaping @Sendable ([String]) -> Bool) async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if predicate(state.history) || state.cancelled.contains(id) { return true }
                    state.waiters.append((id, predicate, continuation))
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLock { state in
                state.cancelled.insert(id)
                defer { state.waiters.removeAll { $0.id == id } }
                return state.waiters.first { $0.id == id }?.continuation
            }
            waiting?.resume()
        }
    }

    func wait(count: Int) async { await wait { $0.count >= count } }
}
