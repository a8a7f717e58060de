import Database
import MerchantWire

/// The outbox in the merchant's database.
struct DatabaseOutbox: WebhookOutbox {
    let database: Database
    /// Called at each step, for tests that kill the process.
    var onStep: (@Sendable (MerchantStep) -> Void)?

    /// Inserts an event, due at once, unless it was inserted before.
    static func insert(
        _ id: String, _ type: MerchantEventType, _ body: String, at now: Int64, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO webhook_events (event_id, type, body, created_at, state, due_at, attempts)
            VALUES ($1, $2, $3, $4, 'waiting', $4, 0) ON CONFLICT (event_id) DO NOTHING
            """, [id, type.rawValue, body, now])
    }

    func takeDueEvents(limit: Int, retries: Int, now: Int64, leaseEnd: Int64) async throws -> [WebhookEvent] {
        let events = try await database.write { connection in
            let rows = try connection.query(
                """
                UPDATE webhook_events SET due_at = $2 WHERE event_id IN (
                    SELECT event_id FROM (
                        SELECT event_id FROM webhook_events WHERE state = 'waiting' AND attempts = 0 AND due_at <= $1
                        ORDER BY due_at, event_id LIMIT $3) AS new_events
                    UNION ALL
                    SELECT event_id FROM (
                        SELECT event_id FROM webhook_events WHERE state = 'waiting' AND attempts > 0 AND due_at <= $1
                        ORDER BY due_at, event_id LIMIT $4) AS tried_events)
                RETURNING event_id, type, body, created_at, attempts
                """, [now, leaseEnd, limit, retries])
            return try rows.map { row in
                WebhookEvent(
                    eventID: try row.string(0), type: try row.string(1), body: Array(try row.string(2).utf8),
                    createdAt: try row.int64(3), attempts: try row.int(4))
            }.sorted { ($0.createdAt, $0.eventID) < ($1.createdAt, $1.eventID) }
        }
        if !events.isEmpty { onStep?(.webhookTaken) }
        return events
    }

    func settle(_ eventID: String, _ outcome: WebhookOutcome, now: Int64) async throws {
        onStep?(.webhookSent)
        try await database.write { connection in
            switch outcome {
            case .delivered:
                try connection.execute(
                    "DELETE FROM webhook_events WHERE event_id = $1 AND state = 'waiting'", [eventID])
            case .retry(let due, let reason):
                try connection.execute(
                    """
                    UPDATE webhook_events SET due_at = $2, attempts = attempts + 1, reason = $3
                    WHERE event_id = $1 AND state = 'waiting'
                    """, [eventID, due, String(reason.prefix(500))])
            case .dead(let reason):
                try connection.execute(
                    """
                    UPDATE webhook_events SET state = 'dead', attempts = attempts + 1, reason = $2
                    WHERE event_id = $1 AND state = 'waiting'
                    """, [eventID, String(reason.prefix(500))])
            }
        }
        onStep?(.webhookSettled)
    }

    func nextDue() async throws -> Int64? {
        try await database.read { connection in
            // One lookup in each of the two indexes.
            let row = try connection.queryOne(
                """
                SELECT (SELECT min(due_at) FROM webhook_events WHERE state = 'waiting' AND attempts = 0),
                    (SELECT min(due_at) FROM webhook_events WHERE state = 'waiting' AND attempts > 0)
                """)
            return [try row?.optionalInt64(0), try row?.optionalInt64(1)].compactMap { $0 }.min()
        }
    }
}

extension Merchant {
    /// The outbox with the events to deliver.
    public var outbox: any WebhookOutbox { DatabaseOutbox(database: database, onStep: onStep) }

    /// Returns events that could not be delivered and are no longer retried, oldest first.
    public func deadWebhooks(limit: Int = MerchantLimits.page) async throws -> DeadWebhookList {
        let limit = min(max(limit, 1), MerchantLimits.page)
        return try await database.read { connection in
            let rows = try connection.query(
                """
                SELECT event_id, type, created_at, attempts, reason FROM webhook_events
                WHERE state = 'dead' ORDER BY created_at, event_id LIMIT $1
                """, [limit])
            return DeadWebhookList(
                events: try rows.map { row in
                    DeadWebhook(
                        eventID: try row.string(0), type: try row.string(1), createdAt: try row.int64(2),
                        attempts: try row.int(3), reason: try row.optionalString(4))
                })
        }
    }

    /// Queues an undelivered event again, beginning with its first attempt.
    /// - Throws: ``MerchantError`` `not_found` when no undelivered event has this identifier.
    public func replayWebhook(_ eventID: String) async throws {
        let now = self.now()
        let count = try await database.write { connection in
            try connection.execute(
                """
                UPDATE webhook_events SET state = 'waiting', due_at = $2, attempts = 0
                WHERE event_id = $1 AND state = 'dead'
                """, [eventID, now])
        }
        guard count == 1 else { throw MerchantError(.notFound, "There is no dead event with this identifier.") }
        outboxSignal.send()
    }

    /// Queues all undelivered events again, beginning with the first attempt of each. Events that fail meanwhile are
    /// not queued a second time.
    /// - Returns: the number of events.
    public func replayDeadWebhooks() async throws -> Int {
        let now = self.now()
        var count = 0
        var last: (createdAt: Int64, eventID: String) = (.min, "")
        while true {
            let (createdAt, eventID) = last
            let replayed = try await database.write { connection in
                try connection.query(
                    """
                    UPDATE webhook_events SET state = 'waiting', due_at = $1, attempts = 0 WHERE event_id IN (
                        SELECT event_id FROM webhook_events
                        WHERE state = 'dead' AND (created_at > $2 OR (created_at = $2 AND event_id > $3))
                        ORDER BY created_at, event_id LIMIT $4)
                    RETURNING created_at, event_id
                    """, [now, createdAt, eventID, MerchantLimits.page]
                ).map { (try $0.int64(0), try $0.string(1)) }
            }
            count += replayed.count
            outboxSignal.send()
            guard replayed.count == MerchantLimits.page, let newest = replayed.max(by: { $0 < $1 }) else {
                return count
            }
            last = newest
        }
    }
}
