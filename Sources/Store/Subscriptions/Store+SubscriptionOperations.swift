import Database
import Foundation
import StoreWire

/// What the operator does to subscriptions: the events that a test needs now and not in a month, and extensions.
extension Store {
    /// Ends the current period now and renews the subscription, as Xcode's “Force Renewal” does. Auto-renew is on
    /// afterwards.
    /// - Throws: ``StoreError`` `unknown_transaction`; `forbidden` in production; `wrong_state` when the subscription
    ///   is not active; `unavailable` when the payment processor cannot be reached; ``DatabaseError``.
    public func renewNow(_ original: TransactionID) async throws -> Subscription {
        try await endPeriod(original, renews: true)
    }

    /// Turns auto-renew off and ends the current period now. A subscription whose payment is overdue ends as well.
    /// - Throws: ``StoreError`` as ``renewNow(_:)``.
    public func expireNow(_ original: TransactionID) async throws -> Subscription {
        try await endPeriod(original, renews: false)
    }

    /// Ends the current period now and lets the payment of its renewal fail, and all later ones until
    /// ``recover(_:)``. Purchases of the product by this account fail, too.
    /// - Throws: ``StoreError`` as ``renewNow(_:)``, and `forbidden` with another payment processor than the sandbox's.
    public func failRenewal(_ original: TransactionID) async throws -> Subscription {
        let subscription = try await found(original)
        guard environment == .sandbox, usesSandboxProcessor else { throw Self.sandboxOnly }
        guard subscription.state == .active else { throw Self.notActive }
        try await payments.setRule(
            DeclineRule(
                ruleID: Self.ruleID(subscription), accountID: subscription.accountID,
                productID: subscription.renewalProductID, minimumAmount: nil, remaining: nil))
        return try await endPeriod(original, renews: true)
    }

    /// Charges an overdue renewal now, as when the customer has corrected the payment data. What ``failRenewal(_:)``
    /// ordered ends.
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

    private func endPeriod(_ original: TransactionID, renews: Bool) async throws -> Subscription {
        guard environment == .sandbox else { throw Self.sandboxOnly }
        return try await change(original) { subscription, now, policy, connection in
            let isOverdue = subscription.isOverdue
            guard subscription.state == .active || isOverdue && !renews else { throw Self.notActive }
            var news =
                renews
                ? subscription.turnAutoRenewOn(at: now, policy: policy) ?? []
                : subscription.turnAutoRenewOff(at: now)
            guard subscription.state == .active else { return news }
            let end = now / 1000 * 1000
            news += subscription.moveEnd(to: end, at: now, isExtension: false, policy: policy)
            try Transactions.setEnd(of: subscription.transactionID, to: end, connection)
            return news
        }
    }

    // MARK: Extensions

    /// The most days of an extension, and how often a subscription can be extended in 365 days (Apple's limits).
    static let (mostExtensionDays, mostExtensions) = (90, 2)

    /// Moves the end of a subscription's current period to a later date, as Apple's “Extend a Subscription Renewal
    /// Date” does. Later renewals follow.
    /// - Parameter days: 1 to 90, by the clocks of Los Angeles; shortened with the tester's renewal rate.
    /// - Throws: ``StoreError`` `unknown_transaction`; `invalid_request` for another number of days; `wrong_state` when
    ///   the subscription is not active, in a free period, or was extended twice in 365 days; ``DatabaseError``.
    public func extend(_ original: TransactionID, days: Int) async throws -> Subscription {
        try Self.checkExtension(days)
        return try await change(original) { try Self.extend(&$0, days: days, at: $1, $2, $3) }
    }

    /// The result of ``extendAll(of:in:days:)``.
    public struct MassExtension: Sendable, Equatable {
        /// The subscriptions that were extended.
        public var succeeded = 0
        /// The subscriptions of the product that are active and cannot be extended.
        public var failed = 0
    }

    /// Extends all active subscriptions of a product, 500 in a transaction. Those that cannot be extended have the news
    /// `RENEWAL_EXTENSION` with `FAILURE`. After a crash in between, calling this
    /// again would extend the first ones twice.
    /// - Throws: ``StoreError`` `invalid_request` for another number of days than 1 to 90; ``DatabaseError``.
    public func extendAll(of productID: ProductID, in bundleID: BundleID, days: Int) async throws -> MassExtension {
        try Self.checkExtension(days)
        try await settleSubscriptions()
        var result = MassExtension()
        var last = TransactionID(rawValue: 0)
        let (recorder, policy) = (recorder, policy)
        while true {
            let (now, after) = (clock.milliseconds, last)
            let (part, extended) = try await database.write { connection in
                let part = try Subscriptions.active(
                    of: productID, in: bundleID, after: after, limit: Self.mostSettledAtOnce, connection)
                var extended: [Subscription] = []
                for var subscription in part {
                    do {
                        let news = try Self.extend(&subscription, days: days, at: now, policy, connection)
                        try Subscriptions.save(subscription, news, recorder, connection)
                        extended.append(subscription)
                    } catch is StoreError {
                        try SubscriptionFeed.add(
                            [subscription.extensionFailed(at: now)], of: subscription, recorder, connection)
                    }
                }
                return (part, extended)
            }
            guard let end = part.last?.originalTransactionID else { break }
            last = end
            result.succeeded += extended.count
            result.failed += part.count - extended.count
            for subscription in extended { schedule.add(subscription.dueAt) }
        }
        changed(.transactions)
        return result
    }

    private static func checkExtension(_ days: Int) throws {
        guard (1...mostExtensionDays).contains(days) else {
            throw StoreError(.invalidRequest, "A subscription can be extended by 1 to \(mostExtensionDays) days.")
        }
    }

    private static func extend(
        _ subscription: inout Subscription, days: Int, at now: Int64, _ policy: RenewalPolicy, _ connection: Connection
    ) throws -> [SubscriptionNews] {
        guard subscription.state == .active, subscription.isActive(at: now) else { throw notActive }
        guard try Transactions.find(subscription.transactionID, connection)?.price.milliunits ?? 0 > 0 else {
            throw StoreError(.wrongState, "A free period cannot be extended.")
        }
        let yearBefore = SubscriptionPeriod(unit: .day, count: -365).end(from: now)
        guard
            try SubscriptionFeed.count(.extended, of: subscription.originalTransactionID, since: yearBefore, connection)
                < mostExtensions
        else {
            throw StoreError(
                .wrongState, "A subscription can be extended \(mostExtensions) times in 365 days, and this one was.")
        }
        let end = subscription.rate.end(
            of: SubscriptionPeriod(unit: .day, count: days), from: subscription.expiresDate)
        try Transactions.setEnd(of: subscription.transactionID, to: end, connection)
        return subscription.moveEnd(to: end, at: now, isExtension: true, policy: policy)
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
