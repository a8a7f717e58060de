import Foundation
import StoreWire
import Synchronization

/// Runs the payment queue: feeds ``PaymentQueueStateMachine`` with what happens, one event at a time, and performs
/// the actions it returns.
///
/// Events and the journal are on `work`; calls to the app on `callbackQueue`; requests and the sheet in tasks that
/// come back with events.
final class PaymentQueueEngine: Sendable {
    /// What the engine works with.
    struct Parts: Sendable {
        var journal: any PaymentJournal
        var store: any PaymentStore
        var callbackQueue: DispatchQueue
        var timer: any RetryTimer
        var backoff: Backoff
        var newKey: @Sendable () -> UUID
        var diagnostics: @Sendable (String) -> Void
        /// Called before each action is performed; false ends the engine there, as a kill would. For tests.
        var mayPerform: @Sendable (PaymentQueueStateMachine.Action) -> Bool = { _ in true }
        /// The customer's languages, best first, for the texts of errors.
        var languages: [String] = []
        /// Called each time after the whole of the store's list was taken in: the store can be reached.
        var afterListing: @Sendable () async -> Void = {}
        /// The transactions' downloads; nil for a queue that has none.
        var downloads: DownloadEngine?
        /// Called before and after each action; it may end the process. For tests.
        var onStep: (@Sendable (PaymentQueueStep) -> Void)?
    }

    private struct State {
        var machine: PaymentQueueStateMachine
        var isStopped = false
        /// Who waits until nothing is under way.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    let parts: Parts
    let callbacks: PaymentQueueCallbacks
    private let state: Mutex<State>
    /// What was finished by the app, and what the store knows of, since the work queue last looked: thousands of them
    /// are journaled together.
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

    // MARK: The app's side

    var transactions: [SKPaymentTransaction] { callbacks.transactions }
    var observers: [any SKPaymentTransactionObserver] { callbacks.observers }

    /// Whether nothing is under way or waits to be finished, told to the app or not.
    var isEmpty: Bool { state.withLock { $0.machine.entries.isEmpty } }

    /// Adds a payment. On return it is in the journal, so that it outlives a process that ends right after.
    func add(_ payment: PaymentValues) {
        let (key, storefront) = (parts.newKey(), parts.store.storefront)
        let added = state.withLock { state in
            state.isStopped ? nil : state.machine.newEntry(for: payment, key: key, storefront: storefront)
        }
        guard let added else { return }
        note { try $0.note(added: added) }
        happened { $0.add(added) }
    }

    /// The store is asked for a transaction that no payment of this device made; ``receive(_:of:)`` follows.
    func expectTransaction() { happened { $0.expectTransactions() } }

    /// A transaction that no payment of this device made; nil when there was none.
    func receive(_ transaction: TransactionDescription?, of account: AccountID) {
        let newKey = parts.newKey
        happened { $0.received(transaction.map { [$0] } ?? [], account: account, fresh: newKey) }
    }

    /// The customer has signed in.
    func signedIn(_ account: AccountID, isCurrent: Bool) { happened { $0.signedIn(account, isCurrent: isCurrent) } }

    /// Asks the store for its list again.
    func checkStore() {
        guard !observers.isEmpty else { return }
        happened { $0.listAgain() }
    }

    /// Finishes a transaction. On return that is in the journal: a process that ends right after is not told of the
    /// transaction again.
    func finish(_ key: UUID) {
        guard state.withLock({ !$0.isStopped && $0.machine.canFinish(key) }) else { return }
        note { try $0.note(finished: key) }
        guard finishes.add(key) else { return }
        happened { [finishes] in $0.finish(finishes.take()) }
    }

    /// Delivers again what was bought earlier.
    func restore(username: String?) {
        let key = parts.newKey()
        happened { $0.restore(username: username, key: key) }
    }

    func add(_ observer: any SKPaymentTransactionObserver, queue: SKPaymentQueue) {
        guard let added = callbacks.add(observer, queue: queue) else { return }
        happened { $0.observerAdded(added.id, isFirst: added.isFirst) }
    }

    func remove(_ observer: any SKPaymentTransactionObserver) { callbacks.remove(observer) }

    /// Ends it: nothing more is performed or told. A call to the app that is under way is waited for, and what is noted
    /// after that call is noted. On return the journal is closed.
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

