import Foundation
import StoreWire
import Synchronization

/// Runs the payment queue: passes events to ``PaymentQueueStateMachine``, one at a time, and performs the actions that
/// it returns.
///
/// Events and journal writes run on `work`, and calls to the app on `callbackQueue`. Requests and the sheet run in
/// tasks, whose results are new events.
final class PaymentQueueEngine: Sendable {
    /// The engine's dependencies.
    struct Parts: Sendable {
        var journal: any PaymentJournal
        var store: any PaymentStore
        var callbackQueue: DispatchQueue
        var timer: any RetryTimer
        var backoff: Backoff
        var newKey: @Sendable () -> UUID
        var diagnostics: @Sendable (String) -> Void
        /// Called before each action. If it returns false, the engine ends there, as after a kill. For tests.
        var mayPerform: @Sendable (PaymentQueueStateMachine.Action) -> Bool = { _ in true }
        /// The customer's languages, best first, for the texts of errors.
        var languages: [String] = []
        /// Called each time the store's list was read completely, and by ``checkNotices()``.
        var afterListing: @Sendable () async -> Void = {}
        /// Called when the app has removed its last observer.
        var afterLastObserver: @Sendable () -> Void = {}
        /// The transactions' downloads; nil for a queue that has none.
        var downloads: DownloadEngine?
        /// Called before and after each action; it may end the process. For tests.
        var onStep: (@Sendable (PaymentQueueStep) -> Void)?
        /// Called before a purchase that this process added is delivered; it may end the process.
        var beforeGrant: (@Sendable () -> Void)?
    }

    private struct State {
        var machine: PaymentQueueStateMachine
        var isStopped = false
        /// The payments in the queue that this process added, while somebody wants to know about them.
        var added: Set<UUID> = []
        /// The callers of ``quiet()`` that wait.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    let parts: Parts
    let callbacks: PaymentQueueCallbacks
    private let state: Mutex<State>
    /// The finishes of the app, and the finishes confirmed by the store, that `work` has not handled yet. Thousands of
    /// them are journaled together.
    private let finishes = GatheredKeys()
    private let finished = GatheredKeys()
    private let work = DispatchQueue(label: "StoreKit.payments")

    init(_ parts: Parts, journal: [PaymentQueueEntry]) {
        self.parts = parts
        callbacks = PaymentQueueCallbacks(
            callbackQueue: parts.callbackQueue, languages: parts.languages, downloads: parts.downloads?.objects)
        state = Mutex(State(machine: PaymentQueueStateMachine(journal: journal)))
        parts.downloads?.attach(callbacks)
    }

    // MARK: Calls of the app

    var transactions: [SKPaymentTransaction] { callbacks.transactions }
    var observers: [any SKPaymentTransactionObserver] { callbacks.observers }

    /// Whether the queue has no entries, including those that the app has not seen or has finished.
    var isEmpty: Bool { state.withLock { $0.machine.entries.isEmpty } }

    /// Adds a payment. On return it is in the journal and survives a crash.
    func add(_ payment: PaymentValues) {
        let (key, storefront) = (parts.newKey(), parts.store.storefront)
        let added = state.withLock { state in
            state.isStopped ? nil : state.machine.newEntry(for: payment, key: key, storefront: storefront)
        }
        guard let added else { return }
        if parts.beforeGrant != nil { _ = state.withLock { $0.added.insert(key) } }
        note { try $0.note(added: added) }
        happened { $0.add(added) }
    }

    /// Announces a request for a transaction without a payment of this device. ``receive(_:of:)`` must follow.
    ///
    /// On return the state machine knows of the request. A finish that waits on `work` is handled while the request
    /// runs, and the answer may still contain its transaction.
    func expectTransaction() { state.withLock { $0.machine.expectTransactions() } }

    /// Adds a transaction without a payment of this device; nil when the request brought none.
    func receive(_ transaction: TransactionDescription?, of account: AccountID) {
        let newKey = parts.newKey
        happened { $0.received(transaction.map { [$0] } ?? [], account: account, makeKey: newKey) }
    }

