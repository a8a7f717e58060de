import Database
import StoreWire

/// Requests for refunds that a device makes for the account that is signed in.
extension Store {
    /// Describes a transaction of an account whose refund the customer can request.
    /// - Throws: ``StoreError`` `unknown_transaction` when the account has no such transaction in the app;
    ///   `wrong_state` when it is refunded, or a family shares it; `refund_requested` when a request for it waits;
    ///   ``DatabaseError``.
    public func refundable(
        _ transactionID: TransactionID, of account: Account, in bundleID: BundleID
    ) async throws -> RefundableTransaction {
        let transaction = try await found(transactionID, of: account, in: bundleID)
        return RefundableTransaction(productID: transaction.productID, price: transaction.price)
    }

    /// Asks for the refund of a transaction of an account, as ``requestRefund(of:reason:)`` does. A second request
    /// while one waits is refused.
    /// - Returns: the request.
    /// - Throws: the errors of ``refundable(_:of:in:)``.
    @discardableResult
    public func requestRefund(
        of transactionID: TransactionID, reason: RefundReason, by account: Account, in bundleID: BundleID
    ) async throws -> RefundRequest {
        let transaction = try await found(transactionID, of: account, in: bundleID)
        return try await requestRefund(of: transaction.transactionID, reason: reason, isRepeatable: false)
    }

    /// The transaction of an account in an app, by its identifier or by one under which it was restored.
    private func found(
        _ transactionID: TransactionID, of account: Account, in bundleID: BundleID
    ) async throws -> Transaction {
        let accountID = account.accountID
        return try await database.read { connection in
            let id = try RestoredTransactions.source(of: transactionID, connection) ?? transactionID
            guard let transaction = try Transactions.find(id, of: accountID, connection),
                transaction.bundleID == bundleID
            else { throw StoreError(.unknownTransaction, "This account has no such transaction in the app.") }
            try Self.checkRefundable(transaction)
            guard try RefundRequests.newest(for: id, connection)?.state != .waiting else { throw Self.refundRequested }
            return transaction
        }
    }
}
