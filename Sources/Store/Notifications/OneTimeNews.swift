import Database
import StoreWire

/// Notifications about products that do not renew: consumables, non-consumables and non-renewing subscriptions. The
/// feed has news of subscriptions only, so these are written to the outbox alone.
enum OneTimeNews: String, Sendable {
    /// The customer bought the product, or got it by Family Sharing.
    case charge = "ONE_TIME_CHARGE"
    /// The purchase was refunded.
    case refund = "REFUND"
    /// The customer asked for a refund, and the store asks how the purchase was used.
    case consumptionRequest = "CONSUMPTION_REQUEST"
    /// A refund was refused.
    case refundDeclined = "REFUND_DECLINED"
    /// A refund was taken back.
    case refundReversed = "REFUND_REVERSED"
    /// A member of a family does not share the product any longer.
    case revoked = "REVOKE"

    /// Writes a notification, if the app has a receiver and the transaction is no subscription period.
    /// - Parameters:
    ///   - transaction: in its state after what happened.
    ///   - reason: why the customer asked for a refund; nil for other news.
    ///   - date: when it happened, by the store's clock.
    func tell(
        of transaction: Transaction, reason: RefundReason? = nil, at date: Int64, _ recorder: Recorder,
        _ connection: Connection
    ) throws {
        guard transaction.kind != .autoRenewableSubscription,
            let version = recorder.notificationVersion(of: transaction.bundleID)
        else { return }
        let customer = try AppCustomers.findKeeping(transaction.accountID, in: transaction.bundleID, connection)
        var content = NotificationContent(rawValue, transaction, at: date, customer, recorder.environment)
        content.consumptionReason = reason?.rawValue
        guard version == .one else { return try Notifications.add(content, as: recorder.next(), connection) }
        let event = NotificationEvent(
            type: rawValue, kind: transaction.kind, isShared: transaction.sharedFrom != nil)
        try Notifications.add(content, of: event, as: recorder.next(), recorder, connection)
    }
}