    /// Settles what an event means, then performs it. Never waits.
    func happened(_ event: @escaping @Sendable (inout PaymentQueueStateMachine) -> [PaymentQueueStateMachine.Action]) {
        work.async {
            self.settle(event)
            self.tellQuiet()
        }
    }

    /// Returns once all calls to the app that earlier events lead to wait on the callback queue. Among them are those to an
    /// observer that was added before, with the transactions of the journal.
    func settled() async {
        await withCheckedContinuation { continuation in work.async { continuation.resume() } }
    }

    /// Returns once nothing is under way and all that came of it was told, or the engine has ended.
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
        // Behind the calls to the app that are on their way.
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
            guard let unsaved = perform(action) else { continue }
            return settle { $0.saveFailed(unsaved) }
        }
    }

    /// Performs one action; gives the keys of a gate that could not be saved.
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

    /// Tells the app of transactions whose downloads, if any, it can start at once.
    private func withDownloads(of entries: [PaymentQueueEntry], _ tell: () -> Void) {
        if let downloads = parts.downloads { downloads.introduce(entries, tell) } else { tell() }
    }

    /// Asks the store or the customer in a task of its own, and takes the answer as an event.
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
                happened { $0.restored(restore.key, answer, fresh: newKey) }
            case .save, .forget, .update, .introduce, .remove, .wait, .concludeRestore, .restoreEnded:
                break
            }
        }
    }

    private static func listed(
        _ machine: inout PaymentQueueStateMachine, _ listing: Listing, _ newKey: () -> UUID
    ) -> [PaymentQueueStateMachine.Action] {
        switch listing {
        case .page(let page, let account): machine.listed(page, account: account, fresh: newKey)
        case .unreachable: machine.listingFailed(isWorthRetrying: true)
        case .signedOut: machine.listingFailed(isWorthRetrying: false)
        }
    }

    private func save(_ entries: [PaymentQueueEntry], isGate: Bool) -> [UUID]? {
        do {
            try parts.journal.save(entries, isGate: isGate)
            return nil
        } catch {
            parts.diagnostics("the journal could not be written: \(error)")
            return isGate ? entries.map(\.key) : nil
        }
    }

    /// Writes to the journal on the caller's thread. It waits for the journal alone and never for `work` or the app, so
    /// that it can be called anywhere. A failure is not the end: the event that follows saves the same.
    private func note(_ body: (any PaymentJournal) throws -> Void) {
        do { try body(parts.journal) } catch {
            parts.diagnostics("the journal could not be written: \(error)")
        }
    }

    private func forget(_ keys: [UUID]) {
        do { try parts.journal.forget(keys) } catch { parts.diagnostics("the journal could not be written: \(error)") }
    }
}

/// Keys that wait to be handled together.
private final class GatheredKeys: Sendable {
    private let keys = Mutex<[UUID]>([])

    /// Whether it is the first since ``take()``: then somebody has to come and take them.
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

/// A page of what the store holds unfinished.
enum Listing: Sendable {
    case page(UnfinishedTransactionsResponse, account: AccountID)
    case unreachable
    case signedOut
}

/// The store and the customer as the queue sees them: questions that are always answered, if with "not now".
protocol PaymentStore: Sendable {
    /// Asks the customer. `shouldContinue` asks the app whether to go on in another country's store than the one in which
    /// the payment was added.
    func confirm(
        _ entry: PaymentQueueEntry, shouldContinue: @escaping @Sendable (StorefrontDescription) async -> Bool
    ) async -> PaymentQueueStateMachine.Confirmation
    func purchase(_ entry: PaymentQueueEntry) async -> PaymentQueueStateMachine.Answer
    /// Fetches the receipts of these and writes the app receipt; the transactions' own receipts by key, or nil for
    /// "not now".
    func collect(_ entries: [PaymentQueueEntry]) async -> [UUID: Data]?
    /// Whether the store knows now that the app is done.
    func finish(_ entry: PaymentQueueEntry) async -> Bool
    func unfinished(after: TransactionID?) async -> Listing
    /// A page of what can be restored. Before the first page the app receipt is refreshed and written.
    func restore(_ restore: PaymentQueueStateMachine.Restore) async -> PaymentQueueStateMachine.RestoreAnswer
    /// Where the account shops, as far as it is known.
    var storefront: StorefrontDescription? { get }
}

/// Refuses every payment for one reason: no store is configured, or another process holds the journal.
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
