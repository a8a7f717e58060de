import Database
import MerchantWire
import StoreWire

/// The result of a notification.
public enum NotificationOutcome: Sendable, Equatable {
    /// The notification changed the merchant's records.
    case applied
    /// The notification was already applied.
    case duplicate
    /// The notification has no effect for this merchant.
    case ignored
    /// The merchant recorded what the notification states, and did not grant the purchase that it reports: the operator
    /// may have to list the product or correct its kind.
    case refused(RefusedTransaction)
}

extension Merchant {
    /// How long a received notification is kept, in milliseconds: 200 days. A store repeats a notification for a few
    /// days, and lists those of the last 180 days.
    public static let notificationsKeptFor: Int64 = 200 * 86_400_000

    /// Verifies a notification and applies it once, in one database transaction.
    /// - Parameter signedPayload: the JWS.
    /// - Throws: ``MerchantError`` as ``PurchaseVerifier/verifyNotification(_:)``.
    @discardableResult
    public func receive(signedPayload: [UInt8]) async throws -> NotificationOutcome {
        try await apply(try await verifier.verifyNotification(signedPayload))
    }

    /// Applies a notification, once for each notification identifier. Notifications may arrive in any order: the one
    /// that was signed last decides.
    /// - Throws: ``MerchantError`` `malformed_receipt` when the quantity exceeds the limit, or the code of a temporary
    ///   refusal; ``DatabaseError``.
    @discardableResult
    public func apply(_ notification: VerifiedNotification) async throws -> NotificationOutcome {
        let times = self.times
        let writer = EventWriter(policy, id: makeID(), now: times.machine)
        let (policy, purchases) = (self.policy, notification.purchase.map { [$0] } ?? [])
        return try await withPlans(of: purchases, at: times) { items in
            try await commit(.notification) { connection -> NotificationOutcome in
                guard let purchase = notification.purchase,
                    let effect = NotificationEffect(type: notification.type, subtype: notification.subtype)
                else {
                    return try NotificationRecords.insert(notification, .ignored, at: times.machine, connection)
                        ? .ignored : .duplicate
                }
                try Self.checkList(of: items, connection)
                let handler = NotificationHandler(
                    notification: notification, purchase: purchase, item: items.first, policy: policy, times: times,
                    events: writer, connection: connection)
                let isIgnored = try effect == .consumption && handler.consumptionCall() == nil
                guard
                    try NotificationRecords.insert(
                        notification, isIgnored ? .ignored : .applied, at: times.machine, connection)
                else { return .duplicate }
                if isIgnored { return .ignored }
                guard let refused = try handler.apply(effect) else { return .applied }
                // The store sends the notification again.
                if refused.code.isRetryable { throw MerchantError(refused.code) }
                try NotificationRecords.refuse(notification.notificationID, refused.code, connection)
                return .refused(refused)
            }
        }
    }

    /// Returns a page of the received notifications, the last received first.
    /// - Parameters:
    ///   - before: ``StoreNotificationList/next`` of the previous page; nil for the first page.
    ///   - limit: the most notifications, 1 to ``MerchantLimits/page``.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public func notifications(
        before: String? = nil, limit: Int = MerchantLimits.usualPage
    ) async throws -> StoreNotificationList {
        let limit = min(max(limit, 1), MerchantLimits.page)
        let cursor = try before.map { text in
            guard let cursor = TimeCursor(text) else { throw Self.invalidBefore }
            return cursor
        }
        var records = try await database.read {
            try NotificationRecords.page(before: cursor, limit: limit + 1, $0)
        }
        let hasMore = records.count > limit
        if hasMore { records.removeLast() }
        return StoreNotificationList(
            notifications: records,
            next: hasMore ? records.last.map { TimeCursor(time: $0.receivedAt, key: $0.notificationID).text } : nil)
    }

    /// Removes notifications that were kept for 200 days.
    /// - Parameter limit: the largest number of notifications to remove.
    /// - Returns: the number of notifications removed. When it is `limit`, there may be more.
    /// - Throws: ``DatabaseError``.
    public func pruneNotifications(limit: Int = 500) async throws -> Int {
        let end = now() - Self.notificationsKeptFor
        return try await database.write { try NotificationRecords.remove(before: end, limit: limit, $0) }
    }
}
