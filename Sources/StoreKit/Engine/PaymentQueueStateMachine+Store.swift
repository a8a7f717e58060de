import Foundation
import StoreWire

/// What reaches the queue from the store past its own questions.
extension PaymentQueueStateMachine {
    /// The customer got transactions without a payment of the queue's, as for a code.
    mutating func received(
        _ transactions: [TransactionDescription], account: AccountID, fresh: () -> UUID
    ) -> [Action] {
        var known = Set(entries.values.compactMap { $0.transaction?.transactionID })
        for transaction in transactions where known.insert(transaction.transactionID).inserted {
            take(transaction, account: account, fresh: fresh)
        }
        return nextCollection()
    }

    /// The store may hold something new: its list is asked for unless it is under way.
    mutating func listAgain() -> [Action] { startListing() }
}
