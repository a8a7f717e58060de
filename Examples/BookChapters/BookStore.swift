import StoreKit

/// The shop of the app, written as for Apple's StoreKit with hosted content. StoreKit calls it on the main queue, and so does
/// the app.
///
/// A chapter's way: the payment is added; the transaction comes as purchased, with a download that waits; the app starts it,
/// hears of its progress, and puts the content on its own shelf when it is finished; only then does it finish the
/// transaction. Whatever happens in between, a crash too, the transaction comes again with its download where it was.
@MainActor
public final class BookStore: NSObject, @MainActor SKProductsRequestDelegate, @MainActor SKPaymentTransactionObserver {
    /// What the reader should hear of.
    public enum Event: Sendable, Equatable {
        /// The price list came, or could not be had.
        case pricesChanged
        /// A download began, moved on, or stopped.
        case downloading(Chapter, Download)
        /// A chapter is on the shelf.
        case ready(Chapter, version: String)
        /// A purchase, a download or the restoring failed.
        case failed(String)
        /// The reader said no, which needs no words.
        case cancelled
        /// Waits for somebody's approval.
        case deferred
        /// All that was bought before has been asked for.
        case restored
        /// Something in the queue came or went.
        case queueChanged
    }

    /// A download as the reader sees it.
    public struct Download: Sendable, Equatable {
        public var state: SKDownloadState
        /// From 0 to 1.
        public var progress: Float
        /// Bytes.
        public var length: Int64
        /// Nil while it cannot be told.
        public var secondsLeft: Double?

        init(_ download: SKDownload) {
            state = download.state
            progress = download.progress
            length = download.expectedContentLength
            secondsLeft = download.timeRemaining == SKDownloadTimeRemainingUnknown ? nil : download.timeRemaining
        }
    }

    /// The price list; nil while it is on its way or cannot be had.
    public private(set) var products: [SKProduct]?
    /// Whether downloads that were paused earlier go on.
    public var resumesPaused = true
    public let shelf: ContentShelf
    private let queue: SKPaymentQueue
    private let onEvent: (Event) -> Void
    private var request: SKProductsRequest?
    /// Payments that were added and are not in the queue's list yet: adding is asynchronous.
    private var ordersNotSeen = 0
    private var isRestoring = false
    /// Transactions that the app is done with, until they have left the queue.
    private var finishing: Set<String> = []

    public init(queue: SKPaymentQueue, shelf: ContentShelf, onEvent: @escaping (Event) -> Void) {
        self.queue = queue
        self.shelf = shelf
        self.onEvent = onEvent
    }

    /// Begins to listen, as early as the app can: unfinished purchases of earlier launches come right away, and downloads
    /// that were under way go on by themselves.
    public func open(productsRequest: SKProductsRequest? = nil) {
        queue.add(self)
        let request =
            productsRequest ?? SKProductsRequest(productIdentifiers: Set(Chapter.allCases.map(\.productIdentifier)))
        request.delegate = self
        self.request = request
        request.start()
    }

    public func close() {
        request?.cancel()
        queue.remove(self)
    }

    /// Whether something is under way. What is paused, failed or waits for approval may wait for days.
    public var isBusy: Bool {
        ordersNotSeen > 0 || isRestoring || !finishing.isEmpty
            || queue.transactions.contains { transaction in
                switch transaction.transactionState {
                case .deferred: false
                case .purchasing, .failed: true
                case .purchased, .restored:
                    transaction.downloads.contains { $0.state == .waiting || $0.state == .active }
                }
            }
    }

    // MARK: Prices

