/// App Store Server Notifications.
extension ControlAPI {
    /// The URL that an app's notifications are sent to.
    public struct NotificationReceiver: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The URL: `https`, or `http` on the store's machine.
        public var url: String
        /// The origins that redirects may lead to, beside the URL's own: `https://hooks.example.com`.
        public var redirectOrigins: [String]
        /// The version of the notifications, 1 or 2.
        public var version: Int

        /// Creates a receiver.
        public init(bundleId: String, url: String, redirectOrigins: [String], version: Int = 2) {
            self.bundleId = bundleId
            self.url = url
            self.redirectOrigins = redirectOrigins
            self.version = version
        }
    }

    /// A URL to set.
    public struct NotificationReceiverChange: Codable, Sendable, Equatable {
        /// The URL: `https`, or `http` on the store's machine, without a user name and a password.
        public var url: String
        /// The origins that redirects may lead to, beside the URL's own, at most 16; nil for none.
        public var redirectOrigins: [String]?
        /// The version of the notifications, 1 or 2; nil for 2.
        public var version: Int?

        /// Creates a change.
        public init(url: String, redirectOrigins: [String]? = nil, version: Int? = nil) {
            self.url = url
            self.redirectOrigins = redirectOrigins
            self.version = version
        }
    }

    /// A sample to send: a notification of a type that nothing in the store causes.
    public struct NotificationSample: Codable, Sendable, Equatable {
        /// The type, such as `EXTERNAL_PURCHASE_TOKEN`.
        public var notificationType: String
        /// The subtype; nil for none.
        public var subtype: String?

        /// Creates a sample.
        public init(notificationType: String, subtype: String? = nil) {
            self.notificationType = notificationType
            self.subtype = subtype
        }
    }

    /// An attempt to send a notification.
    public struct SendAttempt: Codable, Sendable, Equatable {
        /// When the attempt began, in ISO 8601 by the store's clock.
        public var attemptDate: String
        /// Apple's `sendAttemptResult`, such as `SUCCESS`.
        public var sendAttemptResult: String

        /// Creates an attempt.
        public init(attemptDate: String, sendAttemptResult: String) {
            self.attemptDate = attemptDate
            self.sendAttemptResult = sendAttemptResult
        }
    }

    /// A notification to an app's server, with Apple's names where Apple has them.
    public struct Notification: Codable, Sendable, Equatable {
        /// The place among all notifications. A list continues `before` it.
        public var number: String
        /// The identifier, the same for all attempts. Version 1 does not send it.
        public var notificationUUID: String
        /// The type, such as `DID_RENEW`.
        public var notificationType: String
        /// The subtype; nil for none.
        public var subtype: String?
        /// The app's bundle identifier.
        public var bundleId: String
        /// When it happened, in ISO 8601 by the store's clock.
        public var signedDate: String
        /// The first transaction of the purchase; nil for a notification that concerns no purchase.
        public var originalTransactionId: String?
        /// The transaction; nil for a notification that concerns no purchase.
        public var transactionId: String?
        /// `waiting`, `delivered` or `failed`.
        public var state: String
        /// When it is sent again, in ISO 8601; nil when it is sent as soon as possible, or not any more.
        public var nextAttemptDate: String?
        /// The attempts, oldest first, at most six.
        public var sendAttempts: [SendAttempt]
        /// The signed payload; nil in lists, before the first attempt, and for version 1.
        public var signedPayload: String?
        /// Whether it is a sample, which reports nothing that happened.
        public var isSample: Bool
        /// The version, 1 or 2.
        public var version: Int
        /// The body of version 1, JSON without the app's shared secret; nil in lists, before the first attempt, and for
        /// version 2.
        public var body: String?

        /// Creates a notification.
        public init(
            number: String, notificationUUID: String, notificationType: String, subtype: String?, bundleId: String,
            signedDate: String, originalTransactionId: String?, transactionId: String?, state: String,
            nextAttemptDate: String?, sendAttempts: [SendAttempt], signedPayload: String?, isSample: Bool = false,
            version: Int = 2, body: String? = nil
        ) {
            self.number = number
            self.notificationUUID = notificationUUID
            self.notificationType = notificationType
            self.subtype = subtype
            self.bundleId = bundleId
            self.signedDate = signedDate
            self.originalTransactionId = originalTransactionId
            self.transactionId = transactionId
            self.state = state
            self.nextAttemptDate = nextAttemptDate
            self.sendAttempts = sendAttempts
            self.signedPayload = signedPayload
            self.isSample = isSample
            self.version = version
            self.body = body
        }
    }
}
