import Foundation
import StoreWire
import Synchronization

/// The queue's objects and observers. It forwards changes to the app on the callback queue, in order. An object changes
/// its state there, right before the observers are called.
final class PaymentQueueCallbacks: Sendable {
    // @unchecked: `observer` and `queue` are only used under `state`'s lock and on the callback queue.
    private struct Registration: @unchecked Sendable {
        let id: Int
        weak var observer: (any SKPaymentTransactionObserver)?
        weak var queue: SKPaymentQueue?
    }

    // @unchecked: as above.
    private struct Delegate: @unchecked Sendable {
        weak var delegate: (any SKPaymentQueueDelegate)?
        weak var queue: SKPaymentQueue?
    }

    private struct State {
        var isStopped = false
        var delegate = Delegate()
        var registrations: [Registration] = []
        var nextID = 1
        var objects: [UUID: (position: Int64, transaction: SKPaymentTransaction)] = [:]
    }

    private let state = Mutex(State())
    let callbackQueue: DispatchQueue
    private let languages: [String]

    /// The transactions' downloads; nil for a queue without any.
    let downloads: DownloadObjects?

    init(callbackQueue: DispatchQueue, languages: [String] = [], downloads: DownloadObjects? = nil) {
        self.callbackQueue = callbackQueue
        self.languages = languages
        self.downloads = downloads
    }

    /// The queue's delegate, which is not retained.
    var delegate: (any SKPaymentQueueDelegate)? { Carried(object: state.withLock { $0.delegate }.delegate).object }

    func setDelegate(_ delegate: (any SKPaymentQueueDelegate)?, queue: SKPaymentQueue) {
        let new = Delegate(delegate: delegate, queue: queue)
        state.withLock { $0.delegate = new }
    }

    /// Stops all calls to the app. On return the last call to the app is over.
    func stop() async { await onCallbackQueue { self.state.withLock { $0.isStopped = true } } }

    /// Calls the delegate; nil when there is none. On the callback queue only.
    func withDelegate<Value>(_ body: (any SKPaymentQueueDelegate, SKPaymentQueue) -> Value) -> Value? {
        let held = state.withLock { $0.isStopped ? Delegate() : $0.delegate }
        return held.delegate.map { body($0, held.queue ?? .default()) }
    }

    var transactions: [SKPaymentTransaction] {
        state.withLock { $0.objects.values.sorted { $0.position < $1.position }.map(\.transaction) }
    }

    var observers: [any SKPaymentTransactionObserver] {
        state.withLock { $0.registrations.map { Carried(object: $0.observer) } }.compactMap(\.object)
    }

    /// Registers an observer; nil when it is registered already.
    func add(_ observer: any SKPaymentTransactionObserver, queue: SKPaymentQueue) -> (id: Int, isFirst: Bool)? {
        let carried = Carried(object: observer)
        return state.withLock { state in
            state.registrations.removeAll { $0.observer == nil }
            guard !state.registrations.contains(where: { $0.observer === carried.object }) else { return nil }
            let id = state.nextID
            state.nextID += 1
            state.registrations.append(Registration(id: id, observer: carried.object, queue: queue))
            return (id, state.registrations.count == 1)
        }
    }

    func remove(_ observer: any SKPaymentTransactionObserver) {
        let carried = Carried(object: observer)
        state.withLock { $0.registrations.removeAll { $0.observer == nil || $0.observer === carried.object } }
    }

    func update(_ entries: [PaymentQueueEntry]) {
        callbackQueue.async {
            let transactions = self.apply(entries)
            self.each { $0.paymentQueue($1, updatedTransactions: transactions) }
        }
    }

    func introduce(_ entries: [PaymentQueueEntry], to id: Int) {
        callbackQueue.async {
            let transactions = self.apply(entries)
            self.each(only: id) { $0.paymentQueue($1, updatedTransactions: transactions) }
        }
    }

    func removed(_ keys: [UUID]) {
        callbackQueue.async {
            let transactions = self.state.withLock { state in
                keys.compactMap { state.objects.removeValue(forKey: $0)?.transaction }
            }
            guard !transactions.isEmpty else { return }
            self.each { $0.paymentQueue($1, removedTransactions: transactions) }
            self.release(transactions)
        }
    }

    /// Reports the end of a restore, once for each call of the app.
    func restoreEnded(calls: Int, _ error: SKError?) {
        callbackQueue.async {
            for _ in 0..<calls {
                self.each { observer, queue in
                    if let error {
                        observer.paymentQueue(queue, restoreCompletedTransactionsFailedWithError: error)
                    } else {
                        observer.paymentQueueRestoreCompletedTransactionsFinished(queue)
                    }
                }
            }
        }
    }

    func apply(_ entries: [PaymentQueueEntry]) -> [SKPaymentTransaction] {
        let records = entries.map { entry in
            var record = SKPaymentTransaction.Record(entry, languages: languages)
            record.downloads = downloads?.downloads(of: entry) ?? []
            return (entry, record)
        }
        return state.withLock { state in
            records.map { entry, record in
                if let known = state.objects[entry.key]?.transaction {
                    known.become(record)
                    for download in record.downloads { download.belong(to: known) }
                    return known
                }
                let made = SKPaymentTransaction(key: entry.key, payment: entry.payment, record: record)
                for download in record.downloads { download.belong(to: made) }
                state.objects[entry.key] = (entry.position, made)
                return made
            }
        }
    }

    /// Calls every observer that is still registered and alive, outside the lock.
    /// - Returns: Whether it called any observer.
    @discardableResult
    func each(only id: Int? = nil, _ body: (any SKPaymentTransactionObserver, SKPaymentQueue) -> Void) -> Bool {
        var isCalled = false
        let registrations = state.withLock { $0.isStopped ? [] : $0.registrations }
        for registration in registrations where id == nil || registration.id == id {
            let isRegistered = state.withLock { state in state.registrations.contains { $0.id == registration.id } }
            guard isRegistered, let observer = registration.observer else { continue }
            isCalled = true
            body(observer, registration.queue ?? .default())
        }
        return isCalled
    }
}

extension SKPaymentTransaction.Record {
    /// The values of an entry that the app sees.
    init(_ entry: PaymentQueueEntry, languages: [String] = []) {
        switch entry.phase {
        case .queued, .confirming, .sending, .collecting:
            state = .purchasing
        case .deferred:
            state = .deferred
        case .failed:
            state = .failed
            error = entry.failure?.error(in: languages) ?? SKError(.unknown)
        case .purchased, .restored, .finishing:
            let isRestored = entry.isRestored == true
            state = isRestored ? .restored : .purchased
            transactionReceipt = entry.transactionReceipt
            guard let transaction = entry.transaction else { return }
            transactionIdentifier = transaction.transactionID.description
            transactionDate = Date(milliseconds: transaction.purchaseDate)
            if isRestored || transaction.originalTransactionID != transaction.transactionID {
                original = SKPaymentTransaction(original: transaction, payment: entry.payment)
            }
        }
    }
}

extension SKPaymentTransaction {
    /// The first transaction of the purchase that `transaction` renews or delivers again.
    fileprivate convenience init(original transaction: TransactionDescription, payment: PaymentValues) {
        var record = Record()
        record.state = .purchased
        record.transactionIdentifier = transaction.originalTransactionID.description
        record.transactionDate = Date(milliseconds: transaction.originalPurchaseDate)
        self.init(key: nil, payment: payment, record: record)
    }
}

extension Date {
    /// Whole milliseconds since 1970, as the store writes dates.
    fileprivate init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
