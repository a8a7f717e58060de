import Foundation
import StoreWire

/// Transactions that reach the queue without a request of its own.
extension PaymentQueueStateMachine {
    /// A request has started that brings transactions without a payment, such as the redemption of a code.
    /// ``received(_:account:makeKey:)`` follows. Before the response arrives, the store's list may bring the
    /// transactions, and the app may finish them.
    mutating func expectTransactions() { expectedResponses += 1 }

    /// The response of such a request arrived, with or without transactions. The method ignores transactions that are
    /// in the queue, or were finished since the request started.
    mutating func received(
        _ transactions: [TransactionDescription], account: AccountID, makeKey: () -> UUID
    ) -> [Action] {
        for transaction in transactions
        where !isKnown(transaction.transactionID) && entries.count < Self.largestQueue {
            take(transaction, account: account, makeKey: makeKey)
        }
        expectedResponses = max(0, expectedResponses - 1)
        forgetFinished()
        return nextCollection()
    }

    /// Requests the store's list, unless a request for it is running.
    mutating func listAgain() -> [Action] { startListing() }

    /// Asks for the state of the payments that wait for approval, without waiting for their next retry.
    mutating func askAboutDeferred() -> [Action] {
        guard isActive else { return [] }
        return inOrder.filter { $0.phase == .deferred }.flatMap { askNow($0) }
    }
}
