import StoreWire

/// One version of a content item.
public struct ContentVersion: Codable, Sendable, Equatable {
    public var item: ContentItemID
    /// 1, 2, 3…; the newest is delivered.
    public var version: Int64
    /// SHA-256 of the file, 64 lower-case digits.
    public var digest: String
    /// In bytes.
    public var size: Int64
    /// As it is delivered: `application/epub+zip`.
    public var mediaType: String
    /// Milliseconds since 1970.
    public var createdAt: Int64

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
    public var items: [ContentVersion]

    public init(items: [ContentVersion]) { self.items = items }
}

/// A change that could not be delivered to the merchant's backend.
public struct DeadWebhook: Codable, Sendable, Equatable {
    public var eventID: String
    public var type: String
    /// Milliseconds since 1970.
    public var createdAt: Int64
    public var attempts: Int
    /// What came of the last attempt.
    public var reason: String?

    public init(eventID: String, type: String, createdAt: Int64, attempts: Int, reason: String?) {
        self.eventID = eventID
        self.type = type
        self.createdAt = createdAt
        self.attempts = attempts
        self.reason = reason
    }
}

/// A test event that waits to be delivered.
public struct SentWebhook: Codable, Sendable, Equatable {
    /// `webhook-id` of its deliveries.
    public var eventID: String

    public init(eventID: String) { self.eventID = eventID }
}

/// Dead webhooks, oldest first.
public struct DeadWebhookList: Codable, Sendable, Equatable {
    public var events: [DeadWebhook]

    public init(events: [DeadWebhook]) { self.events = events }
}

/// What the books were found to be.
public struct BooksReport: Codable, Sendable, Equatable {
    /// Accounts of a user and currency that were proved.
    public var accounts: Int64
    /// Entries that were summed up.
    public var entries: Int64
    /// What all users have together, by currency.
    public var outstanding: [Balance]
    /// What does not fit, at most 100 sentences; empty when the books balance.
    public var findings: [String]

    public init(accounts: Int64, entries: Int64, outstanding: [Balance], findings: [String]) {
        self.accounts = accounts
        self.entries = entries
        self.outstanding = outstanding
        self.findings = findings
    }

    /// Whether nothing was found.
    public var balances: Bool { findings.isEmpty }
}

/// Something that the merchant should look at, such as a refund of credits that were spent already.
public struct UserFlag: Codable, Sendable, Equatable {
    public var code: String
    public var detail: String
    /// Milliseconds since 1970.
    public var createdAt: Int64

    public init(code: String, detail: String, createdAt: Int64) {
        self.code = code
        self.detail = detail
        self.createdAt = createdAt
    }
}

/// A user as the merchant's backend sees one.
public struct UserReport: Codable, Sendable, Equatable {
    public var userID: UserID
    public var balances: [Balance]
    public var entitlements: [Entitlement]
    public var flags: [UserFlag]

    public init(userID: UserID, balances: [Balance], entitlements: [Entitlement], flags: [UserFlag]) {
        self.userID = userID
        self.balances = balances
        self.entitlements = entitlements
        self.flags = flags
    }
}
