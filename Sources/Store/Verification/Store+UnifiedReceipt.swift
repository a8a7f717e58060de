import Database
import StoreReceipts
import StoreWire

extension Store {
    /// A customer's purchases as `verifyReceipt` would answer now, for notifications of version 1. The receipt in it is
    /// for no device.
    /// - Parameter transactionID: the transaction that the notification is about. It is always among the purchases,
    ///   also when it is a consumable that the app has finished.
    /// - Returns: nil when the account does not exist.
    /// - Throws: ``DatabaseError``; ``ReceiptAuthorityError`` when the receipt cannot be signed.
    func unifiedReceipt(
        of accountID: AccountID, _ app: AppRecord, including transactionID: TransactionID?
    ) async throws -> UnifiedReceipt? {
        let bundleID = app.bundleID
        let (found, reported) = try await database.read { connection in
            (
                try CustomerLedger(accountID, in: bundleID, connection),
                try transactionID.flatMap { try Transactions.find($0, connection) }
            )
        }
        guard let ledger = found else { return nil }
        var transactions = ledger.transactions
        if let reported, !transactions.contains(where: { $0.transactionID == reported.transactionID }) {
            transactions.append(reported)
        }
        let purchases = try latest(
            transactions, of: ledger, app: app, bundleVersion: ReceiptIssuer.originalApplicationVersion,
            device: .noDevice, at: clock.milliseconds)
        return UnifiedReceipt(
            environment: environment, latest: purchases, including: transactionID?.description)
    }
}
