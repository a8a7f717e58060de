import Foundation
import StoreWire

/// The payment queue as a pure value. Its methods take an event and return the actions to perform, in order.
///
/// A *gate* is a save that must succeed before the actions after it are performed. When it fails, the engine drops
/// these actions and calls ``saveFailed(_:)``. Therefore a list of actions puts the ones that a gate protects at its
/// end.
struct PaymentQueueStateMachine: Sendable {
    /// The most entries in the queue. When it is full, the machine stops reading the store's current list, and a
    /// restore fails.
    static let largestQueue = 100_000

    /// The entries by key.
    private(set) var entries: [UUID: PaymentQueueEntry] = [:]
    private var nextPosition: Int64 = 1
    /// Whether the app has added its first observer.
    private(set) var isActive = false
    /// The entries of the journal, which stay inactive until the app adds the first observer.
    private var dormant: Set<UUID> = []
    /// The payment whose sheet is shown.
    private var confirming: UUID?
    /// The entries whose purchase request is running; an entry in the phase `sending` may also wait for a retry.
    private var sending: Set<UUID> = []
    /// The payments whose account signed in while their request was running, perhaps without a valid token.
    private var signedInMeanwhile: Set<UUID> = []
    /// The entries whose request to finish is running.
    private var finishing: Set<UUID> = []
    /// The batch whose receipts are being fetched.
    private var collecting: [UUID] = []
    /// The accounts whose receipts could not be fetched, until the next retry. Receipts of other accounts do not wait
    /// for them, so that an account that never signs in again does not block other purchases.
    private var uncollected: Set<AccountID?> = []
    /// The work that waits for its retry delay.
    private var waiting: Set<Retry> = []
    /// The failed attempts since the last success.
    var attempts: [Retry: Int] = [:]
    private(set) var isListing = false
    /// Whether the last request for the list failed because nobody was signed in.
    private(set) var listingNeedsSignIn = false
    /// Whether a customer signed in during a request for the list, which may therefore be for another account.
    private var mustListAgain = false
    private var lastListed: TransactionID?
    /// The entries that wait for the sheet.
    private var queuedOrder = QueueOrder()
    /// The entries that wait for their receipts.
    private var collectingOrder = QueueOrder()
    /// The entries that wait to be finished at the store.
    private var finishingOrder = QueueOrder()
    /// The transaction identifiers of all entries.
    private var transactionIDs: Set<TransactionID> = []
    /// Transactions that were finished during a request whose response may still contain them: the store's list, a page
    /// of a restore, or the redemption of a code.
    private var finishedMeanwhile: Set<TransactionID> = []
    /// The number of running requests that bring transactions without a payment, such as the redemption of a code.
    var expectedResponses = 0
    /// The running restore.
    var restore: Restore?
    /// The restores that wait for the running one, in order.
    var restoresToCome: [Restore] = []

    /// The most concurrent requests to finish transactions.
    static let finishesAtOnce = 8

    /// Loads the entries of the journal. A payment whose sheet was shown returns to `queued`, so that the sheet is
    /// shown again. All other phases stay.
    init(journal: [PaymentQueueEntry] = []) {
        for var entry in journal {
            if entry.phase == .confirming { entry.phase = .queued }
            put(entry)
            dormant.insert(entry.key)
            nextPosition = max(nextPosition, entry.position + 1)
        }
    }

    /// The entries in the queue's order.
    var inOrder: [PaymentQueueEntry] { entries.values.sorted { $0.position < $1.position } }

    /// Whether the queue has no request of its own running: no list, restore, purchase, receipts or finish. The sheet
    /// may be shown.
    var isQuiet: Bool {
        !isListing && restore == nil && restoresToCome.isEmpty && sending.isEmpty && collecting.isEmpty
            && finishing.isEmpty
    }

    // MARK: Events of the app

    /// Creates the entry of a payment that is about to be added, under a new key, at the end of the queue.
    mutating func newEntry(
        for payment: PaymentValues, key: UUID, storefront: StorefrontDescription?
    ) -> PaymentQueueEntry {
        PaymentQueueEntry(
            key: key, position: takePosition(), payment: payment, phase: .queued, storefront: storefront)
    }

