import Foundation
import MerchantWire
import StoreKit
import Synchronization

/// The merchant's counter seen from the app: what is on sale, redeeming what StoreKit sold, balances, entitlements, and the
/// content that the merchant delivers.
///
/// What is begun is written down and ends once, over any number of launches: the merchant is asked again with growing
/// pauses until it answers, and a StoreKit transaction is finished only after the merchant has confirmed it.
///
///     let merchant = try MerchantClient(configuration)
///     await merchant.open()                                  // goes on with what earlier launches began
///     …
///     func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
///         for transaction in transactions where transaction.transactionState == .purchased {
///             merchant.redeem(transaction, from: queue)      // finishes it, too
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
    /// StoreKit's transactions of this launch, to be finished.
    private var finishes: [String: @Sendable () -> Void] = [:]
    private var downloads: [ContentItemID: Task<Result<MerchantContent, MerchantClientError>, Never>] = [:]
    private var tasks: [UUID: Task<Void, Never>] = [:]
    private var isOpen = false
    private var isClosed = false
    /// Transactions that were handed over and are not in the machine yet.
    private nonisolated let arriving = Mutex(0)

    /// Makes the client's folder and takes its lock; asks nothing yet.
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

    /// Goes on with what earlier launches began. Call it once, early, as an observer is added to StoreKit's queue.
    public func open() {
        guard !isOpen, !isClosed else { return }
        isOpen = true
        let (entries, unreadable) = journal.read()
        if unreadable > 0 {
            configuration.onEvent(
                .problem(
                    MerchantClientError(
                        .storage, "\(unreadable) files of begun redemptions cannot be read and were put aside")))
        }
        perform(machine.launched(entries))
    }

    /// Stops everything and lets go of the folder. What was begun goes on at the next launch.
    public func close() async {
        isClosed = true
        for task in downloads.values { task.cancel() }
        let running = Array(tasks.values)
        for task in running { task.cancel() }
        for task in running { await task.value }
        for task in downloads.values { _ = await task.value }
        lock.release()
    }

    /// Whether the merchant is being asked, or content comes. What waits for another attempt does not count: it may wait
    /// for days.
    public var isBusy: Bool { arriving.withLock { $0 } > 0 || machine.isBusy || !downloads.isEmpty }

    /// Tries everything now that waits for another attempt.
    public func tryAgain() { perform(machine.wake()) }

    /// Another user has signed in, or nobody is any longer: the token is asked for anew, and all that waits is tried with it.
    /// A question that somebody waits for is not repeated in the new user's name: it ends with `cancelled`.
    public func userChanged() async {
        await session.forgetToken()
        perform(machine.wake())
    }

    // MARK: Redeeming

    /// Redeems a transaction of StoreKit's and finishes it when the merchant has confirmed it (and, by
    /// ``MerchantClientConfiguration/finishing``, when its content is on the disk). Events tell how it goes.
    ///
    /// Call it for every purchased and restored transaction, each time StoreKit tells it: nothing is redeemed twice. Other
    /// states are passed over.
    public nonisolated func redeem(_ transaction: SKPaymentTransaction, from queue: SKPaymentQueue) {
        guard let purchase = StorePurchase(transaction, from: queue) else { return }
        arriving.withLock { $0 += 1 }
        Task {
            await begin(purchase)
            arriving.withLock { $0 -= 1 }
        }
    }

    /// Redeems all that a receipt speaks of, such as the app's after a restore; it may be asked any number of times. Nothing
    /// is written down and nothing finished.
    ///
    /// - Throws: ``MerchantClientError``.
    public func redeem(receipt: Data) async throws(MerchantClientError) -> RedemptionAnswer {
        try await ask(.redemptions, RedemptionRequest(receipt: receipt))
    }

    /// Gives up what is still due of a purchase, such as content that was refunded before it came. The app finishes the
    /// StoreKit transaction itself.
    public func abandon(transactionID: String) {
        finishes[transactionID] = nil
        perform(machine.abandoned(transactionID))
    }

    func begin(_ purchase: StorePurchase) {
        guard !isClosed else { return }
        finishes[purchase.transactionID] = purchase.finish
        guard let request = evidence(of: purchase) else {
            let error = MerchantClientError(
                .noEvidence, "there is no receipt to show to the merchant; refresh the app's receipt")
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
        // What could not be written: finishing it would lose what is due.
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
        guard took(.answer) else { return }
        switch result {
        case .success(let answer): perform(machine.answered(id, answer))
        case .failure(let error): perform(machine.failed(.redeem(id), error))
        }
    }

    private func deliver(_ item: ContentItemID) async {
        let result = await fetch(item)
        guard !isClosed else { return }
        // A success is told to the machine by whoever fetched it.
        if case .failure(let error) = result { perform(machine.failed(.deliver(item), error)) }
    }

    /// Whether the client lives after a step.
    private func took(_ step: RedemptionStep) -> Bool {
        guard !isClosed else { return false }
        if (try? configuration.onStep(step)) == nil { isClosed = true }
        return !isClosed
    }

    private func wait(
        for work: RedemptionStateMachine.Work, _ turn: Int, _ attempt: Int, _ error: MerchantClientError
    ) {
        // What the merchant asks for is kept to within an hour.
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

    // MARK: For the parts in other files

    /// Stops a download that runs; what came is kept.
    func stopDownload(of item: ContentItemID) {
        machine.paused(item)
        downloads[item]?.cancel()
    }

    /// Downloads an item, or joins the download that runs.
    func fetch(_ item: ContentItemID) async -> Result<MerchantContent, MerchantClientError> {
        while let running = downloads[item] {
            // One that was paused ends soon, and is not what is asked for now.
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
        if case .success(let content) = result, took(.downloaded) {
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
        return try await session.askPatiently(route, encoded) { attempt, seconds in
            try await wait(max(backoff.delay(attempt), Double(seconds)))
        }
    }

    /// The app's receipt as it lies on the disk.
    ///
    /// - Throws: ``MerchantClientError`` with `noEvidence` when there is none.
    func requireAppReceipt() throws(MerchantClientError) -> Data {
        guard let receipt = appReceipt else {
            throw MerchantClientError(.noEvidence, "the app's receipt is not there; refresh it")
        }
        return receipt
    }

    static func encode(_ value: some Encodable) throws(MerchantClientError) -> Data {
        do { return try JSONEncoder().encode(value) } catch {
            throw MerchantClientError(.badAnswer, "the request cannot be written as JSON")
        }
    }
}
