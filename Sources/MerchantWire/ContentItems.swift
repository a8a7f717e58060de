import StoreWire

/// One version of a content item.
public struct ContentVersion: Codable, Sendable, Equatable {
    /// The content item.
    public var item: ContentItemID
    /// The version number: 1, 2, 3… Users receive the newest version.
    public var version: Int64
    /// The SHA-256 of the file, as 64 lower-case hexadecimal digits.
    public var digest: String
    /// The size of the file in bytes.
    public var size: Int64
    /// The media type with which the file is delivered, such as `application/epub+zip`.
    public var mediaType: String
    /// The time of the upload, in milliseconds since 1970.
    public var createdAt: Int64

    /// Creates a description of a version.
    public init(
        item: ContentItemID, version: Int64, digest: String, size: Int64, mediaType: String, createdAt: Int64
    ) {
        self.item = item
        self.version = version
        self.digest = digest
        self.size = size
        self.mediaType = mediaType
        self.createdAt = createdAt
    }
}

/// The newest version of each content item.
public struct ContentList: Codable, Sendable, Equatable {
    /// The versions, in the order of the items' names.
    public var items: [ContentVersion]

    /// Creates a list of content versions.
    public init(items: [ContentVersion]) { self.items = items }
}

/// An event that could not be delivered to the merchant's backend, and is no longer retried.
public struct DeadWebhook: Codable, Sendable, Equatable {
    /// The event's identifier, sent as `webhook-id`.
    public var eventID: String
    /// The event's type, such as `purchase.redeemed`.
    public var type: String
    /// The time of the change, in milliseconds since 1970.
    public var createdAt: Int64
    /// The number of failed delivery attempts.
    public var attempts: Int
    /// The result of the last attempt.
    public var reason: String?

    /// Creates a description of an undelivered event.
    public init(eventID: String, type: String, createdAt: Int64, attempts: Int, reason: String?) {
        self.eventID = eventID
        self.type = type
        self.createdAt = createdAt
        self.attempts = attempts
        self.reason = reason
    }

    private enum CodingKeys: String, CodingKey {
        case eventID = "eventId"
        case type, createdAt, attempts, reason
    }
}

/// A test event that was queued for delivery.
public struct SentWebhook: Codable, Sendable, Equatable {
    /// The event's identifier, sent as `webhook-id`.
    public var eventID: String

    /// Creates the answer to a request for a test event.
    public init(eventID: String) { self.eventID = eventID }

    private enum CodingKeys: String, CodingKey {
        case eventID = "eventId"
    }
}

/// Undelivered events, oldest first.
public struct DeadWebhookList: Codable, Sendable, Equatable {
    /// The undelivered events, at most ``MerchantLimits/page`` of them.
    public var events: [DeadWebhook]

    /// Creates a list of undelivered events.
    public init(events: [DeadWebhook]) { self.events = events }
}

/// The result of checking the ledger.
public struct BooksReport: Codable, Sendable, Equatable {
    /// The number of accounts that were checked. An account holds one user's credits of one currency in one
    /// environment.
    public var accounts: Int64
    /// The number of entries in those accounts.
    public var entries: Int64
    /// The sum of all users' balances, by currency and environment.
    public var outstanding: [Balance]
    /// The errors that were found, one sentence each and at most 100; empty when the ledger is consistent.
    public var findings: [String]

    /// Creates a report.
    public init(accounts: Int64, entries: Int64, outstanding: [Balance], findings: [String]) {
        self.accounts = accounts
        self.entries = entries
        self.outstanding = outstanding
        self.findings = findings
    }

    /// Whether the check found no error.
    public var balances: Bool { findings.isEmpty }
}

/// A note for the merchant's staff, such as a refund of credits that the user had already spent.
public struct UserFlag: Codable, Sendable, Equatable {
    /// A word for programs, such as `refunded_credits_kept`.
    public var code: String
    /// A sentence for the merchant's staff, in English.
    public var detail: String
    /// The time at which the flag was set, in milliseconds since 1970.
    public var createdAt: Int64

    /// Creates a flag.
    public init(code: String, detail: String, createdAt: Int64) {
        self.code = code
        self.detail = detail
        self.createdAt = createdAt
    }
}

/// A user's balances, entitlements and flags, for the merchant's backend.
public struct UserReport: Codable, Sendable, Equatable {
    /// The user's name with the merchant.
    public var userID: UserID
    /// The user's balances in both environments, production first.
    public var balances: [Balance]
    /// Every entitlement that the user has or had.
    public var entitlements: [Entitlement]
    /// The user's flags, oldest first; at most the newest 1,000.
    public var flags: [UserFlag]

    /// Creates a report on a user.
    public init(userID: UserID, balances: [Balance], entitlements: [Entitlement], flags: [UserFlag]) {
        self.userID = userID
        self.balances = balances
        self.entitlements = entitlements
        self.flags = flags
    }

    private enum CodingKeys: String, CodingKey {
        case userID = "userId"
        case balances, entitlements, flags
    }
}
