import Foundation
import MerchantWire
import StoreKit
import Synchronization

/// A client of the merchant's server: products, redemptions of StoreKit transactions, balances, entitlements and
/// content.
///
/// The client saves its unfinished work and completes it across launches. It retries requests with increasing pauses,
/// and it finishes a StoreKit transaction only after the merchant has confirmed it.
///
///     let merchant = try MerchantClient(configuration)
///     await merchant.open()                                  // resumes unfinished work
///     …
///     func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
///         for transaction in transactions where transaction.transactionState == .purchased {
///             merchant.redeem(transaction, from: queue)      // also finishes the transaction
///         }
///     }
public actor MerchantClient {
    let configuration: MerchantClientConfiguration
    let session: MerchantSession
    let library: ContentLibrary
    let productCache: ProductCache
    private let fetcher: ContentFetcher
    private let journal: RedemptionJournal
    private let lock: FolderLock
    private let backoff: Backoff

    private var machine: RedemptionStateMachine
    /// Finishes the StoreKit transactions of this launch, by identifier.
    private var finishes: [String: @Sendable () -> Void] = [:]
    private var downloads: [ContentItemID: Task<Result<MerchantContent, MerchantClientError>, Never>] = [:]
    private var tasks: [UUID: Task<Void, Never>] = [:]
    private var isOpen = false
    private var isClosed = false
    /// The number of transactions that were passed to ``redeem(_:from:)`` and are not in the state machine yet.
    private nonisolated let arriving = Mutex(0)

    /// Creates the client's folder and locks it. Sends no request.
    ///
    /// - Throws: ``MerchantClientError``: `notConfigured`, `inUse`, `storage`.
    public init(_ configuration: MerchantClientConfiguration) throws(MerchantClientError) {
        self.configuration = configuration
        let transport = try MerchantTransport(
            merchant: configuration.merchant, allowsCleartext: configuration.allowsCleartext)
        let folder = configuration.folder
        try folder.makePrivateFolder()
        do { lock = try FolderLock(folder) } catch { throw MerchantClientError(storage: error) }
        journal = try RedemptionJournal(folder: folder.appendingPathComponent("redemptions", isDirectory: true))
        library = try ContentLibrary(folder: folder.appendingPathComponent("content", isDirectory: true))
        productCache = ProductCache(
            file: folder.appendingPathComponent("products.json"),
            source: "\(transport.base)\n\(configuration.bundleIdentifier)")
        session = MerchantSession(transport: transport, token: configuration.token)
        let onEvent = configuration.onEvent
        fetcher = ContentFetcher(
            session: session, library: library, slots: DownloadSlots(configuration.simultaneousDownloads)
        ) { onEvent(.downloading($0)) }
        backoff = Backoff(jitter: configuration.jitter)
        machine = RedemptionStateMachine(finishing: configuration.finishing)
    }

    // MARK: From launch to end

    /// Resumes the unfinished work of earlier launches. Call this once, as early as an observer is added to StoreKit's
    /// queue.
    public func open() {
        guard !isOpen, !isClosed else { return }
        isOpen = true
        let (entries, unreadable) = journal.read()
        if unreadable > 0 {
            configuration.onEvent(
                .problem(
                    MerchantClientError(
                        .storage, "\(unreadable) files of unfinished redemptions cannot be read and were renamed")))
        }
        perform(machine.launched(entries))
    }

    /// Stops all work and unlocks the folder. Unfinished work is resumed at the next launch.
    public func close() async {
        isClosed = true
        for task in downloads.values { task.cancel() }
        let running = Array(tasks.values)
        for task in running { task.cancel() }
        for task in running { await task.value }
        for task in downloads.values { _ = await task.value }
        lock.release()
    }

    /// Whether a request or a download is running. Work that waits for a retry does not count, because it may wait for
    /// days.
    public var isBusy: Bool { arriving.withLock { $0 } > 0 || machine.isBusy || !downloads.isEmpty }

    /// Retries all waiting work now.
    public func tryAgain() { perform(machine.wake()) }

    /// Tells the client that another user has signed in or that the user has signed out. The client requests a new
    /// token and retries all waiting work with it. A request that a caller waits for is not repeated for the new user:
    /// it ends with `cancelled`.
    public func userChanged() async {
        await session.forgetToken()
        perform(machine.wake())
    }

    // MARK: Redeeming

    /// Redeems a StoreKit transaction and finishes it after the merchant has confirmed it and, according to
    /// ``MerchantClientConfiguration/finishing``, after its content is on the disk. Events report the progress.
    ///
    /// Call this for every purchased and restored transaction, each time StoreKit reports it. A transaction is redeemed
    /// once. Transactions in other states are ignored.
    public nonisolated func redeem(_ transaction: SKPaymentTransaction, from queue: SKPaymentQueue) {
        guard let purchase = StorePurchase(transaction, from: queue) else { return }
        arriving.withLock { $0 += 1 }
        Task {
            await begin(purchase)
            arriving.withLock { $0 -= 1 }
        }
    }

    /// Redeems all purchases of a receipt, such as the app's receipt after a restore. The method may be called any
    /// number of times. It saves nothing and finishes no transaction.
    ///
    /// - Throws: ``MerchantClientError``.
    public func redeem(receipt: Data) async throws(MerchantClientError) -> RedemptionAnswer {
        try await ask(.redemptions, RedemptionRequest(receipt: receipt))
    }

    /// Abandons the remaining work for a purchase, such as the download of content that was refunded. The app finishes
    /// the StoreKit transaction itself.
    public func abandon(transactionID: String) {
        finishes[transactionID] = nil
        perform(machine.abandoned(transactionID))
    }

    func begin(_ purchase: StorePurchase) {
        guard !isClosed else { return }
        finishes[purchase.transactionID] = purchase.finish
        // A known transaction needs no evidence: StoreKit's receipt may be missing by now.
        if let actions = machine.reported(purchase.purchase) { return perform(actions) }
        guard let request = evidence(of: purchase) else {
            let error = MerchantClientError(
                .noEvidence, "there is no receipt for the purchase; refresh the app's receipt")
            configuration.onEvent(.refused(purchase.purchase, error))
            return
        }
        perform(
            machine.began(
                RedemptionEntry(
                    transactionID: purchase.transactionID, restoredFrom: purchase.restoredFrom,
                    productID: purchase.productID, stage: .redeeming(request))))
    }

    private func evidence(of purchase: StorePurchase) -> RedemptionRequest? {
        let own = configuration.evidence == .transactionReceipt ? purchase.receipt : nil
        guard let bytes = own ?? appReceipt ?? purchase.receipt, (1...MerchantLimits.evidence).contains(bytes.count)
        else { return nil }
        return RedemptionRequest(receipt: bytes)
    }

    private var appReceipt: Data? {
        configuration.receiptURL.flatMap { BoundedFile.read($0, limit: MerchantLimits.evidence) }
    }

    // MARK: Performing

    private func perform(_ actions: [RedemptionStateMachine.Action]) {
        // The transaction whose entry could not be saved. Finishing it would lose the remaining work.
        var unwritten: String?
        for action in actions {
            guard !isClosed else { return }
            do {
                switch action {
                case .write(let entry): unwritten = try write(entry) ? nil : entry.transactionID
                case .forget(let id):
                    try configuration.onStep(.forget)
                    journal.forget(id)
                case .redeem(let id, let request):
                    try configuration.onStep(.ask)
                    run { await self.ask(for: id, request) }
                case .deliver(let item):
                    try configuration.onStep(.download)
                    run { await self.deliver(item) }
                case .wait(let work, let turn, let attempt, let error): wait(for: work, turn, attempt, error)
                case .finish(let purchase):
                    guard purchase.transactionID != unwritten else { break }
                    try configuration.onStep(.finish)
                    finishes.removeValue(forKey: purchase.transactionID)?()
                case .tell(let event):
                    if case .finished(let purchase) = event, purchase.transactionID == unwritten { break }
                    configuration.onEvent(event)
                }
            } catch {
                isClosed = true
            }
        }
    }

    private func write(_ entry: RedemptionEntry) throws -> Bool {
        try configuration.onStep(entry.isRedeeming ? .journal : .journalDelivery)
        do throws(MerchantClientError) {
            try journal.write(entry)
            return true
        } catch {
            configuration.onEvent(.problem(error))
            return false
        }
    }

    private func run(_ body: @escaping @Sendable () async -> Void) {
        let id = UUID()
        tasks[id] = Task {
            await body()
            tasks[id] = nil
        }
    }

    private func ask(for id: String, _ request: RedemptionRequest) async {
        let result: Result<RedemptionAnswer, MerchantClientError>
        do throws(MerchantClientError) {
            result = .success(try await session.ask(.redemptions, Self.encode(request)))
        } catch {
            result = .failure(error)
        }
        guard continues(after: .answer) else { return }
        switch result {
        case .success(let answer): perform(machine.answered(id, answer))
        case .failure(let error): perform(machine.failed(.redeem(id), error))
        }
    }

    private func deliver(_ item: ContentItemID) async {
        let result = await fetch(item)
        guard !isClosed else { return }
        // ``fetch(_:)`` reports a success to the state machine.
        if case .failure(let error) = result { perform(machine.failed(.deliver(item), error)) }
    }

    /// Calls ``MerchantClientConfiguration/onStep``. Returns whether the client is still open.
    private func continues(after step: RedemptionStep) -> Bool {
        guard !isClosed else { return false }
        if (try? configuration.onStep(step)) == nil { isClosed = true }
        return !isClosed
    }

    private func wait(
        for work: RedemptionStateMachine.Work, _ turn: Int, _ attempt: Int, _ error: MerchantClientError
    ) {
        // The merchant's `Retry-After` is limited to an hour.
        let seconds = max(backoff.delay(attempt), Double(min(error.retryAfter ?? 0, 3600)))
        switch work {
        case .redeem(let id):
            if let purchase = machine.entries[id]?.purchase {
                configuration.onEvent(.waiting(purchase, error, seconds: seconds))
            }
        case .deliver(let item): configuration.onEvent(.notDelivered(item, error, seconds: seconds))
        }
        let wait = configuration.wait
        run {
            guard (try? await wait(seconds)) != nil else { return }
            await self.isDue(work, turn)
        }
    }

    private func isDue(_ work: RedemptionStateMachine.Work, _ turn: Int) {
        guard !isClosed else { return }
        perform(machine.due(work, turn))
    }

    // MARK: For extensions in other files

    /// Stops a running download. The received part is kept.
    func stopDownload(of item: ContentItemID) {
        machine.paused(item)
        downloads[item]?.cancel()
    }

    /// Downloads an item, or joins a running download of it.
    func fetch(_ item: ContentItemID) async -> Result<MerchantContent, MerchantClientError> {
        while let running = downloads[item] {
            // A paused download ends soon; this call needs a new one.
            let wasPaused = running.isCancelled
            let result = await running.value
            guard wasPaused, case .failure = result else { return result }
            if downloads[item] == running { downloads[item] = nil }
        }
        guard !isClosed else { return .failure(MerchantClientError(.cancelled, "the client was closed")) }
        let fetcher = fetcher
        let task = Task<Result<MerchantContent, MerchantClientError>, Never> {
            do throws(MerchantClientError) { return .success(try await fetcher.fetch(item)) } catch {
                return .failure(error)
            }
        }
        downloads[item] = task
        let result = await task.value
        if downloads[item] == task { downloads[item] = nil }
        if case .success(let content) = result, continues(after: .downloaded) {
            configuration.onEvent(.delivered(content))
            perform(machine.delivered(item))
        }
        return result
    }

    func ask<Value: Decodable & Sendable>(
        _ route: MerchantRoute, _ body: (any Encodable)? = nil
    ) async throws(MerchantClientError) -> Value {
        guard !isClosed else { throw MerchantClientError(.cancelled, "the client was closed") }
        let (wait, backoff) = (configuration.wait, backoff)
        let encoded: Data?
        if let body { encoded = try Self.encode(body) } else { encoded = nil }
        return try await session.askWithRetries(route, encoded) { attempt, seconds in
            try await wait(max(backoff.delay(attempt), Double(seconds)))
        }
    }

    /// Reads the app's receipt from the disk.
    ///
    /// - Throws: ``MerchantClientError`` with `noEvidence` when there is none.
    func requireAppReceipt() throws(MerchantClientError) -> Data {
        guard let receipt = appReceipt else {
            throw MerchantClientError(.noEvidence, "the app has no receipt; refresh it")
        }
        return receipt
    }

    static func encode(_ value: some Encodable) throws(MerchantClientError) -> Data {
        do { return try JSONEncoder().encode(value) } catch {
            throw MerchantClientError(.badAnswer, "the request cannot be encoded as JSON")
        }
    }
}
