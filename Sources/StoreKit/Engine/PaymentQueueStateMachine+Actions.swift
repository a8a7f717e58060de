import Foundation
import StoreWire

extension PaymentQueueStateMachine {
    enum Action: Sendable, Equatable {
        /// Write these entries to the journal, in one transaction.
        case save([PaymentQueueEntry], isGate: Bool)
        /// Remove these entries from the journal, in one transaction.
        case forget([UUID])
        /// Report these entries to the observers, in the state given here.
        case update([PaymentQueueEntry])
        /// Report these entries to one new observer.
        case introduce(observer: Int, [PaymentQueueEntry])
        /// Report to the observers that these entries have left the queue.
        case remove([UUID])
        /// Show the sheet.
        case confirm(PaymentQueueEntry)
        /// Send the purchase to the store, or request the state of a deferred purchase.
        case send(PaymentQueueEntry)
        /// Fetch the receipts of these entries, which have one account, and write the app receipt.
        case collect([PaymentQueueEntry])
        /// Finish the transaction at the store.
        case finish(PaymentQueueEntry)
        /// Request a page of unfinished transactions from the store.
        case list(after: TransactionID?)
        /// Request a page of restorable transactions from the store. Before the first page, refresh the app receipt.
        case restore(Restore)
        /// Call ``concludeRestore(_:)`` at once.
        case concludeRestore(UUID)
        /// Report to the observers, once for each call, that a restore is complete or why it failed.
        case restoreEnded(calls: Int, PaymentFailure?, NetworkCause?)
        /// Call ``waited(for:)`` after the `attempt`th delay.
        case wait(for: Retry, attempt: Int)
    }

    /// The work that is retried.
    enum Retry: Sendable, Hashable {
        case entry(UUID)
        case collection
        case listing
        case restore(UUID)
    }

    /// The result of the sheet.
    enum Confirmation: Sendable, Equatable {
        case agreed(account: AccountID, price: Money)
        case refused(PaymentFailure)
        /// The store could not be reached to show a price.
        case unreachable
    }

    /// The result of a purchase request.
    enum Answer: Sendable, Equatable {
        case response(PurchaseResponse)
        case refused(PaymentFailure)
        case unreachable
        /// The paying account is not signed in, and the customer declined to sign in. Ask again at the next sign-in or
        /// launch.
        case signedOut
    }
}
