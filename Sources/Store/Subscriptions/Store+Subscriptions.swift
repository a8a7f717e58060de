import Database
import StoreWire

extension Store {
    /// Returns the current periods of subscriptions, newest first.
    /// - Throws: ``DatabaseError``.
    public func subscribers(_ query: SubscriberQuery) async throws -> LedgerPage<Subscriber> {
        let now = clock.milliseconds
        return try await database.read { connection in
            let page = try Transactions.current(query, now: now, connection)
            var emails: [AccountID: String] = [:]
            for period in page.rows where emails[period.accountID] == nil {
                emails[period.accountID] = try Accounts.account(period.accountID, connection)?.email
            }
            return LedgerPage(
                rows: page.rows.map { Subscriber(period: $0, email: emails[$0.accountID]) }, next: page.next)
        }
    }

    /// Returns the periods of an account's subscriptions, newest first, each with its step from the earlier period.
    /// - Throws: ``DatabaseError``.
    public func subscriptionPeriods(
        of account: Account, before: TransactionID? = nil, limit: Int = 50
    ) async throws -> LedgerPage<SubscriptionPlan> {
        let catalog = catalog.value
        return try await database.read { connection in
            let page = try Transactions.periods(
                of: account.accountID, before: before, limit: min(max(limit, 1), SubscriberQuery.most), connection)
            let plans = try page.rows.enumerated().map { index, period in
                let later = page.rows[(index + 1)...]
                let earlier =
                    try later.first { $0.bundleID == period.bundleID && $0.isInGroup(of: period) }
                    ?? Transactions.earlier(than: period, connection)
                let app = catalog.app(period.bundleID)
                return SubscriptionPlan(period, after: earlier) { app?.product($0)?.subscription?.level }
            }
            return LedgerPage(rows: plans, next: page.next)
        }
    }

    /// Returns the subscription groups of an app in which the account has, or had, a subscription. The store sells it
    /// no introductory offer there.
    /// - Throws: ``DatabaseError``.
    public func subscribedGroups(
        of account: Account, in bundleID: BundleID
    ) async throws -> Set<SubscriptionGroupID> {
        try await database.read { connection in
            let lasting = try Transactions.lasting(of: account.accountID, in: bundleID, connection)
            return Set(lasting.compactMap(\.subscriptionGroupID))
        }
    }
}

extension Transaction {
    fileprivate func isInGroup(of other: Transaction) -> Bool { subscriptionGroupID == other.subscriptionGroupID }
}
