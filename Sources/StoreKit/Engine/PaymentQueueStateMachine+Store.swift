import Foundation
import StoreWire

/// What reaches the queue from the store past its own questions.
extension PaymentQueueStateMachine {
    /// The store is asked for transactions without a payment of the queue's, as for a code: ``received(_:account:fresh:)``
    /// follows. The store's list may bring them first, and the app finish them, before the answer is here.
    mutating func expectTransactions() -> [Action] {
        expected += 1
        return []
    }

    /// The customer got transactions without a payment of the queue's, or none. What the queue has, or left it since they
    /// were asked for, does not come again.
    mutating func received(
        _ transactions: [TransactionDescription], account: AccountID, fresh: () -> UUID
    ) -> [Action] {
        for transaction in transactions where !isKnown(transaction.transactionID) {
            take(transaction, account: account, fresh: fresh)
        }
        expected = max(0, expected - 1)
        forgetFinished()
        return nextCollection()
    }

    /// The store may hold something new: its list is asked for unless it is under way.
    mutating func listAgain() -> [Action] { startListing() }
}
