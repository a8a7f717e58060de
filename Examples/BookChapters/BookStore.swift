import StoreKit

/// The app's shop, which uses Apple's StoreKit API with hosted content. StoreKit and the app call it on the main queue.
///
/// The app adds a payment. StoreKit delivers a purchased transaction with a waiting download. The app starts the
/// download, observes its progress, and installs the finished content on its own shelf. Only then does it finish the
/// transaction. After a crash at any point, StoreKit delivers the transaction again, and the download resumes where it
/// stopped.
///
/// Each sample has a complete observer of its own, although parts are alike, so that it can be read without the others.
@MainActor
public final class BookStore: NSObject, @MainActor SKProductsRequestDelegate, @MainActor SKPaymentTransactionObserver {
    /// An event for the user interface.
    public enum Event: Sendable, Equatable {
        /// The price list was loaded, or the request failed.
        case pricesChanged
        /// A download started, progressed, or stopped.
        case downloading(Chapter, Download)
        /// A chapter is on the shelf.
        case ready(Chapter, version: String)
        /// A purchase, a download or the restoring failed.
        case failed(String)
        /// The reader cancelled. The app shows no message.
        case cancelled
        /// The purchase waits for approval.
        case deferred
        /// The restore is complete.
        case restored
        /// The payment queue changed.
        case queueChanged
    }

    /// The state of a download for the user interface.
    public struct Download: Sendable, Equatable {
        /// The state.
        public var state: SKDownloadState
        /// The progress, from 0 to 1.
        public var progress: Float
        /// The size in bytes.
        public var length: Int64
        /// The remaining time in seconds; nil while it is unknown.
        public var secondsLeft: Double?

        init(_ download: SKDownload) {
            state = download.state
            progress = download.progress
            length = download.expectedContentLength
            secondsLeft = download.timeRemaining == SKDownloadTimeRemainingUnknown ? nil : download.timeRemaining
        }
    }

    /// The price list; nil until it is loaded.
    public private(set) var products: [SKProduct]?
    /// The installed chapters.
    public let shelf: ContentShelf
    private let queue: SKPaymentQueue
    private let onEvent: (Event) -> Void
    private var request: SKProductsRequest?
    /// Loads the prices again after a failure.
    private var retry: Task<Void, Never>?
    private var isLoading = false
    /// Whether the prices could not be loaded.
    private var isNetworkDown = false
    private var isOpen = false
    /// The number of added payments that are not in the queue's list yet, because adding is asynchronous.
    private var ordersNotSeen = 0
    private var isRestoring = false
    /// The ids of finished transactions that are still in the queue.
    private var finishing: Set<String> = []
    /// The ids of the purchased transactions that StoreKit has delivered in this launch.
    private var delivered: Set<String> = []
    /// The ids of transactions whose download was told to start or resume, and has not reported since. Until then the
    /// download still has its old state.
    private var starting: Set<String> = []

    /// Creates the price request. Tests replace it to use their own device.
    public var makePriceRequest: (Set<String>) -> SKProductsRequest = { SKProductsRequest(productIdentifiers: $0) }

    /// Creates a shop.
    public init(queue: SKPaymentQueue, shelf: ContentShelf, onEvent: @escaping (Event) -> Void) {
        self.queue = queue
        self.shelf = shelf
        self.onEvent = onEvent
    }

    /// Starts to observe the queue and loads the prices. Call it early at launch, because StoreKit delivers unfinished
    /// purchases at once. Active downloads resume automatically.
    public func open() {
        isOpen = true
        queue.add(self)
        loadPrices()
    }

    /// Stops to observe the queue.
    public func close() {
        isOpen = false
        request?.cancel()
        retry?.cancel()
        queue.remove(self)
    }

    /// Whether a purchase, restore or download is in progress. Paused and failed downloads and deferred purchases do
    /// not count, because they may wait for days.
    public var isBusy: Bool {
        ordersNotSeen > 0 || isRestoring || !finishing.isEmpty
            || queue.transactions.contains { transaction in
                switch transaction.transactionState {
                case .deferred: false
                case .purchasing, .failed: true
                case .purchased, .restored:
                    isBusy(with: transaction)
                }
            }
    }

    /// Whether something is under way that may ask the reader: a payment that is not paid yet, a restore, the prices.
    public var isAsking: Bool {
        ordersNotSeen > 0 || isRestoring || isLoading
            || queue.transactions.contains { [.purchasing, .failed].contains($0.transactionState) }
    }

    private func isBusy(with transaction: SKPaymentTransaction) -> Bool {
        let id = transaction.transactionIdentifier ?? ""
        return !delivered.contains(id) || starting.contains(id)
            || transaction.downloads.contains { $0.state == .waiting || $0.state == .active }
    }

