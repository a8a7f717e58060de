/// The state of a webhook event.
public enum WebhookState: String, Codable, Sendable, CaseIterable {
    /// The event is to be sent, for the first time or again.
    case waiting
    /// The backend has accepted the event.
    case delivered
    /// The server has given up on the event. It is sent again only on request.
    case dead
}

/// A webhook event, without its body.
public struct WebhookEventSummary: Codable, Sendable, Equatable {
    /// The event's identifier, sent as `webhook-id`. Identifiers rise with time.
    public var eventID: String
    /// The event's type, such as `purchase.redeemed`.
    public var type: String
    /// The state.
    public var state: WebhookState
    /// The time of the change that the event reports, in milliseconds since 1970.
    public var createdAt: Int64
    /// The number of attempts since the event was written or last replayed.
    public var attempts: Int
    /// The reason why the last attempt failed; nil when it did not, or there was none.
    public var reason: String?
    /// The time of the next attempt in milliseconds since 1970; nil unless the event is waiting.
    public var nextAttemptAt: Int64?
    /// The time of the delivery, or of the last attempt of a dead event, in milliseconds since 1970; nil while waiting.
    public var settledAt: Int64?

    /// Creates a description of an event.
    public init(
        eventID: String, type: String, state: WebhookState, createdAt: Int64, attempts: Int, reason: String? = nil,
        nextAttemptAt: Int64? = nil, settledAt: Int64? = nil
    ) {
        self.eventID = eventID
        self.type = type
        self.state = state
        self.createdAt = createdAt
        self.attempts = attempts
        self.reason = reason
        self.nextAttemptAt = nextAttemptAt
        self.settledAt = settledAt
    }

    private enum CodingKeys: String, CodingKey {
        case eventID = "eventId"
        case type, state, createdAt, attempts, reason, nextAttemptAt, settledAt
    }
}

/// A page of webhook events, newest first.
public struct WebhookEventList: Codable, Sendable, Equatable {
    /// The events. A page of one state or purchase may be short or empty although ``next`` is set: the server looks at
    /// a limited number of events.
    public var events: [WebhookEventSummary]
    /// The value of `before` for the next page; nil on the last page.
    public var next: String?

    /// Creates a page of events.
    public init(events: [WebhookEventSummary], next: String?) {
        self.events = events
        self.next = next
    }
}

/// One attempt to deliver a webhook event.
public struct WebhookAttempt: Codable, Sendable, Equatable {
    /// The number of the attempt, from 1. A replay does not restart the numbers.
    public var attempt: Int64
    /// The time at which the request was sent, in milliseconds since 1970.
    public var sentAt: Int64
    /// The time until the answer or the failure, in milliseconds.
    public var duration: Int64
    /// The status of the answer; nil without an answer.
    public var status: Int?
    /// The first ``MerchantLimits/webhookAnswer`` bytes of the answer's body; nil when it was empty.
    public var answer: String?
    /// The reason why the attempt failed; nil for a delivery.
    public var reason: String?
    /// The time that was set for the next attempt, in milliseconds since 1970; nil when there was none.
    public var nextAttemptAt: Int64?

    /// Creates a description of an attempt.
    public init(
        attempt: Int64, sentAt: Int64, duration: Int64, status: Int?, answer: String?, reason: String?,
        nextAttemptAt: Int64?
    ) {
        self.attempt = attempt
        self.sentAt = sentAt
        self.duration = duration
        self.status = status
        self.answer = answer
        self.reason = reason
        self.nextAttemptAt = nextAttemptAt
    }
}

/// A webhook event with its body and the attempts to deliver it.
public struct WebhookEventDescription: Codable, Sendable, Equatable {
    /// The event.
    public var event: WebhookEventSummary
    /// The JSON body, exactly as signed and sent.
    public var body: String
    /// The newest attempts, newest first; at most ``MerchantLimits/webhookAttempts``.
    public var attempts: [WebhookAttempt]

    /// Creates a description of an event.
    public init(event: WebhookEventSummary, body: String, attempts: [WebhookAttempt]) {
        self.event = event
        self.body = body
        self.attempts = attempts
    }
}
