import StoreWire

/// An App Store Server Notification that the merchant has received and verified.
public struct StoreNotificationRecord: Codable, Sendable, Equatable {
    /// The effect of a notification.
    public enum Outcome: String, Codable, Sendable, CaseIterable {
        /// The merchant applied the notification's transaction to its books.
        case applied
        /// The notification concerns nothing in the books, such as a test.
        case ignored
        /// The merchant recorded what the notification states, and did not grant the purchase that it reports.
        case refused
    }

    /// The notification's identifier (`notificationUUID`).
    public var notificationID: String
    /// The type (`notificationType`). The set of types is open.
    public var type: String
    /// `subtype`; nil when the notification has none.
    public var subtype: String?
    /// The effect; nil for a notification that an earlier version of the merchant received.
    public var outcome: Outcome?
    /// Why the purchase was not granted; nil unless ``outcome`` is `refused`.
    public var refusal: MerchantErrorCode?
    /// The environment; nil when the notification names none, or an earlier version of the merchant received it.
    public var environment: StoreEnvironment?
    /// The app; nil as ``environment``.
    public var bundleID: BundleID?
    /// The transaction; nil for a notification without one.
    public var transactionID: String?
    /// The first transaction of a restored purchase or a subscription; nil as ``transactionID``.
    public var originalTransactionID: String?
    /// The time of the signature (`signedDate`), in milliseconds since 1970.
    public var signedAt: Int64
    /// The time of the first receipt, in milliseconds since 1970.
    public var receivedAt: Int64

    /// Creates a record.
    public init(
        notificationID: String, type: String, subtype: String? = nil, outcome: Outcome? = nil,
        refusal: MerchantErrorCode? = nil, environment: StoreEnvironment? = nil, bundleID: BundleID? = nil,
        transactionID: String? = nil,
        originalTransactionID: String? = nil, signedAt: Int64, receivedAt: Int64
    ) {
        self.notificationID = notificationID
        self.type = type
        self.subtype = subtype
        self.outcome = outcome
        self.refusal = refusal
        self.environment = environment
        self.bundleID = bundleID
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.signedAt = signedAt
        self.receivedAt = receivedAt
    }

    private enum CodingKeys: String, CodingKey {
        case notificationID = "notificationId"
        case type, subtype, outcome, refusal, environment
        case bundleID = "bundleId"
        case transactionID = "transactionId"
        case originalTransactionID = "originalTransactionId"
        case signedAt, receivedAt
    }
}

/// A page of the notifications from stores, the last received first.
public struct StoreNotificationList: Codable, Sendable, Equatable {
    /// The notifications.
    public var notifications: [StoreNotificationRecord]
    /// The value of `before` for the next page; nil on the last page.
    public var next: String?

    /// Creates a page.
    public init(notifications: [StoreNotificationRecord], next: String?) {
        self.notifications = notifications
        self.next = next
    }
}
