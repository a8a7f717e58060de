import Foundation
import StoreWire

/// The payment queue as a pure value: methods take what happened and return what to do, in that order.
///
/// A phase that must be durable before it is acted on is saved as a *gate*: when a gate's save fails, the actions
/// after it are dropped and ``saveFailed(_:)`` is told. What a gate protects stands last in its list.
struct PaymentQueueStateMachine: Sendable {
    /// The store's list is not followed further than this; the rest comes at the next launch.
    static let largestQueue = 100_000

    /// The entries by key.
    private(set) var entries: [UUID: PaymentQueueEntry] = [:]
    private var nextPosition: Int64 = 1
    private(set) var isActive = false
    /// What the journal brought sleeps until the first observer comes.
    private var dormant: Set<UUID> = []
    private var confirming: UUID?
    private var sending: Set<UUID> = []
    private var finishing: Set<UUID> = []
    private var collecting: [UUID] = []
    /// The accounts whose receipts could not be had, until they are asked for again. Another account's do not wait for
    /// them: who never signs in again keeps nobody's purchase.
    private var uncollected: Set<AccountID?> = []
    private var waiting: Set<Retry> = []
    var attempts: [Retry: Int] = [:]
    private(set) var isListing = false
    /// Whether nobody was signed in when the list was asked for.
    private(set) var isUnlisted = false
    /// Whether somebody signed in while the list was asked for, so that it may be another account's, or none.
    private var mustListAgain = false
    private var lastListed: TransactionID?
    /// The entries that wait for the sheet, for their receipts, and for the store to hear that they are finished.
    private var queuedOrder = QueueOrder()
    private var collectingOrder = QueueOrder()
    private var finishingOrder = QueueOrder()
    /// The transactions of all entries.
    private var transactionIDs: Set<TransactionID> = []
    /// What was finished while an answer of the store was under way in which it may still stand: its list, a page of a
    /// restore, or what a code gave.
    private var finishedMeanwhile: Set<TransactionID> = []
    /// How many answers are under way that bring transactions without a payment.
    var expected = 0
    /// The restore that runs, and those that wait for it.
    var restore: Restore?
    var restoresToCome: [Restore] = []

    /// The store is told of so many finished transactions at once.
    static let finishesAtOnce = 8

    /// Takes up what the journal holds. Only phases before the customer agreed go back: a sheet that was up is shown
    /// again.
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

    /// Whether no answer is waited for, but from the customer.
    var isQuiet: Bool {
        !isListing && restore == nil && restoresToCome.isEmpty && sending.isEmpty && collecting.isEmpty
            && finishing.isEmpty
    }

    // MARK: What the app does

    /// An entry for a payment that is about to be added, under a new key. It takes the next place in the queue.
    mutating func newEntry(
        for payment: PaymentValues, key: UUID, storefront: StorefrontDescription?
    ) -> PaymentQueueEntry {
        PaymentQueueEntry(
            key: key, position: takePosition(), payment: payment, phase: .queued, storefront: storefront)
    }

    /// A payment was added; `entry` is of ``newEntry(for:key:storefront:)``.
    mutating func add(_ entry: PaymentQueueEntry) -> [Action] {
        put(entry)
        return [.save([entry], isGate: true), .update([entry])] + nextConfirmation()
    }

    /// An observer was added: it is told of everything, and the first brings the queue to life.
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

    /// Whether finishing a transaction now would do anything.
    func canFinish(_ key: UUID) -> Bool {
        switch entries[key]?.phase {
        case .purchased, .restored, .failed: true
        case .queued, .confirming, .sending, .deferred, .collecting, .finishing, nil: false
        }
    }

    /// The app finished a transaction.
    mutating func finish(_ key: UUID) -> [Action] { finish([key]) }

    /// The app finished these: they are journaled together, and left or told to the store.
    mutating func finish(_ keys: [UUID]) -> [Action] {
        var told: [PaymentQueueEntry] = []
        var gone: [UUID] = []
        for key in keys {
            guard var entry = entries[key] else { continue }
            switch entry.phase {
            case .purchased, .restored:
                entry.phase = .finishing
                put(entry)
                told.append(entry)
            case .failed:
                remove(key)
                gone.append(key)
            case .queued, .confirming, .sending, .deferred, .collecting, .finishing:
                break
            }
        }
        var actions: [Action] = []
        if !told.isEmpty { actions.append(.save(told, isGate: false)) }
        if !gone.isEmpty { actions += [.forget(gone), .remove(gone)] }
        return told.isEmpty ? actions : actions + nextFinishes()
    }

    // MARK: What the sheet and the store answer

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

