import Database
import StoreWire

/// Notifications of what the feed has.
extension Notifications {
    /// Writes the notification of news of a subscription, if the app has a receiver.
    /// - Parameters:
    ///   - number: the number of the news in the feed.
    ///   - snapshot: the state of the subscription when the news was written; nil when the ledger lacks its period,
    ///     and then there is nothing to send.
    ///   - transaction: the transaction of the news; nil for the last period.
    static func add(
        _ news: SubscriptionNews, as number: TransactionID, of subscription: Subscription,
        _ snapshot: SubscriptionSnapshot?, _ transaction: Transaction?, _ recorder: Recorder, _ connection: Connection
    ) throws {
        guard let snapshot, recorder.notifies(subscription.bundleID) else { return }
        let customer = try AppCustomers.find(subscription.accountID, in: subscription.bundleID, connection)
        let content = NotificationContent(
            news, of: subscription, snapshot, transaction, customer, recorder.environment)
        try add(content, as: number, connection)
    }

    /// Writes the notification that an extension of all subscriptions of a product is complete, if the app has a
    /// receiver.
    /// - Parameters:
    ///   - summary: an object with the member `summary`.
    ///   - number: the number of the news in the feed.
    static func add(
        summary: String, of bundleID: BundleID, at date: Int64, as number: TransactionID, _ recorder: Recorder,
        _ connection: Connection
    ) throws {
        guard recorder.notifies(bundleID) else { return }
        try add(.summary(summary, bundleID, at: date), as: number, connection)
    }
}