    /// The app added a payment; `entry` comes from ``newEntry(for:key:storefront:)``.
    mutating func add(_ entry: PaymentQueueEntry) -> [Action] {
        put(entry)
        return [.save([entry], isGate: true), .update([entry])] + nextConfirmation()
    }

    /// The app added an observer, which receives all transactions. The first observer also starts the queue's requests.
    mutating func observerAdded(_ observer: Int, isFirst: Bool) -> [Action] {
        let open = inOrder.filter { $0.phase != .finishing }
        var actions: [Action] = open.isEmpty ? [] : [.introduce(observer: observer, open)]
        if isFirst {
            isActive = true
            dormant = []
            actions += resume()
        }
        return actions
    }

    /// Whether the transaction is in a phase that the app can finish.
    func canFinish(_ key: UUID) -> Bool {
        switch entries[key]?.phase {
        case .purchased, .restored, .failed: true
        case .queued, .confirming, .sending, .deferred, .collecting, .finishing, nil: false
        }
    }

    /// The app finished a transaction.
    mutating func finish(_ key: UUID) -> [Action] { finish([key]) }

    /// The app finished these transactions. They are journaled together. Failed ones leave the queue; the others are
    /// finished at the store.
    mutating func finish(_ keys: [UUID]) -> [Action] {
        var toFinish: [PaymentQueueEntry] = []
        var removed: [UUID] = []
        for key in keys {
            guard var entry = entries[key] else { continue }
            switch entry.phase {
            case .purchased, .restored:
                entry.phase = .finishing
                put(entry)
                toFinish.append(entry)
            case .failed:
                remove(key)
                removed.append(key)
            case .queued, .confirming, .sending, .deferred, .collecting, .finishing:
                break
            }
        }
        var actions: [Action] = []
        if !toFinish.isEmpty { actions.append(.save(toFinish, isGate: false)) }
        if !removed.isEmpty { actions += [.forget(removed), .remove(removed)] }
        return toFinish.isEmpty ? actions : actions + nextFinishes()
    }

    // MARK: Responses of the sheet and the store

    /// The customer answered the sheet, or the store could not be reached to show it.
    mutating func confirmed(_ key: UUID, _ confirmation: Confirmation) -> [Action] {
        guard confirming == key else { return [] }
        confirming = nil
        guard var entry = entries[key], entry.phase == .confirming else { return nextConfirmation() }
        switch confirmation {
        case .agreed(let account, let price):
            attempts[.entry(key)] = nil
            entry.phase = .sending
            entry.account = account
            entry.agreedPrice = price
            put(entry)
            return nextConfirmation() + [.save([entry], isGate: true)] + startSending(entry)
        case .refused(let failure):
            return nextConfirmation() + fail(entry, failure)
        case .unreachable:
            entry.phase = .queued
            put(entry)
            let retry = wait(for: .entry(key))
            return nextConfirmation() + retry
        }
    }

    /// A purchase request ended. An answer that the entry no longer waits for is ignored.
    mutating func answered(_ key: UUID, _ answer: Answer) -> [Action] {
        let isSignedInAnew = signedInMeanwhile.remove(key) != nil
        guard sending.remove(key) != nil, var entry = entries[key], entry.phase == .sending || entry.phase == .deferred
        else { return [] }
        switch answer {
        case .response(let response):
            switch (response.state, response.transaction) {
            case (.purchased, let transaction?):
                attempts[.entry(key)] = nil
                paid(entry, transaction)
                return nextCollection()
            case (.deferred, _):
                guard entry.phase == .sending else { return wait(for: .entry(key)) }
                attempts[.entry(key)] = nil
                entry.phase = .deferred
                put(entry)
                return [.save([entry], isGate: false), .update([entry])] + wait(for: .entry(key))
            case (.failed, _):
                return fail(entry, PaymentFailure(refusal: response.failure))
            case (.purchased, nil):
                return wait(for: .entry(key))
            }
        case .refused(let failure):
            return fail(entry, failure)
        case .unreachable:
            return wait(for: .entry(key))
        case .signedOut:
            return isSignedInAnew ? wait(for: .entry(key)) : []
        }
    }

