import Foundation
import StoreWire

extension PaymentQueueStateMachine {
    /// One run through what the store can restore. Calls for the same while it runs are answered with it.
    struct Restore: Sendable, Equatable {
        /// The restore's name at the store.
        let key: UUID
        let username: String?
        /// How many calls of the app it answers.
        var calls = 1
        /// The account whose purchases they are; nil before the store was asked.
        var account: AccountID?
        /// The mark behind the last page; nil before the first page.
        var after: TransactionID?
    }

    /// What became of asking for a page.
    enum RestoreAnswer: Sendable, Equatable {
        /// The app receipt is fresh, and these are the restored transactions.
        case page(RestoreResponse, account: AccountID)
        case refused(PaymentFailure)
        case unreachable(NetworkCause?)
    }

    /// How often a page is asked for before the restore fails.
    static let restoreAttempts = 3

    /// The app wants what was bought earlier. `key` is a new name.
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

    /// An answer to the running restore. `fresh` makes names for the transactions.
    ///
    /// The page is journaled before it is told, and told before the next is asked for or the end is.
    mutating func restored(_ key: UUID, _ answer: RestoreAnswer, fresh: () -> UUID) -> [Action] {
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
            // Somebody is signed in now, which may be new.
            let list = isUnlisted ? startListing() : []
            let told = page.transactions.compactMap { takeRestored($0, account: account, fresh: fresh) }
            let delivery: [Action] = told.isEmpty ? [] : [.save(told, isGate: true), .update(told)]
            guard let next = page.next, next > running.after ?? TransactionID(rawValue: 0) else {
                // Behind the gate: when the last page cannot be journaled, this is dropped, and the restore fails.
                return list + delivery + [.concludeRestore(key)]
            }
            running.after = next
            restore = running
            return list + delivery + [.restore(running)]
        }
    }

    /// The last page was told.
    mutating func concludeRestore(_ key: UUID) -> [Action] { restore?.key == key ? endRestore(nil) : [] }

    /// Asks again after a delay.
    func restoreAgain(_ key: UUID) -> [Action] {
        guard let restore, restore.key == key else { return [] }
        return [.restore(restore)]
    }

    /// Restored transactions could not be journaled: they were not told, the store gives them again under the same ids,
    /// and the restore fails.
    mutating func restoreUnsaved(_ keys: [UUID]) -> [Action] {
        for key in keys where entries[key]?.phase == .restored { remove(key) }
        return restore == nil ? [] : endRestore(.restoreJournal)
    }

    /// Starts the restore that waits, if none runs and an observer was there.
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

    /// A new entry for a restored transaction; nil when the queue has it, or its finish was on the way to the store.
    private mutating func takeRestored(
        _ transaction: TransactionDescription, account: AccountID, fresh: () -> UUID
    ) -> PaymentQueueEntry? {
        guard !isKnown(transaction.transactionID) else { return nil }
        let entry = PaymentQueueEntry(
            key: fresh(), position: takePosition(), payment: PaymentValues(of: transaction), account: account,
            phase: .restored, transaction: transaction, isRestored: true)
        put(entry)
        return entry
    }
}
