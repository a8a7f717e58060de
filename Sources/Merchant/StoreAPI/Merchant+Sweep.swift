import Database
import MerchantWire
import StoreWire

/// Asks the store about subscriptions whose notifications may have been lost.
extension Merchant {
    /// The most subscriptions that one round asks about.
    public static let sweepRound = 50
    /// The shortest time between two questions about a subscription, in milliseconds: an hour.
    static let sweepInterval: Int64 = 3_600_000
    /// How long a subscription belongs to the process that took it, in milliseconds. It is longer than a question and
    /// its answer take.
    static let sweepLease: Int64 = 15 * 60_000
    /// The pause after the store was unavailable, in milliseconds.
    static let sweepPause: Int64 = 60_000
    /// The pause after a failure that lasts, such as for an app without a key, in milliseconds: a day.
    static let sweepPauseWithoutKey: Int64 = 86_400_000

    /// The pause after a temporary failure of the merchant, in milliseconds: as long as the subscription has been due,
    /// so that pauses double, from ``sweepPause`` to ``sweepInterval``. A subscription that is not due, about which an
    /// operator asked, waits for ``sweepInterval``.
    static func sweepPause(dueSince due: Int64?, at now: Int64) -> Int64 {
        guard let due, due <= now else { return sweepInterval }
        return min(max(now - due, sweepPause), sweepInterval)
    }

    /// Asks the store about subscriptions that are due (``Subscription/askAfter``), one after the other, and applies
    /// the answers as notifications. Several processes may do so at once: each subscription is taken by one.
    ///
    /// An app's host that is unavailable is not asked again in the round. An answer that is not genuine changes
    /// nothing. A subscription is due, taken and put off by the clock of its store, as its dates are.
    /// - Parameter limit: the most subscriptions, 1 to ``sweepRound``.
    /// - Throws: ``MerchantError`` `no_store_key` without a client of the API; ``DatabaseError``, `CancellationError`.
    @discardableResult
    public func sweep(limit: Int = sweepRound) async throws -> SweepReport {
        guard let storeAPI, storeAPI.hasKeys else { throw MerchantError(.noStoreKey) }
        var report = SweepReport(asked: 0, changed: 0, failed: 0)
        // When hosts that are unavailable are asked again.
        var unavailable: [String: Int64] = [:]
        for turn in 0..<min(max(limit, 1), Self.sweepRound) {
            try Task.checkCancellation()
            let times = self.times
            guard
                let key = try await database.write({
                    // In turn, so that many subscriptions of one environment do not keep the other waiting.
                    try SubscriptionRow.takeDue(
                        at: times, for: Self.sweepLease, first: turn.isMultiple(of: 2) ? .production : .sandbox, $0)
                })
            else { break }
            let now = times[key: key]
            let host = RedemptionKey.subscription(named: key).map { "\($0.0.rawValue) \($0.1.rawValue)" } ?? ""
            if let date = unavailable[host] {
                try await database.write { try SubscriptionRow.ask(about: key, after: date, $0) }
                continue
            }
            report.asked += 1
            do {
                if try await ask(storeAPI, about: key) { report.changed += 1 }
            } catch let error as StoreAPIError {
                report.failed += 1
                let isUnavailable = error.code == .unavailable
                let pause =
                    isUnavailable
                    ? max(Self.sweepPause, Int64(error.retryAfter ?? 0) * 1_000) : Self.sweepPauseWithoutKey
                if isUnavailable { unavailable[host] = now + pause }
                try await database.write { connection in
                    let end = try SubscriptionRow.find(key, connection)?.facts.periods.last?.expiresAt ?? now
                    // The store will not answer about it any more.
                    let isOver = !isUnavailable && now - end >= Subscription.longestRetry
                    try SubscriptionRow.ask(about: key, after: isOver ? nil : now + pause, connection)
                }
            } catch let error as MerchantError {
                report.failed += 1
                let isTemporary = error.code.isRetryable
                try await database.write { try Self.putOff(key, at: now, isTemporary: isTemporary, $0) }
            } catch let error as DatabaseError {
                // If the database cannot record this either, the lease ends the pause.
                try? await database.write { try Self.putOff(key, at: now, isTemporary: true, $0) }
                throw error
            }
        }
        return report
    }

    /// Puts a subscription off after a failure of the merchant.
    private static func putOff(_ key: String, at now: Int64, isTemporary: Bool, _ connection: Connection) throws {
        let due = try SubscriptionRow.find(key, connection)?.facts.askAfter
        let pause = isTemporary ? sweepPause(dueSince: due, at: now) : sweepPauseWithoutKey
        try SubscriptionRow.ask(about: key, after: now + pause, connection)
    }

    /// Makes all subscriptions due, so that the next rounds of the server ask about them.
    /// - Returns: the number of subscriptions.
    /// - Throws: ``DatabaseError``.
    public func sweepAll() async throws -> Int {
        var count = 0
        var last = ""
        while true {
            let page = try await database.write { [last] in
                try SubscriptionRow.makeDue(after: last, limit: MerchantLimits.page, $0)
            }
            count += page.count
            guard page.count == MerchantLimits.page, let end = page.last else { return count }
            last = end
        }
    }

    /// Asks about one subscription, and applies the answer.
    /// - Returns: whether the answer changed the subscription in the books.
    private func ask(_ storeAPI: any StoreAPI, about key: String) async throws -> Bool {
        guard let (environment, app, original) = RedemptionKey.subscription(named: key), verifier.takes(app) else {
            throw StoreAPIError(.noKey, "the app is not this merchant's")
        }
        guard policy.environments.contains(environment) else {
            throw StoreAPIError(.noKey, "the merchant does not accept the environment")
        }
        let body = try await storeAPI.send(.statuses(original), for: app, in: environment)
        guard let status = try await verifier.verifyStatus(body, of: original, app, environment),
            RedemptionKey.subscription(status.purchase) == key
        else { throw StoreAPIError(.unknownTransaction, "the store does not list the subscription") }
        return try await apply(status, to: key)
    }

    /// Applies the state of a subscription, in one database transaction.
    private func apply(_ status: SubscriptionStatus, to key: String) async throws -> Bool {
        let times = self.times
        let (policy, writer) = (self.policy, EventWriter(self.policy, id: makeID(), now: times.machine))
        return try await withPlans(of: [status.purchase], at: times) { items in
            try await commit(.notification) { connection -> Bool in
                try Self.checkList(of: items, connection)
                try SubscriptionRow.lock(key, connection)
                let before = try SubscriptionRow.find(key, connection)?.facts ?? Subscription()
                // The store may have reversed a refund without a notification that arrived.
                var notification = status.notification
                if status.purchase.revokedAt == nil, status.number != 5,
                    before.isRefunded(RedemptionKey(status.purchase, kind: .autoRenewableSubscription))
                {
                    notification = status.reversal
                }
                guard let effect = NotificationEffect(type: notification.type, subtype: nil) else {
                    try SubscriptionRow.ask(about: key, after: times[key: key] + Self.sweepInterval, connection)
                    return false
                }
                try NotificationHandler(
                    notification: notification, purchase: status.purchase, item: items.first, policy: policy,
                    times: times, events: writer, tellsChangesOnly: true, connection: connection
                ).apply(effect)
                let after = try SubscriptionRow.find(key, connection)?.facts ?? Subscription()
                try SubscriptionRow.ask(
                    about: key, after: after.askAfter.map { max($0, times[key: key] + Self.sweepInterval) },
                    connection)
                return !after.saysTheSame(as: before)
            }
        }
    }
}
