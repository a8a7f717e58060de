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
                var plan = SubscriptionPlan(period, after: earlier) { app?.product($0)?.subscription?.level }
                if period.isUpgraded {
                    plan.replacedAt =
                        page.rows[..<index].last {
                            $0.bundleID == period.bundleID && $0.isInGroup(of: period)
                        }?.purchaseDate
                }
                return plan
            }
            return LedgerPage(rows: plans, next: page.next)
        }
    }

    /// Returns the subscription groups of an app in which the store sells the account no introductory offer: the
    /// account subscribes there, or had the offer, or a code instead.
    /// - Throws: ``DatabaseError``.
    public func groupsWithoutIntroduction(
        of account: Account, in bundleID: BundleID
    ) async throws -> Set<SubscriptionGroupID> {
        try await settleSubscriptions(of: account.accountID)
        let now = clock.milliseconds
        return try await database.read { connection in
            let own = try Transactions.lasting(of: account.accountID, in: bundleID, connection)
                .filter { $0.sharedFrom == nil }
            return try Set(own.compactMap(\.subscriptionGroupID)).filter { group in
                let known = try Subscriptions.find(of: account.accountID, in: bundleID, group: group, connection)
                return !Self.canHaveIntroduction(own.filter { $0.subscriptionGroupID == group }, known, at: now)
            }
        }
    }
}

extension Store {
    /// Returns an account's subscriptions, in the order of their first purchases, after everything that is due for them
    /// is done.
    /// - Throws: ``DatabaseError``.
    public func subscriptions(of account: Account) async throws -> [Subscription] {
        try await settleSubscriptions(of: account.accountID)
        return try await database.read { try Subscriptions.all(of: account.accountID, $0) }
    }

    /// Returns the subscriptions that members of the family share with an account, in the order of its first
    /// transactions, after everything that is due for them is done. They follow the purchasers' subscriptions.
    /// - Throws: ``DatabaseError``.
    public func sharedSubscriptions(of account: Account) async throws -> [Subscription] {
        try await settleSubscriptions(of: account.accountID)
        return try await database.read { try FamilyShares.subscriptions(of: account.accountID, $0) }
    }

    /// Returns the newest news of a subscription, the newest first.
    /// - Parameter limit: the most pieces of news, 1 to 200.
    /// - Throws: ``DatabaseError``.
    public func news(of original: TransactionID, limit: Int = 50) async throws -> [SubscriptionNews] {
        try await database.read { try SubscriptionFeed.newest(of: original, limit: min(max(limit, 1), 200), $0) }
    }

    /// Returns the news of all subscriptions in their order: everything that happened, once.
    ///
    /// News of several processes, and of transactions that overlap, can become visible a moment after ones with higher
    /// numbers.
    /// - Parameters:
    ///   - number: the number of the last item that the caller knows; 0 for none.
    ///   - limit: the most items, 1 to 200.
    /// - Throws: ``DatabaseError``.
    public func newsFeed(after number: Int64 = 0, limit: Int = 200) async throws -> [SubscriptionFeedItem] {
        try await database.read { try SubscriptionFeed.page(after: number, limit: min(max(limit, 1), 200), $0) }
    }

    /// Turns auto-renew on or off, as the customer does on Apple's page of subscriptions. Turning it off while a
    /// payment is overdue ends the subscription at once.
    /// - Parameter original: the first transaction of the subscription.
    /// - Returns: the subscription in its new state. Nothing changes when auto-renew has that state already.
    /// - Throws: ``StoreError`` `unknown_transaction`, or `wrong_state` when the subscription is over and auto-renew
    ///   cannot be turned on; ``DatabaseError``.
    public func setAutoRenew(_ isOn: Bool, of original: TransactionID) async throws -> Subscription {
        try await change(original) { subscription, now, policy, _ in
            guard isOn else { return subscription.turnAutoRenewOff(at: now) }
            guard let news = subscription.turnAutoRenewOn(at: now, policy: policy) else {
                throw StoreError(
                    .wrongState, "The subscription is over or its payment is overdue. The customer has to buy again.")
            }
            return news
        }
    }

    /// Returns a subscription by its original transaction identifier, after everything that is due for it is done.
    /// - Throws: ``StoreError`` `unknown_transaction`; ``DatabaseError``.
    public func subscription(_ original: TransactionID) async throws -> Subscription { try await found(original) }

    /// The error for an original transaction identifier that no subscription has.
    public static let unknownSubscription = StoreError(
        .unknownTransaction, "No subscription has this original transaction identifier.")

    private static func followsPurchaser(_ original: TransactionID) -> StoreError {
        StoreError(
            .wrongState,
            "A member of the family shares this subscription. It follows the purchaser's: change \(original) instead.")
    }

    /// The subscription with an original transaction identifier, after everything that is due for its account is done.
    func found(_ original: TransactionID) async throws -> Subscription {
        guard let found = try await database.read({ try Subscriptions.find(original, $0) }) else {
            let share = try await database.read { try FamilyShares.find(original, $0) }
            throw share.map { Self.followsPurchaser($0.sourceID) } ?? Self.unknownSubscription
        }
        try await settleSubscriptions(of: found.accountID)
        return try await database.read { try Subscriptions.find(original, $0) } ?? found
    }

    /// Changes a subscription in one write transaction, saves it if it changed, and does what is due then.
    /// - Parameter change: gets the subscription, the store's time, the policy and the connection; returns the news.
    func change(
        _ original: TransactionID,
        _ change:
            @escaping @Sendable (inout Subscription, Int64, RenewalPolicy, Connection) throws -> [SubscriptionNews]
    ) async throws -> Subscription {
        _ = try await found(original)
        let (now, policy, recorder) = (clock.milliseconds, policy, recorder)
        let (changed, replaced) = try await database.write { connection -> (Subscription, Subscription?) in
            guard let before = try Subscriptions.find(original, connection) else { throw Self.unknownSubscription }
            var after = before
            let news = try change(&after, now, policy, connection)
            guard after != before || !news.isEmpty else { return (after, nil) }
            try Subscriptions.save(after, news, recorder, connection)
            return (after, before)
        }
        await voidDueRenewal(of: replaced)
        schedule.add(changed.dueAt)
        self.changed(.transactions)
        guard changed.dueAt.map({ $0 <= now }) ?? false else { return changed }
        return try await found(original)
    }
}

extension Transaction {
    fileprivate func isInGroup(of other: Transaction) -> Bool {
        subscriptionGroupID == other.subscriptionGroupID && (sharedFrom == nil) == (other.sharedFrom == nil)
    }
}
