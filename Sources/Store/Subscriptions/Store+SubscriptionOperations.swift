import Database
import Foundation
import StoreWire

/// The operator's changes of subscriptions: the events that a test needs now and not in a month.
extension Store {
    /// Ends the current period now and renews the subscription, as Xcode's “Force Renewal” does. Auto-renew is on
    /// afterwards.
    /// - Throws: ``StoreError`` `unknown_transaction`; `forbidden` in production; `wrong_state` when the subscription
    ///   is not active, when its last period was charged ahead and has not begun, or when the period was bought at the
    ///   renewal rate ``RenewalRate/never``; `unavailable` when the payment processor cannot be reached;
    ///   ``DatabaseError``.
    public func renewNow(_ original: TransactionID) async throws -> Subscription {
        try await endPeriod(original, renews: true)
    }

    /// Turns auto-renew off and ends the current period now. A subscription whose payment is overdue ends as well.
    /// - Throws: ``StoreError`` as ``renewNow(_:)``, but at each renewal rate.
    public func expireNow(_ original: TransactionID) async throws -> Subscription {
        try await endPeriod(original, renews: false)
    }

    /// Ends the current period now and lets the payment of its renewal fail, and all later ones until
    /// ``recover(_:)``. Purchases of the product by this account fail, too.
    ///
    /// A renewal without a payment does not fail: it is free, or the subscription ends, because the product is not for
    /// sale or the customer has not agreed to a price increase. Later payments do not fail then.
    /// - Throws: ``StoreError`` as ``renewNow(_:)``, and `forbidden` with another payment processor than the sandbox's.
    public func failRenewal(_ original: TransactionID) async throws -> Subscription {
        let subscription = try await found(original)
        guard environment == .sandbox, usesSandboxProcessor else { throw Self.sandboxOnly }
        guard subscription.state == .active else { throw Self.notActive }
        try Self.checkRenews(subscription, policy)
        let now = clock.milliseconds
        try await database.read { try Self.checkBegun(subscription, at: now, $0) }
        try await payments.setRule(
            DeclineRule(
                ruleID: Self.ruleID(subscription), accountID: subscription.accountID,
                productID: subscription.renewalProductID, minimumAmount: nil, remaining: nil))
        do {
            let failed = try await endPeriod(original, renews: true)
            if !failed.isOverdue { _ = try await payments.removeRule(Self.ruleID(subscription)) }
            return failed
        } catch {
            // The order failed, so that no purchase of the account may fail for it.
            _ = try? await payments.removeRule(Self.ruleID(subscription))
            throw error
        }
    }

    /// Charges an overdue renewal now, as when the customer has corrected the payment data. The order of
    /// ``failRenewal(_:)`` ends.
    /// - Returns: the subscription, still overdue if the payment was declined again.
    /// - Throws: ``StoreError`` `unknown_transaction`; `wrong_state` when no payment is overdue; `unavailable` when the
    ///   payment processor cannot be reached; ``DatabaseError``.
    public func recover(_ original: TransactionID) async throws -> Subscription {
        let subscription = try await found(original)
        if usesSandboxProcessor { _ = try await payments.removeRule(Self.ruleID(subscription)) }
        return try await change(original) { subscription, now, _, _ in
            guard subscription.state == .gracePeriod || subscription.state == .billingRetry else {
                throw StoreError(.wrongState, "No payment of the subscription is overdue.")
            }
            subscription.dueAt = now
            return []
        }
    }

    private static func ruleID(_ subscription: Subscription) -> String {
        "subscription \(subscription.originalTransactionID)"
    }

    private static let sandboxOnly = StoreError(
        .forbidden, "Only subscriptions of the sandbox can be renewed, failed or ended by command.")

    private static let notActive = StoreError(.wrongState, "The subscription is not active.")

    /// Refuses to renew a period at whose rate nothing renews.
    private static func checkRenews(_ subscription: Subscription, _ policy: RenewalPolicy) throws {
        guard policy.mostRenewals(at: subscription.rate) == 0 else { return }
        throw StoreError(
            .wrongState,
            "The period was bought at the renewal rate “never”. Give the account another rate, and buy again after the "
                + "period's end.")
    }

    /// Refuses to end a period that was charged ahead and has not begun.
    private static func checkBegun(_ subscription: Subscription, at date: Int64, _ connection: Connection) throws {
        guard let period = try Transactions.find(subscription.transactionID, connection), period.purchaseDate > date
        else { return }
        throw StoreError(
            .wrongState,
            "The next period is charged already and has not begun. Advance the store's clock to its beginning first.")
    }

    private func endPeriod(_ original: TransactionID, renews: Bool) async throws -> Subscription {
        guard environment == .sandbox else { throw Self.sandboxOnly }
        return try await change(original) { [recorder] subscription, now, policy, connection in
            let isOverdue = subscription.isOverdue
            guard subscription.state == .active || isOverdue && !renews else { throw Self.notActive }
            var news: [SubscriptionNews]
            if renews {
                try Self.checkRenews(subscription, policy)
                news = subscription.turnAutoRenewOn(at: now, policy: policy) ?? []
                subscription.countAnew(at: now, policy: policy)
            } else {
                news = subscription.turnAutoRenewOff(at: now)
            }
            guard subscription.state == .active else { return news }
            try Self.checkBegun(subscription, at: now, connection)
            let end = now / 1000 * 1000
            news += subscription.moveEnd(to: end, at: now, isExtension: false, policy: policy)
            try Transactions.setEnd(
                of: subscription.transactionID, subscription.accountID, to: end, recorder, connection)
            return news
        }
    }

    // MARK: Changes of plan

    /// Buys another product of the group for the customer, or chooses it for the next renewal when it is a lower plan.
    /// - Returns: the answer to the purchase.
    /// - Throws: ``StoreError`` `unknown_transaction`, or as ``purchase(_:by:)``; ``DatabaseError``.
    public func changePlan(_ original: TransactionID, to productID: ProductID) async throws -> PurchaseResponse {
        let subscription = try await found(original)
        guard let account = try await accounts.account(subscription.accountID) else { throw Self.unknownSubscription }
        return try await change(subscription, to: productID, agreedPrice: nil, key: UUID(), by: account)
    }
}