    /// Adds transactions without payments of this device.
    func receive(_ transactions: [TransactionDescription], of account: AccountID) {
        let newKey = parts.newKey
        happened { $0.received(transactions, account: account, makeKey: newKey) }
    }

    /// Continues the work that waited for this account to sign in.
    func signedIn(_ account: AccountID, isCurrent: Bool) { happened { $0.signedIn(account, isCurrent: isCurrent) } }

    /// Asks the store for its list again.
    func checkStore() {
        guard !observers.isEmpty else { return }
        happened { $0.listAgain() }
    }

    /// Asks the store for notices, and for the state of deferred payments, without its list.
    func checkNotices() {
        guard !observers.isEmpty else { return }
        happened { $0.askAboutDeferred() }
        Task { [parts] in await parts.afterListing() }
    }

    /// Finishes a transaction. On return the finish is in the journal: after a crash the app does not receive the
    /// transaction again.
    func finish(_ key: UUID) {
        guard state.withLock({ !$0.isStopped && $0.machine.canFinish(key) }) else { return }
        note { try $0.note(finished: key) }
        guard finishes.add(key) else { return }
        happened { [finishes] in $0.finish(finishes.take()) }
    }

    /// Restores earlier purchases.
    func restore(username: String?) {
        let key = parts.newKey()
        happened { $0.restore(username: username, key: key) }
    }

    func add(_ observer: any SKPaymentTransactionObserver, queue: SKPaymentQueue) {
        guard let added = callbacks.add(observer, queue: queue) else { return }
        happened { $0.observerAdded(added.id, isFirst: added.isFirst) }
    }

    func remove(_ observer: any SKPaymentTransactionObserver) {
        callbacks.remove(observer)
        if observers.isEmpty { parts.afterLastObserver() }
    }

    /// Stops the engine. It performs no further actions, waits for a running call to the app and closes the journal.
    func stop() async {
        _ = markStopped()
        await parts.downloads?.stop()
        await withCheckedContinuation { continuation in
            work.async {
                self.parts.journal.close()
                self.tellQuiet()
                continuation.resume()
            }
        }
        await callbacks.stop()
    }

    private func markStopped() -> Bool {
        state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
    }

    // MARK: Events

    /// Passes an event to the state machine on `work` and performs the resulting actions. Never waits.
    func happened(_ event: @escaping @Sendable (inout PaymentQueueStateMachine) -> [PaymentQueueStateMachine.Action]) {
        work.async {
            self.settle(event)
            self.tellQuiet()
        }
    }

    /// Returns once all calls to the app that result from earlier events are enqueued on the callback queue. They
    /// include the calls with the journal's transactions to an observer that was added before.
    func settled() async {
        await withCheckedContinuation { continuation in work.async { continuation.resume() } }
    }

    /// Returns once no request is under way and the app has received all results, or the engine has ended.
    func quiet() async {
        await withCheckedContinuation { continuation in
            work.async {
                self.state.withLock { $0.waiters.append(continuation) }
                self.tellQuiet()
            }
        }
    }

    private func tellQuiet() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard !state.waiters.isEmpty, state.isStopped || state.machine.isQuiet else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        // After the calls to the app that are already enqueued.
        for waiter in waiters { parts.callbackQueue.async { waiter.resume() } }
    }

    private func settle(_ event: (inout PaymentQueueStateMachine) -> [PaymentQueueStateMachine.Action]) {
        let actions = state.withLock { $0.isStopped ? [] : event(&$0.machine) }
        for action in actions {
            guard !state.withLock({ $0.isStopped }) else { return }
            guard parts.mayPerform(action) else {
                if markStopped() { parts.journal.close() }
                return
            }
            parts.onStep?(PaymentQueueStep(.before, action))
            tellBeforeGrant(action)
            guard let unsaved = perform(action) else { continue }
            return settle { $0.saveFailed(unsaved) }
        }
    }

