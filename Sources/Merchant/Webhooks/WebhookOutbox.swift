/// A change that the merchant's backend is told of, written in the transaction that made it.
public struct WebhookEvent: Sendable, Equatable {
    /// A UUID: the receiver's key against duplicates, and the delivery's.
    public var eventID: String
    /// A ``MerchantEventType``, such as `purchase.redeemed`.
    public var type: String
    /// The JSON body, as it is signed and sent.
    public var body: [UInt8]
    /// Milliseconds since 1970.
    public var createdAt: Int64
    /// Attempts made so far.
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

/// What came of an attempt to deliver an event.
public enum WebhookOutcome: Sendable, Equatable {
    /// The receiver has it.
    case delivered
    /// To be tried again at that moment (milliseconds since 1970). The reason is kept for whoever looks.
    case retry(at: Int64, reason: String)
    /// Given up; listed until it is replayed.
    case dead(reason: String)
}

/// The events that wait to be delivered. Several processes may take from one outbox; an event is leased to one of them at a time.
public protocol WebhookOutbox: Sendable {
    /// Takes events that are due, oldest first, and keeps others from taking them until the lease ends.
    /// - Parameters:
    ///   - limit: at most so many that were never tried.
    ///   - retries: at most so many that were tried before.
    ///   - now: milliseconds since 1970.
    ///   - leaseEnd: when others may take what was neither settled nor taken again.
    func takeDueEvents(limit: Int, retries: Int, now: Int64, leaseEnd: Int64) async throws -> [WebhookEvent]
    /// Records what came of it, and counts the attempt. An event settled by someone else meanwhile stays as it is.
    func settle(_ eventID: String, _ outcome: WebhookOutcome, now: Int64) async throws
    /// When the next event is due (milliseconds since 1970); nil when none waits.
    func nextDue() async throws -> Int64?
}
