import StoreWire

/// A notification to an app's server: a row of the outbox.
public struct ServerNotification: Sendable, Equatable {
    /// The state of a notification's delivery.
    public enum State: String, Sendable, CaseIterable {
        /// It is still to be sent, for the first time or again.
        case waiting
        /// The server received it.
        case delivered
        /// The server did not receive it, and the store does not try again.
        case failed
    }

    /// The place among all notifications. News of subscriptions have the same number in the feed.
    public let number: Int64
    /// Apple's `notificationUUID`, in lower case. Notifications of version 1 do not state it.
    public let notificationID: String
    /// The app.
    public let bundleID: BundleID
    /// Apple's `notificationType`, or `notification_type` of version 1.
    public let type: String
    /// Apple's `subtype`; nil for none.
    public let subtype: String?
    /// When it happened, in milliseconds since 1970 by the store's clock: `signedDate` of the payload.
    public let date: Int64
    /// The first transaction of the purchase; nil for a notification that concerns no purchase, such as a test.
    public let originalTransactionID: TransactionID?
    /// The transaction that it concerns.
    public let transactionID: TransactionID?
    /// The state of its delivery.
    public let state: State
    /// When it is sent again, by the store's clock; nil when it is sent as soon as possible, or not any more.
    public let nextAttemptDate: Int64?
    /// The attempts to send it, oldest first, at most ``SendAttempt/most``.
    public let attempts: [SendAttempt]
    /// The payload as it was first signed; nil before the first attempt. Version 1 signs nothing: it is the JSON of the
    /// body, without the app's shared secret.
    public let signedPayload: String?
    /// The version of the notification: what the receiver got when it was written.
    public let version: NotificationVersion
    /// Whether it is a sample, which reports nothing that happened.
    public let isSample: Bool
}

/// The notifications that the operator asks for. Properties that are nil select every row.
public struct NotificationFilter: Sendable, Equatable {
    /// The most rows that one request looks at.
    public static let mostLooked = 20_000
    /// Apple's types of notifications, also those that the store does not send.
    public static var types: Set<String> { NotificationWord.types }

    /// The app.
    public var bundleID: BundleID?
    /// The state.
    public var state: ServerNotification.State?
    /// Apple's `notificationType`.
    public var type: String?
    /// The number before which the rows begin; nil for the newest.
    public var before: Int64?
    /// The most rows, 1 to 200.
    public var limit: Int

    /// Creates a filter.
    public init(
        bundleID: BundleID? = nil, state: ServerNotification.State? = nil, type: String? = nil, before: Int64? = nil,
        limit: Int = 50
    ) {
        self.bundleID = bundleID
        self.state = state
        self.type = type
        self.before = before
        self.limit = min(max(limit, 1), 200)
    }
}

/// The words of App Store Server Notifications V2.
enum NotificationWord {
    /// The type of a test notification.
    static let test = "TEST"

    /// The types that Apple's documentation and libraries list, also those that the store does not send.
    static let types: Set<String> = [
        "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW", "DID_RENEW",
        "EXPIRED", "EXTERNAL_PURCHASE_TOKEN", "GRACE_PERIOD_EXPIRED", "METADATA_UPDATE", "MIGRATION", "OFFER_REDEEMED",
        "ONE_TIME_CHARGE", "PRICE_CHANGE", "PRICE_INCREASE", "REFUND", "REFUND_DECLINED", "REFUND_REVERSED",
        "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "RESCIND_CONSENT", "REVOKE", "SUBSCRIBED", "TEST", "UNCLAIM_SEATS",
    ]

    /// The subtypes that Apple's documentation and libraries list.
    static let subtypes: Set<String> = [
        "ACCEPTED", "ACTIVE_TOKEN_REMINDER", "AUTO_RENEW_DISABLED", "AUTO_RENEW_ENABLED", "BILLING_RECOVERY",
        "BILLING_RETRY", "CREATED", "DECREASE_QUANTITY", "DOWNGRADE", "FAILURE", "GRACE_PERIOD", "INCREASE_QUANTITY",
        "INITIAL_BUY", "PENDING", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE", "RESUBSCRIBE", "SEATS", "SUMMARY",
        "UNREPORTED", "UPGRADE", "VOLUNTARY",
    ]
}
