import Foundation
import StoreWire

extension PaymentQueueStateMachine {
    /// A restore of all pages. Further calls of the app with the same username join the running restore.
    struct Restore: Sendable, Equatable {
        /// The idempotency key of the restore.
        let key: UUID
        let username: String?
        /// The number of calls of the app that this restore completes.
        var calls = 1
        /// The account that is restored; nil before the first response.
        var account: AccountID?
        /// The cursor after the last page; nil before the first page.
        var after: TransactionID?
    }

    /// The result of a request for a page.
    enum RestoreAnswer: Sendable, Equatable {
        /// The app receipt was refreshed, and these are the restored transactions.
        case page(RestoreResponse, account: AccountID)
        case refused(PaymentFailure)
        case unreachable(NetworkCause?)
    }

    /// The number of requests for a page before the restore fails.
    static let restoreAttempts = 3

    /// The app requested a restore. `key` is a new idempotency key.
    mutating func restore(username: String?, key: UUID) -> [Action] {
        if restore?.username == username, restore != nil {
            restore?.calls += 1
            return []
        }
        if let index = restoresToCome.firstIndex(where: { $0.username == username }) {
            restoresToCome[index].calls += 1
            return []
        }
        restoresToCome.append(Restore(key: key, username: username))
        return nextRestore()
    }

    /// A response to the running restore arrived. `makeKey` creates the keys of new entries.
    ///
    /// A page is journaled, then reported, and only then is the next page requested or the end reported.
    mutating func restored(_ key: UUID, _ answer: RestoreAnswer, makeKey: () -> UUID) -> [Action] {
        guard var running = restore, running.key == key else { return [] }
        switch answer {
        case .refused(let failure):
            return endRestore(failure)
        case .unreachable(let cause):
            guard attempts[.restore(key), default: 0] + 1 < Self.restoreAttempts else {
                return endRestore(.unreachable, cause)
            }
            return wait(for: .restore(key))
        case .page(let page, let account):
            attempts[.restore(key)] = nil
            guard entries.count + page.transactions.count <= Self.largestQueue else { return endRestore(.queueIsFull) }
            running.account = account
            // The customer may have signed in for this restore, so a list that failed before is requested now.
            let list = listingNeedsSignIn ? startListing() : []
            let told = page.transactions.compactMap { takeRestored($0, account: account, makeKey: makeKey) }
            let delivery: [Action] = told.isEmpty ? [] : [.save(told, isGate: true), .update(told)]
            guard let next = page.next, next > running.after ?? TransactionID(rawValue: 0) else {
                // After the gate: if the last page cannot be journaled, this action is dropped, and the restore fails.
                return list + delivery + [.concludeRestore(key)]
            }
            running.after = next
            restore = running
            return list + delivery + [.restore(running)]
        }
    }

    /// The last page was reported.
    mutating func concludeRestore(_ key: UUID) -> [Action] { restore?.key == key ? endRestore(nil) : [] }

    /// Repeats the request after a delay.
    func restoreAgain(_ key: UUID) -> [Action] {
        guard let restore, restore.key == key else { return [] }
        return [.restore(restore)]
    }

    /// Restored transactions could not be journaled and were not reported. The restore fails. The next restore delivers
    /// them again under the same identifiers.
    mutating func restoreUnsaved(_ keys: [UUID]) -> [Action] {
        for key in keys where entries[key]?.phase == .restored { remove(key) }
        return restore == nil ? [] : endRestore(.restoreJournal)
    }

    /// Starts the next waiting restore, if none is running and the app has added an observer.
    mutating func nextRestore() -> [Action] {
        guard isActive, restore == nil, !restoresToCome.isEmpty else { return [] }
        let next = restoresToCome.removeFirst()
        restore = next
        return [.restore(next)]
    }

    private mutating func endRestore(_ failure: PaymentFailure?, _ cause: NetworkCause? = nil) -> [Action] {
        guard let ended = restore else { return [] }
        attempts[.restore(ended.key)] = nil
        restore = nil
        forgetFinished()
        return [.restoreEnded(calls: ended.calls, failure, cause)] + nextRestore()
    }

    /// Creates the entry of a restored transaction; nil when the queue has the transaction, or finished it meanwhile.
    private mutating func takeRestored(
        _ transaction: TransactionDescription, account: AccountID, makeKey: () -> UUID
    ) -> PaymentQueueEntry? {
        guard !isKnown(transaction.transactionID) else { return nil }
        let entry = PaymentQueueEntry(
            key: makeKey(), position: takePosition(), payment: PaymentValues(of: transaction), account: account,
            phase: .restored, transaction: transaction, isRestored: true)
        put(entry)
        return entry
    }
}
