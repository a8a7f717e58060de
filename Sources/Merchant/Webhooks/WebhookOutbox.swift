/// A webhook event. It is written in the transaction that makes the change.
public struct WebhookEvent: Sendable, Equatable {
    /// The event's identifier. The receiver uses it to detect duplicates.
    public var eventID: String
    /// The event's type, a ``MerchantEventType`` such as `purchase.redeemed`.
    public var type: String
    /// The JSON body, exactly as signed and sent.
    public var body: [UInt8]
    /// The time of the change, in milliseconds since 1970.
    public var createdAt: Int64
    /// The number of delivery attempts so far.
    public var attempts: Int

    /// Creates an event.
    public init(eventID: String, type: String, body: [UInt8], createdAt: Int64, attempts: Int) {
        self.eventID = eventID
        self.type = type
        self.body = body
        self.createdAt = createdAt
        self.attempts = attempts
    }
}

/// The result of a delivery attempt.
public enum WebhookOutcome: Sendable, Equatable {
    /// The receiver has accepted the event.
    case delivered
    /// The attempt failed. The event is retried at this time (milliseconds since 1970). The reason is recorded for the
    /// operator.
    case retry(at: Int64, reason: String)
    /// The event is no longer retried. It is listed as undelivered until it is replayed.
    case dead(reason: String)
}

/// The result of one attempt to deliver an event.
public struct WebhookAnswer: Sendable, Equatable {
    /// The time at which the request was sent, in milliseconds since 1970.
    public var sentAt: Int64
    /// The time until the answer or the failure, in milliseconds.
    public var duration: Int64
    /// The status of the answer; nil without an answer.
    public var status: Int?
    /// The beginning of the answer's body.
    public var body: [UInt8]

    /// Creates an answer.
    public init(sentAt: Int64, duration: Int64, status: Int?, body: [UInt8] = []) {
        self.sentAt = sentAt
        self.duration = duration
        self.status = status
        self.body = body
    }
}

/// The queue of events to deliver. Several processes may use one outbox; an event is leased to one of them at a time.
public protocol WebhookOutbox: Sendable {
    /// Leases events that are due, oldest first. Other processes cannot take them until the lease ends.
    /// - Parameters:
    ///   - limit: the largest number of new events.
    ///   - retries: the largest number of events that were tried before.
    ///   - now: the time in milliseconds since 1970.
    ///   - leaseEnd: the time at which other processes may take events that were not settled.
    /// - Throws: ``DatabaseError``.
    func takeDueEvents(limit: Int, retries: Int, now: Int64, leaseEnd: Int64) async throws -> [WebhookEvent]
    /// Records the result of a delivery attempt and counts the attempt. An event that another process has settled
    /// meanwhile is not changed. Neither does a failed attempt change an event that was queued again meanwhile.
    /// - Parameters:
    ///   - event: the event as it was taken.
    ///   - answer: the result of the attempt, for the operator.
    /// - Throws: ``DatabaseError``.
    func settle(_ event: WebhookEvent, _ outcome: WebhookOutcome, _ answer: WebhookAnswer, now: Int64) async throws
    /// Returns the time at which the next event is due (milliseconds since 1970); nil when no event waits.
    /// - Throws: ``DatabaseError``.
    func nextDue() async throws -> Int64?
}