    private func tellBeforeGrant(_ action: PaymentQueueStateMachine.Action) {
        guard let beforeGrant = parts.beforeGrant else { return }
        switch action {
        case .update(let entries):
            let grants = state.withLock { state in
                entries.contains { $0.phase == .purchased && state.added.contains($0.key) }
            }
            if grants { beforeGrant() }
        case .remove(let keys): state.withLock { $0.added.subtract(keys) }
        default: break
        }
    }

    /// Performs one action. Returns the keys of the entries when the save of a gate failed.
    private func perform(_ action: PaymentQueueStateMachine.Action) -> [UUID]? {
        switch action {
        case .save(let entries, let isGate):
            if let unsaved = save(entries, isGate: isGate) { return unsaved }
            parts.downloads?.left(entries.filter { $0.phase == .finishing })
        case .forget(let keys): forget(keys)
        case .update(let entries): withDownloads(of: entries) { callbacks.update(entries) }
        case .introduce(let observer, let entries):
            withDownloads(of: entries) { callbacks.introduce(entries, to: observer) }
        case .remove(let keys): callbacks.removed(keys)
        case .concludeRestore(let key): happened { $0.concludeRestore(key) }
        case .restoreEnded(let calls, let failure, let cause):
            callbacks.restoreEnded(calls: calls, failure?.error(in: parts.languages).because(cause))
        case .wait(let retry, let attempt):
            parts.timer.after(seconds: parts.backoff.delay(attempt)) { self.happened { $0.waited(for: retry) } }
        case .confirm, .send, .collect, .finish, .list, .restore:
            ask(action)
            return nil
        }
        parts.onStep?(PaymentQueueStep(.after, action))
        return nil
    }

    /// Registers the downloads of transactions, then reports the transactions, so that the app can start them at once.
    private func withDownloads(of entries: [PaymentQueueEntry], _ tell: () -> Void) {
        if let downloads = parts.downloads { downloads.introduce(entries, tell) } else { tell() }
    }

    /// Performs a request to the store or the customer in a task. The result is a new event.
    private func ask(_ action: PaymentQueueStateMachine.Action) {
        let store = parts.store
        let newKey = parts.newKey
        let isAnswered: @Sendable () -> Void = { [parts] in parts.onStep?(PaymentQueueStep(.after, action)) }
        Task {
            switch action {
            case .confirm(let entry):
                let confirmation = await store.confirm(entry) { [callbacks] storefront in
                    await callbacks.shouldContinue(entry, in: storefront)
                }
                isAnswered()
                happened { $0.confirmed(entry.key, confirmation) }
            case .send(let entry):
                let answer = await store.purchase(entry)
                isAnswered()
                happened { $0.answered(entry.key, answer) }
            case .collect(let entries):
                let receipts = await store.collect(entries)
                isAnswered()
                happened { machine in
                    if let receipts { machine.collected(receipts) } else { machine.collectionFailed() }
                }
            case .finish(let entry):
                let isDone = await store.finish(entry)
                isAnswered()
                guard isDone else { return happened { $0.finishFailed(entry.key) } }
                guard finished.add(entry.key) else { return }
                happened { [finished] in $0.finished(finished.take()) }
            case .list(let after):
                let listing = await store.unfinished(after: after)
                isAnswered()
                happened { Self.listed(&$0, listing, newKey) }
                if case .page(let page, _) = listing, page.next == nil { await parts.afterListing() }
            case .restore(let restore):
                let answer = await store.restore(restore)
                isAnswered()
                happened { $0.restored(restore.key, answer, makeKey: newKey) }
            case .save, .forget, .update, .introduce, .remove, .wait, .concludeRestore, .restoreEnded:
                break
            }
        }
    }

    private static func listed(
        _ machine: inout PaymentQueueStateMachine, _ listing: Listing, _ newKey: () -> UUID
    ) -> [PaymentQueueStateMachine.Action] {
        switch listing {
        case .page(let page, let account): machine.listed(page, account: account, makeKey: newKey)
        case .unreachable: machine.listingFailed(isWorthRetrying: true)
        case .signedOut: machine.listingFailed(isWorthRetrying: false)
        }
    }

