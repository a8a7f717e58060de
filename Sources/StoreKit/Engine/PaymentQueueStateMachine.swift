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
    private var isActive = false
    /// What the journal brought sleeps until the first observer comes.
    private var dormant: Set<UUID> = []
    private var confirming: UUID?
    private var sending: Set<UUID> = []
    private var finishing: Set<UUID> = []
    private var collecting: Set<UUID> = []
    private var waiting: Set<Retry> = []
    private var attempts: [Retry: Int] = [:]
    private var isListing = false
    private var lastListed: TransactionID?
    /// What was finished while the store's list was under way: it may still stand in that list.
    private var finishedWhileListing: Set<TransactionID> = []

    /// Takes up what the journal holds. Only phases before the customer agreed go back: a sheet that was up is shown
    /// again.
    init(journal: [PaymentQueueEntry] = []) {
        for var entry in journal {
            if entry.phase == .confirming { entry.phase = .queued }
            entries[entry.key] = entry
            dormant.insert(entry.key)
            nextPosition = max(nextPosition, entry.position + 1)
        }
    }

    /// The entries in the queue's order.
    var inOrder: [PaymentQueueEntry] { entries.values.sorted { $0.position < $1.position } }

    // MARK: What the app does

    /// A payment was added, under a new key.
    mutating func add(
        _ payment: PaymentValues, key: UUID, storefront: StorefrontDescription? = nil
    ) -> [Action] {
        let entry = PaymentQueueEntry(
            key: key, position: takePosition(), payment: payment, phase: .queued, storefront: storefront)
        entries[key] = entry
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

    /// The app finished a transaction.
    mutating func finish(_ key: UUID) -> [Action] {
        guard var entry = entries[key] else { return [] }
        switch entry.phase {
        case .purchased:
            entry.phase = .finishing
            entries[key] = entry
            return [.save([entry], isGate: false)] + startFinishing(entry)
        case .failed:
            entries[key] = nil
            return [.forget(key), .remove(key)]
        case .queued, .confirming, .sending, .deferred, .collecting, .finishing:
            return []
        }
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
            entries[key] = entry
            return nextConfirmation() + [.save([entry], isGate: true)] + startSending(entry)
        case .refused(let failure):
            return nextConfirmation() + fail(entry, failure)
        case .unreachable:
            entry.phase = .queued
            entries[key] = entry
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
                entries[key] = entry
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
        for var entry in inOrder where batch.contains(entry.key) && entry.phase == .collecting {
            entry.phase = .purchased
            entry.transactionReceipt = receipts[entry.key]
            entries[entry.key] = entry
            done.append(entry)
        }
        guard !done.isEmpty else { return nextCollection() }
        return nextCollection() + [.save(done, isGate: true), .update(done)]
    }

    /// The receipts could not be had: the purchase stays, and they are asked for again.
    mutating func collectionFailed() -> [Action] {
        collecting = []
        return wait(for: .collection)
    }

    /// A page of the store's unfinished transactions of `account`. `fresh` makes names for those that no entry has.
    mutating func listed(
        _ page: UnfinishedTransactionsResponse, account: AccountID, fresh: () -> UUID
    ) -> [Action] {
        guard isListing else { return [] }
        var known = Set(entries.values.compactMap { $0.transaction?.transactionID })
        for transaction in page.transactions where !finishedWhileListing.contains(transaction.transactionID) {
            guard known.insert(transaction.transactionID).inserted else { continue }
            take(transaction, account: account, fresh: fresh)
        }
        if let next = page.next, next > lastListed ?? TransactionID(rawValue: 0), entries.count < Self.largestQueue {
            lastListed = next
            return [.list(after: next)] + nextCollection() + nextConfirmation()
        }
        endListing()
        attempts[.listing] = nil
        return nextCollection() + nextConfirmation()
    }

    /// The list could not be had; `isWorthRetrying` is false when nobody is signed in.
    mutating func listingFailed(isWorthRetrying: Bool) -> [Action] {
        endListing()
        return isWorthRetrying ? wait(for: .listing) : []
    }

    /// The store knows that the app is done.
    mutating func finished(_ key: UUID) -> [Action] {
        guard finishing.remove(key) != nil, let entry = entries[key] else { return [] }
        entries[key] = nil
        attempts[.entry(key)] = nil
        if isListing, let id = entry.transaction?.transactionID { finishedWhileListing.insert(id) }
        return [.forget(key), .remove(key)]
    }

    mutating func finishFailed(_ key: UUID) -> [Action] {
        guard finishing.remove(key) != nil, entries[key] != nil else { return [] }
        return wait(for: .entry(key))
    }

    // MARK: Time and trouble

    /// A delay is over.
    mutating func waited(for retry: Retry) -> [Action] {
        guard waiting.remove(retry) != nil else { return [] }
        switch retry {
        case .collection: return nextCollection()
        case .listing: return startListing()
        case .entry(let key):
            guard let entry = entries[key] else { return [] }
            switch entry.phase {
            case .queued: return nextConfirmation()
            case .sending, .deferred: return startSending(entry)
            case .finishing: return startFinishing(entry)
            case .confirming, .collecting, .purchased, .failed: return []
            }
        }
    }

    /// The save of a gate failed: nothing behind it may happen.
    mutating func saveFailed(_ keys: [UUID]) -> [Action] {
        var actions: [Action] = []
        var mustCollectAgain = false
        for key in keys {
            guard var entry = entries[key] else { continue }
            switch entry.phase {
            case .queued, .confirming, .sending:
                // Not sent yet, and must not be: without the journal a crash could buy twice.
                sending.remove(key)
                if confirming == key { confirming = nil }
                entry.phase = .failed
                entry.failure = .journal
                entries[key] = entry
                actions.append(.update([entry]))
            case .purchased:
                entry.phase = .collecting
                entries[key] = entry
                mustCollectAgain = true
            case .deferred, .collecting, .failed, .finishing:
                break
            }
        }
        if mustCollectAgain, !waiting.contains(.collection) { actions += wait(for: .collection) }
        return actions + nextConfirmation()
    }

    // MARK: Parts

    private mutating func takePosition() -> Int64 {
        defer { nextPosition += 1 }
        return nextPosition
    }

    /// Takes up all that was left lying, at launch or after the last observer had gone.
    private mutating func resume() -> [Action] {
        var actions: [Action] = []
        for entry in inOrder where !waiting.contains(.entry(entry.key)) {
            switch entry.phase {
            case .sending, .deferred: actions += startSending(entry)
            case .finishing: actions += startFinishing(entry)
            case .queued, .confirming, .collecting, .purchased, .failed: break
            }
        }
        actions += nextCollection() + nextConfirmation()
        return waiting.contains(.listing) ? actions : actions + startListing()
    }

    private mutating func startSending(_ entry: PaymentQueueEntry) -> [Action] {
        sending.insert(entry.key).inserted ? [.send(entry)] : []
    }

    private mutating func startFinishing(_ entry: PaymentQueueEntry) -> [Action] {
        finishing.insert(entry.key).inserted ? [.finish(entry)] : []
    }

    mutating func startListing() -> [Action] {
        guard isActive, !isListing else { return [] }
        isListing = true
        lastListed = nil
        return [.list(after: nil)]
    }

    private mutating func endListing() {
        isListing = false
        finishedWhileListing = []
    }

    /// One sheet at a time, in the queue's order.
    private mutating func nextConfirmation() -> [Action] {
        guard confirming == nil,
            var entry = inOrder.first(where: {
                $0.phase == .queued && !waiting.contains(.entry($0.key)) && !dormant.contains($0.key)
            })
        else { return [] }
        entry.phase = .confirming
        entries[entry.key] = entry
        confirming = entry.key
        return [.confirm(entry)]
    }

    /// One batch at a time, of one account, in the queue's order.
    mutating func nextCollection() -> [Action] {
        guard collecting.isEmpty, !waiting.contains(.collection) else { return [] }
        let open = inOrder.filter { $0.phase == .collecting && !dormant.contains($0.key) }
        guard let first = open.first else { return [] }
        let batch = Array(open.filter { $0.account == first.account }.prefix(StoreLimits.page))
        collecting = Set(batch.map(\.key))
        return [.collect(batch)]
    }

    private mutating func fail(_ entry: PaymentQueueEntry, _ failure: PaymentFailure) -> [Action] {
        var entry = entry
        entry.phase = .failed
        entry.failure = failure
        entries[entry.key] = entry
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
        entries[entry.key] = entry
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
        entries[key] = PaymentQueueEntry(
            key: key, position: takePosition(),
            payment: PaymentValues(
                productIdentifier: transaction.productID.rawValue, quantity: transaction.quantity,
                applicationUsername: transaction.applicationUsername),
            account: account, phase: .collecting, transaction: transaction)
    }

    private mutating func wait(for retry: Retry) -> [Action] {
        guard waiting.insert(retry).inserted else { return [] }
        let attempt = attempts[retry, default: 0] + 1
        attempts[retry] = attempt
        return [.wait(for: retry, attempt: attempt)]
    }
}
