import Database
import MerchantWire
import StoreWire

/// The result of a notification.
public enum NotificationOutcome: String, Sendable {
    /// The notification changed the merchant's records.
    case applied
    /// The notification was already applied.
    case duplicate
    /// The notification has no effect for this merchant.
    case ignored
}

extension Merchant {
    /// Verifies a notification and applies it once, in one database transaction.
    /// - Parameter signedPayload: the JWS.
    /// - Throws: ``MerchantError`` as ``PurchaseVerifier/verifyNotification(_:)``.
    @discardableResult
    public func receive(signedPayload: [UInt8]) async throws -> NotificationOutcome {
        try await apply(try await verifier.verifyNotification(signedPayload))
    }

    /// Applies a notification, once for each notification identifier. Notifications may arrive in any order: the one
    /// that was signed last decides.
    @discardableResult
    public func apply(_ notification: VerifiedNotification) async throws -> NotificationOutcome {
        let now = self.now()
        var item: RedemptionItem?
        if let purchase = notification.purchase { item = try await plans([purchase], at: now).first }
        let writer = EventWriter(policy, id: makeID(), now: now)
        let (policy, plan) = (self.policy, item)
        return try await commit(.notification) { connection in
            let isNew = try connection.execute(
                """
                INSERT INTO notifications (notification_id, type, subtype, signed_at, received_at)
                VALUES ($1, $2, $3, $4, $5) ON CONFLICT (notification_id) DO NOTHING
                """,
                [
                    notification.notificationID, notification.type, notification.subtype, notification.signedAt, now,
                ])
            guard isNew == 1 else { return .duplicate }
            guard let purchase = notification.purchase else { return .ignored }
            let handler = NotificationHandler(
                notification: notification, purchase: purchase, item: plan, policy: policy, now: now, events: writer,
                connection: connection)
            return try handler.apply() ? .applied : .ignored
        }
    }
}
