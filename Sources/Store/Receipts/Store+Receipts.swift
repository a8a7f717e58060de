import Database
import Foundation
import StoreReceipts
import StoreWire

extension Store {
    /// Creates the app receipt of an account's purchases, bound to a device.
    /// - Returns: the PKCS#7 bytes (DER).
    /// - Throws: ``StoreError`` `unknown_app` or `invalid_request`; ``DatabaseError``.
    public func appReceipt(_ request: AppReceiptRequest, for account: Account) async throws -> [UInt8] {
        let app = try app(request)
        let transactions = try await receiptTransactions(of: account.accountID, in: app.bundleID)
        return try issuer.appReceipt(
            for: account, app: app, bundleVersion: request.bundleVersion, device: .vendor(request.vendorIdentifier),
            transactions: transactions, at: clock.milliseconds,
            pretence: environment == .sandbox ? request.pretence : nil)
    }

    /// Creates the iOS 6 receipt of one of the account's transactions, bought or restored.
    /// - Returns: the property list's bytes.
    /// - Throws: ``StoreError`` `unknown_transaction`, `unknown_app`, `invalid_request`, or `wrong_state` for a
    ///   refunded transaction or a finished consumable; ``DatabaseError``.
    public func transactionReceipt(
        _ transactionID: TransactionID, _ request: TransactionReceiptRequest, for account: Account
    ) async throws -> [UInt8] {
        let app = try app(request)
        let found = try await database.read { connection in
            try Transactions.find(transactionID, of: account.accountID, connection)
                ?? RestoredTransactions.find(transactionID, connection)
        }
        guard let found, found.accountID == account.accountID, found.bundleID == app.bundleID else {
            throw StoreError(.unknownTransaction, "This account has no such transaction in this app.")
        }
        guard found.revokedAt == nil else {
            throw StoreError(.wrongState, "The transaction was refunded. The app receipt shows its cancellation.")
        }
        guard found.kind != .consumable || found.finishedAt == nil else {
            throw StoreError(.wrongState, "The consumable was finished. The store creates no new receipt for it.")
        }
        return try issuer.transactionReceipt(
            found, app: app, bundleVersion: request.bundleVersion, vendorIdentifier: request.vendorIdentifier)
    }

    /// The transactions that the account's receipt contains now.
    func receiptTransactions(of accountID: AccountID, in bundleID: BundleID) async throws -> [Transaction] {
        try await settleSubscriptions(of: accountID)
        return try await database.read { try Transactions.inReceipt(of: accountID, in: bundleID, $0) }
    }

    private func app(_ request: AppReceiptRequest) throws -> AppRecord {
        guard (1...64).contains(request.bundleVersion.utf8.count), !request.bundleVersion.utf8.contains(0) else {
            throw StoreError(.invalidRequest, "“bundleVersion” must have 1 to 64 bytes.")
        }
        guard let app = apps[request.bundleID] else {
            throw StoreError(
                .unknownApp, "No app with the bundle identifier \(request.bundleID.rawValue.prefix(255)) is known.")
        }
        return app
    }
}
