import Database
import MerchantWire

/// The attempts to deliver webhook events: the table `webhook_attempts`.
enum WebhookAttempts {
    /// Adds an attempt, and removes the event's oldest one when there are too many.
    static func insert(
        _ answer: WebhookAnswer, _ outcome: WebhookOutcome, of eventID: String, _ connection: Connection
    ) throws {
        let (reason, next): (String?, Int64?) =
            switch outcome {
            case .delivered: (nil, nil)
            case .retry(let due, let reason): (reason, due)
            case .dead(let reason): (reason, nil)
            }
        let newest = try connection.queryOne(
            "SELECT max(attempt) FROM webhook_attempts WHERE event_id = $1", [eventID])
        let attempt = (try newest?.optionalInt64(0) ?? 0) + 1
        try connection.execute(
            """
            INSERT INTO webhook_attempts (event_id, attempt, sent_at, duration, status, answer, reason, next_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            """,
            [
                eventID, attempt, answer.sentAt, answer.duration, answer.status, answer.text,
                reason.map { String($0.prefix(500)) }, next,
            ])
        guard attempt > MerchantLimits.webhookAttempts else { return }
        try connection.execute(
            "DELETE FROM webhook_attempts WHERE event_id = $1 AND attempt <= $2",
            [eventID, attempt - Int64(MerchantLimits.webhookAttempts)])
    }

    /// Returns an event's attempts, newest first.
    static func newest(of eventID: String, _ connection: Connection) throws -> [WebhookAttempt] {
        try connection.query(
            """
            SELECT attempt, sent_at, duration, status, answer, reason, next_at FROM webhook_attempts
            WHERE event_id = $1 ORDER BY attempt DESC LIMIT $2
            """, [eventID, MerchantLimits.webhookAttempts]
        ).map { row in
            WebhookAttempt(
                attempt: try row.int64(0), sentAt: try row.int64(1), duration: try row.int64(2),
                status: try row.optionalInt64(3).map { Int($0) }, answer: try row.optionalString(4),
                reason: try row.optionalString(5), nextAttemptAt: try row.optionalInt64(6))
        }
    }

    /// Removes the attempts of an event.
    static func remove(of eventID: String, _ connection: Connection) throws {
        try connection.execute("DELETE FROM webhook_attempts WHERE event_id = $1", [eventID])
    }
}

extension WebhookAnswer {
    /// The body as text, without NUL, which PostgreSQL does not take; nil for an empty body.
    fileprivate var text: String? {
        let bytes = body.prefix(MerchantLimits.webhookAnswer).filter { $0 != 0 }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
