import Foundation
import StoreWire

extension PaymentQueueStateMachine {
    enum Action: Sendable, Equatable {
        /// Write these to the journal, in one transaction.
        case save([PaymentQueueEntry], isGate: Bool)
        /// Take these out of the journal, in one transaction.
        case forget([UUID])
        /// Tell the observers of these, as they are here.
        case update([PaymentQueueEntry])
        /// Tell one new observer of these.
        case introduce(observer: Int, [PaymentQueueEntry])
        /// Tell the observers that these are gone.
        case remove([UUID])
        /// Show the sheet.
        case confirm(PaymentQueueEntry)
        /// Ask the store to buy, or how a deferred purchase stands.
        case send(PaymentQueueEntry)
        /// Fetch the receipts of these, which are of one account, and write the app receipt.
        case collect([PaymentQueueEntry])
        /// Tell the store that the app is done.
        case finish(PaymentQueueEntry)
        /// Ask the store for a page of unfinished transactions.
        case list(after: TransactionID?)
        /// Ask the store for a page of what can be restored; before the first, refresh the app receipt.
        case restore(Restore)
        /// Come back at once with ``concludeRestore(_:)``.
        case concludeRestore(UUID)
        /// Tell the observers, once for each call, that restoring is over, or why it failed.
        case restoreEnded(calls: Int, PaymentFailure?, NetworkCause?)
        /// Come back with ``waited(for:)`` after the `attempt`th delay.
        case wait(for: Retry, attempt: Int)
    }

    /// What is tried again.
    enum Retry: Sendable, Hashable {
        case entry(UUID)
        case collection
        case listing
        case restore(UUID)
    }

    /// How the sheet ended.
    enum Confirmation: Sendable, Equatable {
        case agreed(account: AccountID, price: Money)
        case refused(PaymentFailure)
        /// The store could not be reached to show a price.
        case unreachable
    }

    /// How asking the store ended.
    enum Answer: Sendable, Equatable {
        case response(PurchaseResponse)
        case refused(PaymentFailure)
        case unreachable
        /// The account that agreed is not signed in, and the customer would not: ask again at the next launch.
        case signedOut
    }
}
