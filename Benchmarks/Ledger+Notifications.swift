import Database
import Foundation

extension Ledger {
    /// The `notificationUUID` of a notification that waits, by its number.
    static func notificationID(_ number: Int) -> String {
        String(format: "00000000-0000-4000-8000-%012d", number)
    }

    /// Writes the notifications that wait. They tell of renewals that happen now, each of another subscription, so that
    /// none waits for another.
    func writeNotifications(_ database: Database) async throws {
        let (now, most) = (Int64(Date().timeIntervalSince1970 * 1000), 4_000)
        for start in stride(from: 0, to: notifications, by: most) {
            let numbers = start..<min(start + most, notifications)
            try await database.write { connection in
                for number in numbers { try insertNotification(number, at: now, connection) }
            }
        }
    }

    private func insertNotification(_ number: Int, at date: Int64, _ connection: Connection) throws {
        let id = transactionID(number)
        let (transaction, renewal) = Self.payloads(id, at: date)
        try connection.execute(
            """
            INSERT INTO notifications (number, notification_id, bundle_id, account_id, lane, type, date, transaction_id,
                status, transaction_info, renewal_info, state, due_at, attempts, send_log)
            VALUES ($1, $2, $3, $4, $1, 'DID_RENEW', $5, $1, 1, $6, $7, 'waiting', 0, 0, '')
            """,
            [
                id, Self.notificationID(number), SampleReceipts.bundleID, Self.accountID(number % accounts), date,
                transaction, renewal,
            ])
    }

    /// The payloads of a renewal, with the members that the store writes.
    private static func payloads(_ id: Int64, at date: Int64) -> (transaction: String, renewal: String) {
        let (bundleID, product) = (SampleReceipts.bundleID, "\(SampleReceipts.bundleID).monthly")
        let customer = 700_000_000_000_000_000 + id
        let transaction = """
            {"transactionId":"\(id)","originalTransactionId":"\(id)","webOrderLineItemId":"\(id)",\
            "bundleId":"\(bundleID)","productId":"\(product)","subscriptionGroupIdentifier":"BE9C0003",\
            "purchaseDate":\(date),"originalPurchaseDate":\(date),"expiresDate":\(date + month),"quantity":1,\
            "type":"Auto-Renewable Subscription","inAppOwnershipType":"PURCHASED","signedDate":\(date),\
            "environment":"Sandbox","storefront":"USA","storefrontId":"143441","transactionReason":"RENEWAL",\
            "price":4990,"currency":"USD","appTransactionId":"\(customer)"}
            """
        let renewal = """
            {"originalTransactionId":"\(id)","productId":"\(product)","autoRenewProductId":"\(product)",\
            "autoRenewStatus":1,"signedDate":\(date),"environment":"Sandbox","recentSubscriptionStartDate":\(date),\
            "renewalDate":\(date + month),"renewalPrice":4990,"currency":"USD","appTransactionId":"\(customer)"}
            """
        return (transaction, renewal)
    }
}
