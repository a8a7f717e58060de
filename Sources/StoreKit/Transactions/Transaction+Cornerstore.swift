/// The call that stands for Apple's with a window scene.
extension Transaction {
    /// Shows the customer the reasons for a refund on the configuration's ``PaymentSheet``, and sends the request to
    /// the store. The store decides later.
    ///
    /// If nobody is signed in, the customer signs in first.
    ///
    /// - Parameter transactionID: the identifier of a transaction of the signed-in account in this app, bought or
    ///   restored.
    /// - Returns: whether the customer sent the request or cancelled it.
    /// - Throws: ``RefundRequestError/duplicateRequest`` when a request for the transaction waits already;
    ///   ``RefundRequestError/failed`` when the account has no such transaction, it is refunded or shared by a family,
    ///   the customer does not sign in again, or the store does not answer. Diagnostics say which.
    public static func beginRefundRequest(for transactionID: UInt64) async throws -> RefundRequestStatus {
        try await StoreKitEngine.shared.beginRefundRequest(for: transactionID)
    }
}