    // MARK: Prices

    /// Loads the prices again. They also tell which chapters can be downloaded by now.
    public func loadPrices() {
        retry?.cancel()
        isLoading = true
        let request = makePriceRequest(Set(Chapter.allCases.map(\.productIdentifier)))
        request.delegate = self
        // StoreKit does not retain a request, so the app does.
        self.request = request
        request.start()
    }

    /// Stores the loaded products.
    public func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        products = response.products
    }

    /// Reports the loaded prices.
    public func requestDidFinish(_ request: SKRequest) {
        isLoading = false
        onEvent(.pricesChanged)
    }

    /// Reports once that the prices could not be loaded, and loads them again after a few seconds. StoreKit has no
    /// notification for the store's availability.
    public func request(_ request: SKRequest, didFailWithError error: any Error) {
        isLoading = false
        if !isNetworkDown {
            isNetworkDown = true
            onEvent(.pricesChanged)
        }
        retry = Task { [weak self] in
            guard (try? await Task.sleep(for: .seconds(3))) != nil else { return }
            if let self, self.isOpen { self.loadPrices() }
        }
    }

    /// Returns a chapter's product; nil when the store does not sell it or the prices are not loaded.
    public func product(of chapter: Chapter) -> SKProduct? {
        products?.first { $0.productIdentifier == chapter.productIdentifier }
    }

    /// Returns the label of a chapter: its installed version, its price, or the reason why it has no price.
    public func label(of chapter: Chapter) -> String {
        let product = product(of: chapter)
        if let item = shelf.newest(of: chapter.productIdentifier) {
            let isOutdated = product.map { !shelf.outdated(among: [$0]).isEmpty } ?? false
            let news = isOutdated ? "; \(product?.downloadContentVersion ?? "a newer one") is there" : ""
            return "yours, version \(item.version)\(news)"
        }
        guard let product else { return withoutProduct }
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = product.priceLocale
        return formatter.string(from: product.price) ?? "\(product.price)"
    }

    /// The reason why a price is missing.
    private var withoutProduct: String {
        if products != nil { return "Not for sale" }
        return isNetworkDown ? "Network down?" : "…"
    }

    // MARK: Buying, restoring, updating

    /// Adds a payment for a product.
    public func buy(_ product: SKProduct) {
        ordersNotSeen += 1
        queue.add(SKPayment(product: product))
    }

    /// Restores the account's purchases. A restored transaction has a download of the newest version, so a restore also
    /// downloads updates.
    public func restore() {
        isRestoring = true
        queue.restoreCompletedTransactions()
    }

    /// Handles the transactions' new states.
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

    /// Starts or resumes a transaction's download, unless the shelf already has this version.
    private func deliver(_ transaction: SKPaymentTransaction) {
        let id = transaction.transactionIdentifier ?? ""
        delivered.insert(id)
        guard let download = transaction.downloads.first else {
            // The store hosts no content yet. The transaction stays in the queue, and StoreKit delivers it again.
            onEvent(.failed("\(transaction.payment.productIdentifier) cannot be downloaded yet. Start again later."))
            return
        }
        if let item = shelf.newest(of: download.contentIdentifier), item.version == download.contentVersion {
            finish(transaction)
            return
        }
        switch download.state {
        case .finished: install(download)
        case .paused:
            starting.insert(id)
            queue.resume([download])
        case .waiting, .failed, .cancelled:
            starting.insert(id)
            queue.start([download])
        case .active: tell(download)
        }
    }

    private func finish(_ transaction: SKPaymentTransaction) {
        finishing.insert(transaction.transactionIdentifier ?? "")
        queue.finishTransaction(transaction)
    }

    /// Updates the state after transactions left the queue.
    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        finishing.subtract(transactions.map { $0.transactionIdentifier ?? "" })
        onEvent(.queueChanged)
    }

    /// Reports a complete restore.
    public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        isRestoring = false
        onEvent(.restored)
    }

    /// Reports a failed or cancelled restore.
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

    /// Handles the downloads' progress, about once a second, and their changes of state.
    public func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        for download in downloads {
            starting.remove(download.transaction.transactionIdentifier ?? "")
            tell(download)
            switch download.state {
            case .finished: install(download)
            // The transaction stays in the queue, so that start() can retry the download.
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

    /// Installs the content on the shelf and then finishes the transaction. Finishing deletes the cached download, so
    /// with the opposite order a crash in between would lose the content.
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

    /// Pauses all downloads. The next launch resumes them.
    public func pause() {
        starting = []
        queue.pause(queue.transactions.flatMap(\.downloads))
    }
}