    /// The receipts of the batch arrived, and the app receipt is on disk. Transactions without a receipt of their own
    /// are absent from `receipts`.
    mutating func collected(_ receipts: [UUID: Data]) -> [Action] {
        let batch = collecting
        collecting = []
        attempts[.collection] = nil
        var done: [PaymentQueueEntry] = []
        for key in batch {
            guard var entry = entries[key], entry.phase == .collecting else { continue }
            entry.phase = .purchased
            entry.transactionReceipt = receipts[key]
            put(entry)
            done.append(entry)
        }
        guard !done.isEmpty else { return nextCollection() }
        return nextCollection() + [.save(done, isGate: true), .update(done)]
    }

    /// The receipts could not be fetched. The purchases stay in the queue, and their receipts are requested again.
    mutating func collectionFailed() -> [Action] {
        for key in collecting { if let entry = entries[key] { uncollected.insert(entry.account) } }
        collecting = []
        return wait(for: .collection) + nextCollection()
    }

    /// A page of the store's unfinished transactions of `account` arrived. `makeKey` creates the keys of new entries.
    mutating func listed(
        _ page: UnfinishedTransactionsResponse, account: AccountID, makeKey: () -> UUID
    ) -> [Action] {
        guard isListing else { return [] }
        for transaction in page.transactions where !isKnown(transaction.transactionID) {
            take(transaction, account: account, makeKey: makeKey)
        }
        let renewed = renewContent(page.transactions)
        if let next = page.next, next > lastListed ?? TransactionID(rawValue: 0), entries.count < Self.largestQueue {
            lastListed = next
            return renewed + [.list(after: next)] + nextCollection() + nextConfirmation()
        }
        endListing()
        attempts[.listing] = nil
        return renewed + nextCollection() + nextConfirmation() + (mustListAgain ? startListing() : [])
    }

    /// The list could not be fetched. `isWorthRetrying` is false when nobody is signed in.
    mutating func listingFailed(isWorthRetrying: Bool) -> [Action] {
        endListing()
        listingNeedsSignIn = !isWorthRetrying
        if mustListAgain { return startListing() }
        return isWorthRetrying ? wait(for: .listing) : []
    }

    /// The store finished a transaction.
    mutating func finished(_ key: UUID) -> [Action] { finished([key]) }

    /// The store finished these transactions.
    mutating func finished(_ keys: [UUID]) -> [Action] {
        var gone: [UUID] = []
        for key in keys {
            guard finishing.remove(key) != nil, let entry = entries[key] else { continue }
            remove(key)
            attempts[.entry(key)] = nil
            if mayComeAgain, let id = entry.transaction?.transactionID { finishedMeanwhile.insert(id) }
            gone.append(key)
        }
        return gone.isEmpty ? [] : [.forget(gone), .remove(gone)] + nextFinishes()
    }

    /// The request to finish a transaction failed. It is repeated after a delay.
    mutating func finishFailed(_ key: UUID) -> [Action] {
        guard finishing.remove(key) != nil, entries[key] != nil else { return [] }
        return wait(for: .entry(key)) + nextFinishes()
    }

    /// The customer has signed in. Work that waited for the account continues. For the current account (`isCurrent`),
    /// the unfinished transactions are requested.
    mutating func signedIn(_ account: AccountID, isCurrent: Bool) -> [Action] {
        // Without an observer nothing runs yet. The first observer starts everything.
        guard isActive else { return [] }
        uncollected.remove(account)
        var actions: [Action] = []
        for entry in inOrder where entry.account == account {
            switch entry.phase {
            case .sending, .deferred:
                waiting.remove(.entry(entry.key))
                if sending.contains(entry.key) { signedInMeanwhile.insert(entry.key) }
                actions += startSending(entry)
            case .finishing:
                waiting.remove(.entry(entry.key))
                finishingOrder.insert(entry)
            case .queued, .confirming, .collecting, .purchased, .restored, .failed: break
            }
        }
        actions += nextFinishes()
        if isCurrent {
            if isListing { mustListAgain = true } else { actions += startListing() }
        }
        return actions + nextCollection()
    }

    // MARK: Delays and failures

