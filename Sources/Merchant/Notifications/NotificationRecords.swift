import Database
import MerchantWire
import StoreWire

/// The table `notifications`: what stores have sent. A notification that stands in it has been applied.
enum NotificationRecords {
    /// Inserts a notification. Returns false when it was received before.
    static func insert(
        _ notification: VerifiedNotification, _ outcome: StoreNotificationRecord.Outcome, at now: Int64,
        _ connection: Connection
    ) throws -> Bool {
        try connection.execute(
            """
            INSERT INTO notifications (notification_id, type, subtype, signed_at, received_at, outcome, environment,
                bundle_id, transaction_id, original_transaction_id)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (notification_id) DO NOTHING
            """,
            [
                notification.notificationID, notification.type, notification.subtype, notification.signedAt, now,
                outcome.rawValue, notification.environment?.rawValue, notification.bundleID?.rawValue,
                notification.purchase?.transactionID, notification.purchase?.originalTransactionID,
            ]) == 1
    }

    /// Records that the purchase of a notification was not granted.
    static func refuse(_ notificationID: String, _ code: MerchantErrorCode, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE notifications SET outcome = $2 WHERE notification_id = $1",
            [notificationID, refusalPrefix + code.rawValue])
    }

    /// The beginning of the column `outcome` of a refused notification, before the code.
    private static let refusalPrefix = StoreNotificationRecord.Outcome.refused.rawValue + "/"

    /// Returns notifications, the last received first.
    static func page(
        before cursor: TimeCursor?, limit: Int, _ connection: Connection
    ) throws -> [StoreNotificationRecord] {
        try connection.query(
            """
            SELECT notification_id, type, subtype, outcome, environment, bundle_id, transaction_id,
                original_transaction_id, signed_at, received_at
            FROM notifications WHERE (received_at, notification_id) < ($1, $2)
            ORDER BY received_at DESC, notification_id DESC LIMIT $3
            """, [cursor?.time ?? Int64.max, cursor?.key ?? "", limit]
        ).map { row in
            let outcome = try row.optionalString(3) ?? ""
            let isRefused = outcome.utf8.starts(with: refusalPrefix.utf8)
            return StoreNotificationRecord(
                notificationID: try row.string(0), type: try row.string(1), subtype: try row.optionalString(2),
                outcome: isRefused ? .refused : StoreNotificationRecord.Outcome(rawValue: outcome),
                refusal: isRefused
                    ? MerchantErrorCode(String(outcome.dropFirst(refusalPrefix.count))) : nil,
                environment: try row.optionalString(4).flatMap { StoreEnvironment(rawValue: $0) },
                bundleID: try row.optionalString(5).map { BundleID($0) }, transactionID: try row.optionalString(6),
                originalTransactionID: try row.optionalString(7), signedAt: try row.int64(8),
                receivedAt: try row.int64(9))
        }
    }

    /// Removes the oldest notifications that were received before a time.
    /// - Returns: the number of notifications removed, at most `limit`.
    static func remove(before end: Int64, limit: Int, _ connection: Connection) throws -> Int {
        try connection.execute(
            """
            DELETE FROM notifications WHERE notification_id IN (
                SELECT notification_id FROM notifications WHERE received_at < $1
                ORDER BY received_at, notification_id LIMIT $2)
            """, [end, limit])
    }
}