    private func save(_ entries: [PaymentQueueEntry], isGate: Bool) -> [UUID]? {
        do {
            try parts.journal.save(entries, isGate: isGate)
            return nil
        } catch {
            parts.diagnostics("cannot write the journal: \(error)")
            return isGate ? entries.map(\.key) : nil
        }
    }

    /// Writes to the journal on the caller's thread. It waits only for the journal, never for `work` or the app, so any
    /// thread can call it. After a failure, the event that follows saves the same change.
    private func note(_ body: (any PaymentJournal) throws -> Void) {
        do { try body(parts.journal) } catch {
            parts.diagnostics("cannot write the journal: \(error)")
        }
    }

    private func forget(_ keys: [UUID]) {
        do { try parts.journal.forget(keys) } catch { parts.diagnostics("cannot write the journal: \(error)") }
    }
}

/// A list of keys that are handled together.
private final class GatheredKeys: Sendable {
    private let keys = Mutex<[UUID]>([])

    /// Adds a key. Returns whether it is the first since ``take()``, in which case the caller must schedule a
    /// ``take()``.
    func add(_ key: UUID) -> Bool {
        keys.withLock { keys in
            keys.append(key)
            return keys.count == 1
        }
    }

    func take() -> [UUID] {
        keys.withLock { keys in
            defer { keys = [] }
            return keys
        }
    }
}

/// The result of a request for a page of unfinished transactions.
enum Listing: Sendable {
    case page(UnfinishedTransactionsResponse, account: AccountID)
    case unreachable
    case signedOut
}

/// The store and the customer, for the queue. No method throws: every failure is a result.
protocol PaymentStore: Sendable {
    /// Asks the customer. `shouldContinue` asks the app whether a payment continues in another storefront than the one
    /// in which it was added.
    func confirm(
        _ entry: PaymentQueueEntry, shouldContinue: @escaping @Sendable (StorefrontDescription) async -> Bool
    ) async -> PaymentQueueStateMachine.Confirmation
    func purchase(_ entry: PaymentQueueEntry) async -> PaymentQueueStateMachine.Answer
    /// Fetches the receipts of these transactions and writes the app receipt. Returns the transactions' own receipts by
    /// key, or nil when the request must be repeated.
    func collect(_ entries: [PaymentQueueEntry]) async -> [UUID: Data]?
    /// Finishes a transaction at the store. Returns false when the request must be repeated.
    func finish(_ entry: PaymentQueueEntry) async -> Bool
    func unfinished(after: TransactionID?) async -> Listing
    /// Fetches a page of restorable transactions. Before the first page it refreshes and writes the app receipt.
    func restore(_ restore: PaymentQueueStateMachine.Restore) async -> PaymentQueueStateMachine.RestoreAnswer
    /// The account's storefront, if it is known.
    var storefront: StorefrontDescription? { get }
}

/// A store that refuses every payment for one reason, such as a missing configuration or a journal in use by another
/// process.
struct RefusingPaymentStore: PaymentStore {
    let failure: PaymentFailure

    func confirm(
        _ entry: PaymentQueueEntry, shouldContinue: @escaping @Sendable (StorefrontDescription) async -> Bool
    ) async -> PaymentQueueStateMachine.Confirmation { .refused(failure) }
    func purchase(_ entry: PaymentQueueEntry) async -> PaymentQueueStateMachine.Answer { .refused(failure) }
    func collect(_ entries: [PaymentQueueEntry]) async -> [UUID: Data]? { nil }
    func finish(_ entry: PaymentQueueEntry) async -> Bool { false }
    func unfinished(after: TransactionID?) async -> Listing { .signedOut }
    func restore(_ restore: PaymentQueueStateMachine.Restore) async -> PaymentQueueStateMachine.RestoreAnswer {
        .refused(failure)
    }
    var storefront: StorefrontDescription? { nil }
}