    public func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        products = response.products
    }

    public func requestDidFinish(_ request: SKRequest) { onEvent(.pricesChanged) }

    public func request(_ request: SKRequest, didFailWithError error: any Error) { onEvent(.pricesChanged) }

    public func product(of chapter: Chapter) -> SKProduct? {
        products?.first { $0.productIdentifier == chapter.productIdentifier }
    }

    /// What stands beside a chapter.
    public func label(of chapter: Chapter) -> String {
        let product = product(of: chapter)
        if let item = shelf.newest(of: chapter.productIdentifier) {
            let isOutdated = product.map { !shelf.outdated(among: [$0]).isEmpty } ?? false
            let news = isOutdated ? "; \(product?.downloadContentVersion ?? "a newer one") is there" : ""
            return "yours, version \(item.version)\(news)"
        }
        guard let product else { return products == nil ? "Network down?" : "Not for sale" }
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = product.priceLocale
        return formatter.string(from: product.price) ?? "\(product.price)"
    }

    // MARK: Buying, restoring, updating

    public func buy(_ product: SKProduct) {
        ordersNotSeen += 1
        queue.add(SKPayment(product: product))
    }

    /// Brings what the account bought before to this device, in the newest version: a restored transaction has a download
    /// as a purchased one has. So this is how an update comes, too.
    public func restore() {
        isRestoring = true
        queue.restoreCompletedTransactions()
    }

    public func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            switch transaction.transactionState {
            case .purchasing:
                ordersNotSeen = max(0, ordersNotSeen - 1)
            case .purchased, .restored:
                deliver(transaction)
            case .failed:
                if let error = transaction.error as? SKError, error.code == .paymentCancelled {
                    onEvent(.cancelled)
                } else {
                    onEvent(.failed(transaction.error?.localizedDescription ?? "The purchase failed."))
                }
                queue.finishTransaction(transaction)
            case .deferred:
                onEvent(.deferred)
            }
        }
        onEvent(.queueChanged)
    }

    /// Starts what has to be downloaded. What the shelf has already need not come again.
    private func deliver(_ transaction: SKPaymentTransaction) {
        guard let download = transaction.downloads.first else {
            // Nothing is hosted for it yet: it stays, and comes again when the store has something.
            onEvent(.failed("\(transaction.payment.productIdentifier) cannot be downloaded yet. Start again later."))
            return
        }
        if let item = shelf.newest(of: download.contentIdentifier), item.version == download.contentVersion {
            finish(transaction)
            return
        }
        switch download.state {
        case .finished: install(download)
        case .paused where !resumesPaused: tell(download)
        case .paused: queue.resume([download])
        case .waiting, .failed, .cancelled: queue.start([download])
        case .active: tell(download)
        }
    }

    private func finish(_ transaction: SKPaymentTransaction) {
        finishing.insert(transaction.transactionIdentifier ?? "")
        queue.finishTransaction(transaction)
    }

    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        finishing.subtract(transactions.map { $0.transactionIdentifier ?? "" })
        onEvent(.queueChanged)
    }

    public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        isRestoring = false
        onEvent(.restored)
    }

    public func paymentQueue(
        _ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error
    ) {
        isRestoring = false
        if let error = error as? SKError, error.code == .paymentCancelled {
            onEvent(.cancelled)
        } else {
            onEvent(.failed(error.localizedDescription))
        }
    }

    // MARK: Downloading

    /// About once a second while bytes come, and at every change of state.
    public func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        for download in downloads {
            tell(download)
            switch download.state {
            case .finished: install(download)
            // The transaction stays: start() is enough to try again.
            case .failed: onEvent(.failed(download.error?.localizedDescription ?? "The download failed."))
            case .waiting, .active, .paused, .cancelled: break
            }
        }
        onEvent(.queueChanged)
    }

    private func tell(_ download: SKDownload) {
        guard let chapter = Chapter(productIdentifier: download.contentIdentifier) else { return }
        onEvent(.downloading(chapter, Download(download)))
    }

    /// First onto the shelf, then the finish: the caches are let go with the transaction. The other way round, a crash in
    /// between would lose what was paid for.
    private func install(_ download: SKDownload) {
        do {
            let item = try shelf.install(download)
            finish(download.transaction)
            guard let chapter = Chapter(productIdentifier: item.productIdentifier) else { return }
            onEvent(.ready(chapter, version: item.version))
        } catch {
            onEvent(.failed((error as? ContentShelfError)?.detail ?? error.localizedDescription))
        }
    }

    /// Halts all downloads that are under way; `resume` or the next launch goes on with them.
    public func pause() {
        queue.pause(queue.transactions.flatMap(\.downloads))
    }
}