    /// The delay before a retry is over.
    mutating func waited(for retry: Retry) -> [Action] {
        guard waiting.remove(retry) != nil else { return [] }
        switch retry {
        case .collection:
            uncollected = []
            return nextCollection()
        case .listing: return startListing()
        case .restore(let key): return restoreAgain(key)
        case .entry(let key):
            guard let entry = entries[key] else { return [] }
            switch entry.phase {
            case .queued: return nextConfirmation()
            case .sending, .deferred: return startSending(entry)
            case .finishing:
                finishingOrder.insert(entry)
                return nextFinishes()
            case .confirming, .collecting, .purchased, .restored, .failed: return []
            }
        }
    }

    /// The save of a gate failed, and none of the actions after it happened. A payment that is not yet sent fails, a
    /// paid one fetches its receipts again, and a restored one is removed.
    mutating func saveFailed(_ keys: [UUID]) -> [Action] {
        var actions: [Action] = []
        var mustCollectAgain = false
        var unsaved: [UUID] = []
        for key in keys {
            guard var entry = entries[key] else { continue }
            switch entry.phase {
            case .queued, .confirming, .sending:
                // The payment was not sent, and must not be: without the journal a crash could lead to a second
                // purchase.
                sending.remove(key)
                signedInMeanwhile.remove(key)
                if confirming == key { confirming = nil }
                entry.phase = .failed
                entry.failure = .journal
                put(entry)
                actions.append(.update([entry]))
            case .purchased:
                entry.phase = .collecting
                put(entry)
                uncollected.insert(entry.account)
                mustCollectAgain = true
            case .restored: unsaved.append(key)
            case .deferred, .collecting, .failed, .finishing:
                break
            }
        }
        if !unsaved.isEmpty { actions += restoreUnsaved(unsaved) }
        if mustCollectAgain { actions += wait(for: .collection) }
        return actions + nextConfirmation()
    }

    // MARK: Parts

    mutating func takePosition() -> Int64 {
        defer { nextPosition += 1 }
        return nextPosition
    }

    /// Adds or updates an entry. All changes of entries pass through this method.
    mutating func put(_ entry: PaymentQueueEntry) {
        if let id = entry.transaction?.transactionID { transactionIDs.insert(id) }
        entries[entry.key] = entry
        switch entry.phase {
        case .queued: queuedOrder.insert(entry)
        case .collecting: collectingOrder.insert(entry)
        case .finishing: finishingOrder.insert(entry)
        case .confirming, .sending, .deferred, .purchased, .restored, .failed: break
        }
    }

