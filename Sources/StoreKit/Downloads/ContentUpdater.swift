import Foundation
import Synchronization

/// Brings newer versions of content to a shelf, by restoring the purchases and downloading again, while the versions that are
/// there stay usable.
///
///     let outdated = shelf.outdated(among: products)
///     let items = try await ContentUpdater(shelf: shelf).update(outdated)
///
/// A restore delivers all that the customer bought: the app's own observer has to be there as always, and finishes what
/// concerns it. The updater finishes the transactions that it downloaded for.
// @unchecked: `state` is a Mutex, and all else is constant; the queue is Sendable.
public final class ContentUpdater: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    private struct State {
        var wanted: Set<String> = []
        /// The products whose content is on its way.
        var open: Set<String> = []
        var items: [ContentShelf.Item] = []
        var failure: ContentShelfError?
        var isRestored = false
        var continuation: CheckedContinuation<Void, Never>?
        var isRunning = false
        /// Those of ``open`` whose content is being put on the shelf.
        var taken: Set<String> = []
        var downloads: [SKDownload] = []
    }

    private let shelf: ContentShelf
    private let queue: SKPaymentQueue
    private let progress: @Sendable (SKDownload) -> Void
    private let state = Mutex(State())

    /// - Parameter progress: is told of each download about once a second, on the callback queue.
    public init(
        shelf: ContentShelf, queue: SKPaymentQueue = .default(),
        progress: @escaping @Sendable (SKDownload) -> Void = { _ in }
    ) {
        self.shelf = shelf
        self.queue = queue
        self.progress = progress
    }

    /// Gets the newest content of these products, which the customer must have bought. One update at a time: make another updater for
    /// another at the same time.
    ///
    /// - Returns: what is on the shelf now that was not before.
    /// - Throws: ``ContentShelfError``: `busy` while this one is updating, `notRestored`, `notDownloaded`, or why a copy failed. What succeeded is on the shelf,
    ///   and what did not is in the queue still. Cancelling the task pauses the downloads and returns what is there.
    public func update(_ products: [SKProduct]) async throws -> [ContentShelf.Item] {
        let identifiers = Set(products.map(\.productIdentifier))
        guard !identifiers.isEmpty else { return [] }
        let isFree = state.withLock { state in
            guard !state.isRunning else { return false }
            state = State(wanted: identifiers, isRunning: true)
            return true
        }
        guard isFree else { throw ContentShelfError(.busy, "the updater is at work; wait for it, or make another") }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.continuation = continuation }
                queue.add(self)
                // What an update that was stopped left there is not told again.
                paymentQueue(queue, updatedTransactions: queue.transactions)
                queue.restoreCompletedTransactions()
                if Task.isCancelled { stop() }
            }
        } onCancel: {
            stop()
        }
        queue.remove(self)
        let (items, failure) = state.withLock { state in
            state.isRunning = false
            return (state.items, state.failure)
        }
        if let failure { throw failure }
        return items
    }

    private func stop() {
        let (downloads, continuation) = state.withLock { state in
            defer { state.continuation = nil }
            return (state.downloads, state.continuation)
        }
        guard let continuation else { return }
        queue.pause(downloads)
        continuation.resume()
    }

    private func settle(_ change: (inout State) -> Void) {
        let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
            change(&state)
            guard state.isRestored, state.open.isEmpty else { return nil }
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume()
    }

    public func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions
        where transaction.transactionState == .restored || transaction.transactionState == .purchased {
            let product = transaction.payment.productIdentifier
            let downloads = transaction.downloads
            guard !downloads.isEmpty else { continue }
            let isNew = state.withLock { state in
                guard state.wanted.contains(product), state.open.insert(product).inserted else { return false }
                state.downloads += downloads
                return true
            }
            guard isNew else { continue }
            queue.start(downloads)
            for download in downloads where download.state == .finished { finished(download, queue) }
        }
    }

    public func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        for download in downloads {
            guard state.withLock({ $0.open.contains(download.contentIdentifier) }) else { continue }
            progress(download)
            switch download.state {
            case .finished: finished(download, queue)
            case .failed, .cancelled:
                let reason = download.error?.localizedDescription ?? "The download was cancelled."
                settle { state in
                    state.open.remove(download.contentIdentifier)
                    state.failure = ContentShelfError(.notDownloaded, "\(download.contentIdentifier): \(reason)")
                }
            case .waiting, .active, .paused: break
            }
        }
    }

    private func finished(_ download: SKDownload, _ queue: SKPaymentQueue) {
        let product = download.contentIdentifier
        guard state.withLock({ $0.open.contains(product) && $0.taken.insert(product).inserted }) else { return }
        let result = Result { try shelf.install(download) }
        if case .success = result { queue.finishTransaction(download.transaction) }
        settle { state in
            state.open.remove(product)
            switch result {
            case .success(let item): state.items.append(item)
            case .failure(let error): state.failure = error as? ContentShelfError
            }
        }
    }

    public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        settle { $0.isRestored = true }
    }

    public func paymentQueue(
        _ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error
    ) {
        settle { state in
            state.isRestored = true
            if state.failure == nil { state.failure = ContentShelfError(.notRestored, error.localizedDescription) }
        }
    }
}