    mutating func answered(_ key: UUID, _ answer: Answer) -> [Action] {
        guard sending.remove(key) != nil, var entry = entries[key], entry.phase == .sending || entry.phase == .deferred
        else { return [] }
        switch answer {
        case .response(let response):
            switch (response.state, response.transaction) {
            case (.purchased, let transaction?):
                attempts[.entry(key)] = nil
                return paid(entry, transaction) + nextCollection()
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
            return []
        }
    }

    /// The receipts of the batch arrived and the app receipt is written; a transaction without a receipt of its own
    /// has nil.
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

    /// The receipts could not be had: the purchases stay, and their receipts are asked for again.
    mutating func collectionFailed() -> [Action] {
        for key in collecting { if let entry = entries[key] { uncollected.insert(entry.account) } }
        collecting = []
        return wait(for: .collection) + nextCollection()
    }

    /// A page of the store's unfinished transactions of `account`. `fresh` makes names for those that no entry has.
    mutating func listed(
        _ page: UnfinishedTransactionsResponse, account: AccountID, fresh: () -> UUID
    ) -> [Action] {
        guard isListing else { return [] }
        for transaction in page.transactions where !isKnown(transaction.transactionID) {
            take(transaction, account: account, fresh: fresh)
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

    /// The list could not be had; `isWorthRetrying` is false when nobody is signed in.
    mutating func listingFailed(isWorthRetrying: Bool) -> [Action] {
        endListing()
        isUnlisted = !isWorthRetrying
        if mustListAgain { return startListing() }
        return isWorthRetrying ? wait(for: .listing) : []
    }

    /// The store knows that the app is done.
    mutating func finished(_ key: UUID) -> [Action] { finished([key]) }

    /// The store knows that the app is done with these.
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

    mutating func finishFailed(_ key: UUID) -> [Action] {
        guard finishing.remove(key) != nil, entries[key] != nil else { return [] }
        return wait(for: .entry(key)) + nextFinishes()
    }

    /// The customer has signed in. What waited for that account goes on, and when it is the account that shops now
    /// (`isCurrent`), its unfinished transactions are asked for.
    mutating func signedIn(_ account: AccountID, isCurrent: Bool) -> [Action] {
        // The first observer brings everything to life.
        guard isActive else { return [] }
        uncollected.remove(account)
        var actions: [Action] = []
        for entry in inOrder where entry.account == account {
            switch entry.phase {
            case .sending, .deferred:
                waiting.remove(.entry(entry.key))
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

    // MARK: Time and trouble

    /// A delay is over.
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

    /// The save of a gate failed: nothing behind it may happen.
    mutating func saveFailed(_ keys: [UUID]) -> [Action] {
        var actions: [Action] = []
        var mustCollectAgain = false
        var unsaved: [UUID] = []
        for key in keys {
            guard var entry = entries[key] else { continue }
            switch entry.phase {
            case .queued, .confirming, .sending:
                // Not sent yet, and must not be: without the journal a crash could buy twice.
                sending.remove(key)
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

    /// The one way in and on for an entry.
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

    /// The one way out.
    mutating func remove(_ key: UUID) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        if let id = entry.transaction?.transactionID { transactionIDs.remove(id) }
    }

    /// Whether a transaction is in the queue, or left it so lately that an answer of the store may hold it still.
    func isKnown(_ id: TransactionID) -> Bool { transactionIDs.contains(id) || finishedMeanwhile.contains(id) }

    /// Takes up all that was left lying, at launch or after the last observer had gone.
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

    private mutating func startSending(_ entry: PaymentQueueEntry) -> [Action] {
        sending.insert(entry.key).inserted ? [.send(entry)] : []
    }

    /// A few at a time, in the queue's order.
    private mutating func nextFinishes() -> [Action] {
        guard isActive, finishing.count < Self.finishesAtOnce else { return [] }
        let (entries, finishing, waiting) = (entries, finishing, waiting)
        let next = finishingOrder.first(Self.finishesAtOnce - finishing.count) { key in
            // What waits to be tried again comes back in then.
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
        isUnlisted = false
        mustListAgain = false
        lastListed = nil
        return [.list(after: nil)]
    }

    private mutating func endListing() {
        isListing = false
        forgetFinished()
    }

    /// Nothing is under way any more that what was finished meanwhile could stand in.
    mutating func forgetFinished() {
        if !mayComeAgain { finishedMeanwhile = [] }
    }

    /// Whether an answer is under way in which a finished transaction may stand.
    private var mayComeAgain: Bool { isListing || restore != nil || expected > 0 }

    /// One sheet at a time, in the queue's order.
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

    /// One batch at a time, of one account, in the queue's order.
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

    /// The journal says `sending` still, which repeats the question and gets the same answer: nothing need be saved
    /// here.
    private mutating func paid(_ entry: PaymentQueueEntry, _ transaction: TransactionDescription) -> [Action] {
        var entry = entry
        entry.phase = .collecting
        entry.transaction = transaction
        entry.failure = nil
        put(entry)
        return []
    }

    /// Merges a transaction of the store's list: by the payment's key when that payment still waits for it, else as a
    /// new entry. One that the app knows as failed is not touched: the app may be finishing it this moment.
    mutating func take(_ transaction: TransactionDescription, account: AccountID, fresh: () -> UUID) {
        if let key = transaction.idempotencyKey, var entry = entries[key], entry.transaction == nil,
            entry.phase != .failed
        {
            if confirming == key { confirming = nil }
            entry.account = account
            _ = paid(entry, transaction)
            return
        }
        let key = transaction.idempotencyKey.flatMap { entries[$0] == nil ? $0 : nil } ?? fresh()
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