    /// Removes an entry. All removals pass through this method.
    mutating func remove(_ key: UUID) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        if let id = entry.transaction?.transactionID { transactionIDs.remove(id) }
    }

    /// Whether a transaction is in the queue, or was finished during a request whose response may still contain it.
    func isKnown(_ id: TransactionID) -> Bool { transactionIDs.contains(id) || finishedMeanwhile.contains(id) }

    /// Continues all pending work, at launch or when an observer is added after the last one was removed.
    private mutating func resume() -> [Action] {
        var actions: [Action] = []
        for entry in inOrder where !waiting.contains(.entry(entry.key)) {
            switch entry.phase {
            case .sending, .deferred: actions += startSending(entry)
            case .queued, .confirming, .collecting, .purchased, .restored, .failed, .finishing: break
            }
        }
        actions += nextFinishes() + nextCollection() + nextConfirmation()
        return (waiting.contains(.listing) ? actions : actions + startListing()) + nextRestore()
    }

    /// Sends an entry now instead of after its delay.
    mutating func askNow(_ entry: PaymentQueueEntry) -> [Action] {
        waiting.remove(.entry(entry.key))
        return startSending(entry)
    }

    private mutating func startSending(_ entry: PaymentQueueEntry) -> [Action] {
        sending.insert(entry.key).inserted ? [.send(entry)] : []
    }

    /// Finishes the next transactions at the store, a few at a time, in the queue's order.
    private mutating func nextFinishes() -> [Action] {
        guard isActive, finishing.count < Self.finishesAtOnce else { return [] }
        let (entries, finishing, waiting) = (entries, finishing, waiting)
        let next = finishingOrder.first(Self.finishesAtOnce - finishing.count) { key in
            // An entry that waits for a retry is inserted again after its delay.
            guard entries[key]?.phase == .finishing, !waiting.contains(.entry(key)) else { return .gone }
            return finishing.contains(key) ? .leave : .take
        }
        return next.compactMap { key in
            self.finishing.insert(key)
            return entries[key].map(Action.finish)
        }
    }

    mutating func startListing() -> [Action] {
        guard isActive, !isListing else { return [] }
        isListing = true
        listingNeedsSignIn = false
        mustListAgain = false
        lastListed = nil
        return [.list(after: nil)]
    }

    private mutating func endListing() {
        isListing = false
        forgetFinished()
    }

    /// Clears `finishedMeanwhile` once no running request can bring finished transactions.
    mutating func forgetFinished() {
        if !mayComeAgain { finishedMeanwhile = [] }
    }

    /// Whether a request is running whose response may contain a finished transaction.
    private var mayComeAgain: Bool { isListing || restore != nil || expectedResponses > 0 }

    /// Shows the next sheet. Sheets are shown one at a time, in the queue's order.
    private mutating func nextConfirmation() -> [Action] {
        guard confirming == nil, let key = nextQueued(), var entry = entries[key] else { return [] }
        entry.phase = .confirming
        put(entry)
        confirming = entry.key
        return [.confirm(entry)]
    }

    private mutating func nextQueued() -> UUID? {
        let (entries, waiting, dormant) = (entries, waiting, dormant)
        return queuedOrder.first(1) { key in
            guard entries[key]?.phase == .queued else { return .gone }
            return waiting.contains(.entry(key)) || dormant.contains(key) ? .leave : .take
        }.first
    }

    /// Fetches the receipts of the next batch. A batch has one account; batches run one at a time, in the queue's
    /// order.
    mutating func nextCollection() -> [Action] {
        guard collecting.isEmpty else { return [] }
        let (entries, dormant, uncollected) = (entries, dormant, uncollected)
        var account: AccountID??
        collecting = collectingOrder.first(StoreLimits.page) { key in
            guard let entry = entries[key], entry.phase == .collecting else { return .gone }
            guard !dormant.contains(key), !uncollected.contains(entry.account) else { return .leave }
            if account == nil { account = .some(entry.account) }
            return account != .some(entry.account) ? .leave : .take
        }
        let batch = collecting.compactMap { entries[$0] }
        return batch.isEmpty ? [] : [.collect(batch)]
    }

    private mutating func fail(_ entry: PaymentQueueEntry, _ failure: PaymentFailure) -> [Action] {
        var entry = entry
        entry.phase = .failed
        entry.failure = failure
        put(entry)
        attempts[.entry(entry.key)] = nil
        return [.save([entry], isGate: false), .update([entry])]
    }

    /// The store completed the purchase. No save is needed: the journal still has `sending`, and a repeated request
    /// with the same idempotency key gets the same response.
    private mutating func paid(_ entry: PaymentQueueEntry, _ transaction: TransactionDescription) {
        var entry = entry
        entry.phase = .collecting
        entry.transaction = transaction
        entry.failure = nil
        put(entry)
    }

    /// Merges a transaction of the store's list: into the entry with its idempotency key if that payment is still open,
    /// else as a new entry. It leaves an entry that has failed unchanged, because the app may be finishing it.
    mutating func take(_ transaction: TransactionDescription, account: AccountID, makeKey: () -> UUID) {
        if let key = transaction.idempotencyKey, var entry = entries[key], entry.transaction == nil,
            entry.phase != .failed
        {
            if confirming == key { confirming = nil }
            entry.account = account
            paid(entry, transaction)
            return
        }
        let key = transaction.idempotencyKey.flatMap { entries[$0] == nil ? $0 : nil } ?? makeKey()
        put(
            PaymentQueueEntry(
                key: key, position: takePosition(), payment: PaymentValues(of: transaction), account: account,
                phase: .collecting, transaction: transaction))
    }

    mutating func wait(for retry: Retry) -> [Action] {
        guard waiting.insert(retry).inserted else { return [] }
        let attempt = attempts[retry, default: 0] + 1
        attempts[retry] = attempt
        return [.wait(for: retry, attempt: attempt)]
    }
}
