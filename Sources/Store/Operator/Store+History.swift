import Database
import Foundation
import StoreWire

/// The number of rows that were deleted from a tester's history.
public struct ClearedHistory: Sendable, Equatable {
    /// Transactions of products.
    public var transactions = 0
    /// Purchases of items.
    public var items = 0
    /// Attempts to buy that did not succeed at once.
    public var attempts = 0
}

extension Store {
    /// The most rows that one write transaction deletes from a tester's history.
    static let mostCleared = 1_000

    /// Deletes the purchase history of a tester, as App Store Connect's “Clear Purchase History” does: transactions,
    /// attempts, what the account owns, its deliveries, promotions and price increases, and what waits. The members of
    /// its family lose what it shared.
    ///
    /// Devices stay signed in. Refunds that devices have not read, used codes and used signatures of offers stay, too.
    /// The rows are deleted in parts: after a crash in between, call this again.
    /// - Throws: ``StoreError`` `forbidden` in production; ``DatabaseError``.
    public func clearHistory(of account: Account) async throws -> ClearedHistory {
        guard environment == .sandbox else {
            throw StoreError(.forbidden, "Only the history of a sandbox tester can be cleared.")
        }
        var cleared = ClearedHistory()
        defer { for subject in [.transactions, .attempts, .offers] as [ChangeTopic.Subject] { changed(subject) } }
        let accountID = account.accountID
        let (now, recorder) = (clock.milliseconds, recorder)
        let (items, requests) = try await database.write { connection in
            try AppCustomers.keepIdentifiers(of: accountID, connection)
            try FamilyShares.clear(of: accountID, at: now, recorder, connection)
            try Ownership.delete(of: accountID, connection)
            try RestoredTransactions.delete(of: accountID, connection)
            try Promotions.delete(of: accountID, connection)
            try PriceIncreases.delete(of: accountID, connection)
            try Subscriptions.delete(of: accountID, connection)
            try OfferCodeRedemptions.delete(of: accountID, connection)
            let requests = try ItemRequest.deleteWaiting(of: accountID, connection)
            return (try ItemPurchases.delete(of: accountID, connection), requests)
        }
        cleared.items = items
        for key in requests { await processor.void(key) }
        while let part = try await clearAttempts(of: accountID) { cleared.attempts += part }
        while let part = try await clearTransactions(of: accountID) { cleared.transactions += part }
        try await clearChoices(of: accountID)
        return cleared
    }

    /// Deletes some attempts with their purchases. Returns nil when the account has none left.
    private func clearAttempts(of accountID: AccountID) async throws -> Int? {
        let (keys, waiting) = try await database.write { connection in
            let keys = try Attempts.delete(of: accountID, limit: Self.mostCleared, connection)
            var waiting: [UUID] = []
            for key in keys {
                if try Purchase.find(key, connection)?.waits == true { waiting.append(key) }
                try WaitingSubscription.delete(key, connection)
            }
            try Purchase.delete(keys, connection)
            try ItemRequest.delete(keys, connection)
            return (keys, waiting)
        }
        for key in waiting { await processor.void(key) }
        return keys.isEmpty ? nil : keys.count
    }

    /// Deletes some transactions with their purchases. Returns nil when the account has none left.
    private func clearTransactions(of accountID: AccountID) async throws -> Int? {
        let count = try await database.write { connection in
            let query = LedgerQuery(accountID: accountID, limit: Self.mostCleared)
            let transactions = try Transactions.page(query, connection).rows
            try Transactions.delete(transactions, connection)
            try Refunds.delete(of: transactions.map(\.transactionID), connection)
            try RefundRequests.delete(of: transactions.map(\.transactionID), connection)
            try Purchase.delete(transactions.compactMap(\.idempotencyKey), connection)
            return transactions.count
        }
        return count == 0 ? nil : count
    }

    /// Deletes the purchases that chose a plan for the next renewal. They named the transaction of the period of then,
    /// and have neither an attempt nor a transaction of their own.
    private func clearChoices(of accountID: AccountID) async throws {
        let keys = try await database.read { try Purchase.keysWithoutTransaction(of: accountID, $0) }
        if !keys.isEmpty { try await database.write { try Purchase.delete(keys, $0) } }
    }
}
