import Database
import StoreWire

/// Notifications of the feed's news.
extension Notifications {
    /// Writes the notification of news of a subscription, if the app has a receiver. For version 1 it can be none or
    /// several.
    /// - Parameters:
    ///   - number: the number of the news in the feed.
    ///   - snapshot: the state of the subscription when the news was written; nil when the ledger lacks its period,
    ///     and then there is nothing to send.
    ///   - transaction: the transaction of the news; nil for the last period.
    static func add(
        _ news: SubscriptionNews, as number: TransactionID, of subscription: Subscription,
        _ snapshot: SubscriptionSnapshot?, _ transaction: Transaction?, _ recorder: Recorder, _ connection: Connection
    ) throws {
        guard let snapshot, let version = recorder.notificationVersion(of: subscription.bundleID) else { return }
        let customer = try AppCustomers.findKeeping(subscription.accountID, in: subscription.bundleID, connection)
        let content = NotificationContent(
            news, of: subscription, snapshot, transaction, customer, recorder.environment)
        guard version == .one else { return try add(content, as: number, connection) }
        let earlier = try news.subtype == .resubscribe ? Transactions.earlier(than: snapshot.period, connection) : nil
        let event = NotificationEvent(
            type: content.type, subtype: content.subtype, kind: .autoRenewableSubscription,
            isShared: subscription.purchaserID != nil,
            isOtherProduct: earlier.map { $0.productID != snapshot.period.productID } ?? false,
            isCancelled: subscription.expirationIntent == nil)
        try add(content, of: event, as: number, recorder, connection)
    }

    /// Writes the notifications of version 1 about an event, if it knows the event.
    /// - Parameters:
    ///   - content: what version 2 says.
    ///   - number: the number of the first one. The others get numbers of their own.
    static func add(
        _ content: NotificationContent, of event: NotificationEvent, as number: TransactionID, _ recorder: Recorder,
        _ connection: Connection
    ) throws {
        for (index, type) in event.typesOfVersion1.enumerated() {
            try add(content.told(as: type), as: index == 0 ? number : recorder.next(), connection)
        }
    }

    /// Writes the notification that an extension of all subscriptions of a product is complete, if the app has a
    /// receiver of version 2.
    /// - Parameters:
    ///   - summary: an object with the member `summary`.
    ///   - number: the number of the news in the feed.
    static func add(
        summary: String, of bundleID: BundleID, at date: Int64, as number: TransactionID, _ recorder: Recorder,
        _ connection: Connection
    ) throws {
        guard recorder.notificationVersion(of: bundleID) == .two else { return }
        try add(.summary(summary, bundleID, at: date), as: number, connection)
    }
}
