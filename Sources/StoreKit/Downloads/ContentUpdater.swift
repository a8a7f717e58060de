import Foundation
import Synchronization

// @unchecked: the class inherits from NSObject; `state` is a Mutex, and all else is constant and Sendable.
/// Updates the content on a shelf: restores the purchases and downloads the newer versions. The existing versions stay
/// usable meanwhile.
///
///     let outdated = shelf.outdated(among: products)
///     let items = try await ContentUpdater(shelf: shelf).update(outdated)
///
/// A restore delivers all purchases of the customer. Therefore the app's own observer must be registered as always, and
/// finishes the other transactions. The updater finishes the transactions of the products whose content it downloaded.
public final class ContentUpdater: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    private struct State {
        var wanted: Set<String> = []
        /// The products whose content is being downloaded or copied.
        var open: Set<String> = []
        /// The products whose content this update has installed.
        var installed: Set<String> = []
        var items: [ContentShelf.Item] = []
        var failure: ContentShelfError?
        var isRestored = false
        var continuation: CheckedContinuation<Void, Never>?
        var isRunning = false
        /// The products in `open` whose content is being copied to the shelf.
        var taken: Set<String> = []
        var downloads: [SKDownload] = []
    }

    private let shelf: ContentShelf
    private let queue: SKPaymentQueue
    private let progress: @Sendable (SKDownload) -> Void
    private let state = Mutex(State())

    /// Creates an updater.
    ///
    /// - Parameters:
    ///   - shelf: the shelf to update.
    ///   - queue: the payment queue that restores the purchases.
    ///   - progress: receives each download about once a second, on the callback queue.
    public init(
        shelf: ContentShelf, queue: SKPaymentQueue = .default(),
        progress: @escaping @Sendable (SKDownload) -> Void = { _ in }
    ) {
        self.shelf = shelf
        self.queue = queue
        self.progress = progress
    }

    /// Downloads the newest content of these products, which the customer must have bought. An updater runs one update
    /// at a time; create another updater to run two at once. Cancelling the task pauses the downloads and returns the
    /// items installed so far.
    ///
    /// - Returns: the items that this update added to the shelf.
    /// - Throws: ``ContentShelfError``: `busy` during another update, `notRestored`, `notDownloaded`, or the error of a
    ///   copy. Completed items are on the shelf. The transactions of failed ones stay in the queue.
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
                // The queue does not report again the transactions that a cancelled update left in it.
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

    /// Starts the downloads of the products to update. For the queue.
    public func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions
        where transaction.transactionState == .restored || transaction.transactionState == .purchased {
            let product = transaction.payment.productIdentifier
            let downloads = transaction.downloads
            guard !downloads.isEmpty else { continue }
            let (isInstalled, isNew) = state.withLock { state in
                guard !state.installed.contains(product) else { return (true, false) }
                guard state.wanted.contains(product), state.open.insert(product).inserted else { return (false, false) }
                state.downloads += downloads
                return (false, true)
            }
            if isInstalled { queue.finishTransaction(transaction) }
            guard isNew else { continue }
            queue.start(downloads)
            for download in downloads where download.state == .finished { finished(download, queue) }
        }
    }

    /// Finishes the transactions of a product whose content is installed. A restore can bring a product more than once:
    /// with a later page, or because its transaction was finished before the store answered.
    private func finishTransactions(of product: String, _ queue: SKPaymentQueue) {
        state.withLock { _ = $0.installed.insert(product) }
        for transaction in queue.transactions
        where transaction.payment.productIdentifier == product && !transaction.downloads.isEmpty {
            queue.finishTransaction(transaction)
        }
    }

    /// Copies finished downloads to the shelf and records failed ones. For the queue.
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
        if case .success = result { finishTransactions(of: product, queue) }
        settle { state in
            state.open.remove(product)
            state.taken.remove(product)
            switch result {
            case .success(let item): state.items.append(item)
            case .failure(let error): state.failure = error as? ContentShelfError
            }
        }
    }

    /// Records that the restore is complete. For the queue.
    public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        settle { $0.isRestored = true }
    }

    /// Records that the restore failed. For the queue.
    public func paymentQueue(
        _ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error
    ) {
        settle { state in
            state.isRestored = true
            if state.failure == nil { state.failure = ContentShelfError(.notRestored, error.localizedDescription) }
        }
    }
}
