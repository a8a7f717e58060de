import Database
import Foundation
import StoreWire

extension Store {
    /// Records that something may have changed for accounts, so that their running apps learn of it.
    func tell(_ accounts: AccountID...) { accountNews.record(accounts) }

    /// Returns marks of what waits for an account's app, after everything that is due for its subscriptions is done.
    /// - Throws: ``DatabaseError``.
    public func newsMarks(of account: Account, in bundleID: BundleID) async throws -> NewsMarks {
        try await settleSubscriptions(of: account.accountID)
        let made = Self.creationOfPromotions(at: clock.milliseconds)
        return try await database.read { connection in
            let newest = try Transactions.newestUnfinished(
                of: account.accountID, in: bundleID, limit: Self.markedTransactions, connection)
            let arrived = try Self.arrived(among: newest, of: account.accountID, connection)
            let promotions = try Promotions.waiting(
                for: account.accountID, in: bundleID, made: made, connection)
            let increases = try PriceIncreases.all(of: account.accountID, connection).filter {
                $0.bundleID == bundleID && $0.answer == nil
            }
            let refunds = try Revocations.lastNumber(of: account.accountID, in: bundleID, connection)
            let waiting = try Attempts.waiting(of: account.accountID, in: bundleID, connection)
            let lastPromotion = promotions.last?.promotionID.uuidString.prefix(8) ?? ""
            var prices: Int64 = 0
            for increase in increases { prices = prices &+ increase.askedAt &+ increase.newPrice.milliunits }
            var identifiers: Int64 = 0
            for transaction in arrived { identifiers = identifiers &+ transaction.transactionID.rawValue }
            return NewsMarks(
                transactions: arrived.isEmpty ? NewsMarks.nothing : "\(arrived.count).\(identifiers)",
                notices: "\(refunds).\(promotions.count).\(lastPromotion).\(increases.count).\(prices).\(waiting)."
                    + "\(account.storefront).\(account.paymentsAllowed)")
        }
    }

    /// The most unfinished transactions that a mark stands for: the newest.
    private static let markedTransactions = 50

    /// Returns the accounts whose changes can concern an account: itself and the other members of its family.
    /// - Throws: ``DatabaseError``.
    public func newsSources(of account: Account) async throws -> [AccountID] {
        let family = try await familyIfAny(of: account)
        return [account.accountID]
            + (family?.members.map(\.accountID).filter { $0 != account.accountID } ?? [])
    }

    /// Returns a page of the account's unfinished transactions in an app that the store itself made, oldest first:
    /// renewals and changes of a plan, redeemed codes, shares of a family, and purchases that were approved or resolved
    /// later. Purchases that a device of the account is making are left out, since that device finishes them.
    /// - Throws: ``DatabaseError``.
    public func arrivedTransactions(
        of account: Account, in bundleID: BundleID, after: TransactionID?
    ) async throws -> UnfinishedTransactionsResponse {
        try await settleSubscriptions(of: account.accountID)
        let (page, arrived) = try await database.read { connection in
            let page = try Transactions.unfinished(
                of: account.accountID, in: bundleID, after: after, limit: StoreLimits.page + 1, connection)
            return (
                page, try Self.arrived(among: Array(page.prefix(StoreLimits.page)), of: account.accountID, connection)
            )
        }
        return UnfinishedTransactionsResponse(
            transactions: await deliverable(arrived),
            next: page.count > StoreLimits.page ? page.dropLast().last?.transactionID : nil)
    }

    /// Those of an account's transactions that did not come as the answer to a device's request to buy.
    private static func arrived(
        among transactions: [Transaction], of accountID: AccountID, _ connection: Connection
    ) throws -> [Transaction] {
        guard !transactions.allSatisfy(\.isMadeByStore) else { return transactions }
        let late = try Attempts.newestKeys(of: accountID, connection)
        return transactions.filter { transaction in
            transaction.isMadeByStore || transaction.idempotencyKey.map { late.contains($0) } ?? false
        }
    }
}

extension Transaction {
    /// Whether no payment of a device created the transaction: it has no key, or one that the store derived, or it is a
    /// later period of a subscription, which concerns every device of the account.
    var isMadeByStore: Bool {
        guard let idempotencyKey else { return true }
        return PaymentKey.isDerived(idempotencyKey)
            || kind == .autoRenewableSubscription && transactionID != originalTransactionID
    }
}
