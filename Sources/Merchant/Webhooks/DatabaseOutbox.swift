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

    func settle(_ event: WebhookEvent, _ outcome: WebhookOutcome, _ answer: WebhookAnswer, now: Int64) async throws {
        onStep?(.webhookSent)
        try await database.write { connection in
            let count =
                switch outcome {
                case .delivered:
                    try connection.execute(
                        """
                        UPDATE webhook_events SET state = 'delivered', attempts = attempts + 1, reason = NULL,
                            settled_at = $2
                        WHERE event_id = $1 AND state = 'waiting'
                        """, [event.eventID, now])
                // With another number of attempts, the event was queued again after this attempt began.
                case .retry(let due, let reason):
                    try connection.execute(
                        """
                        UPDATE webhook_events SET due_at = $2, attempts = attempts + 1, reason = $3
                        WHERE event_id = $1 AND state = 'waiting' AND attempts = $4
                        """, [event.eventID, due, String(reason.prefix(500)), event.attempts])
                case .dead(let reason):
                    try connection.execute(
                        """
                        UPDATE webhook_events SET state = 'dead', attempts = attempts + 1, reason = $2, settled_at = $3
                        WHERE event_id = $1 AND state = 'waiting' AND attempts = $4
                        """, [event.eventID, String(reason.prefix(500)), now, event.attempts])
                }
            if count == 1 { try WebhookAttempts.insert(answer, outcome, of: event.eventID, connection) }
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
    /// - Throws: ``DatabaseError``.
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
                UPDATE webhook_events SET state = 'waiting', due_at = $2, attempts = 0, settled_at = NULL
                WHERE event_id = $1 AND state = 'dead'
                """, [eventID, now])
        }
        guard count == 1 else { throw MerchantError(.notFound, "There is no dead event with this identifier.") }
        outboxSignal.send()
    }

    /// Queues all undelivered events again, beginning with the first attempt of each. Events that fail meanwhile are
    /// not queued a second time.
    /// - Returns: the number of events.
    /// - Throws: ``DatabaseError``.
    public func replayDeadWebhooks() async throws -> Int {
        let now = self.now()
        var count = 0
        var last: (createdAt: Int64, eventID: String) = (.min, "")
        while true {
            let (createdAt, eventID) = last
            let replayed = try await database.write { connection in
                try connection.query(
                    """
                    UPDATE webhook_events SET state = 'waiting', due_at = $1, attempts = 0, settled_at = NULL
                    WHERE event_id IN (
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

/// Events of all states, for the operator.
extension Merchant {
    /// How long a delivered event is kept, in milliseconds: 7 days.
    public static let webhooksKeptFor: Int64 = 7 * 86_400_000
    /// The most delivered events that are kept.
    public static let deliveredWebhooksKept = 10_000
    /// The most events that a list of one state or purchase looks at.
    static let webhooksLookedAt = 20_000

    private static let summaryColumns = "event_id, type, state, created_at, attempts, reason, due_at, settled_at"

    /// Returns a page of events, newest first.
    /// - Parameters:
    ///   - state: the only state to list; nil for all.
    ///   - purchase: the only purchase to list the events of, by its key in the books; nil for all events. A page of
    ///     one state or purchase looks at 20,000 events at most, so that it may be short or empty although there are
    ///     more.
    ///   - before: ``WebhookEventList/next`` of the previous page; nil for the first page.
    ///   - limit: the most events, 1 to ``MerchantLimits/page``.
    /// - Throws: ``MerchantError`` `invalid_request` for a `before` or a purchase that contains NUL.
    public func webhookEvents(
        _ state: WebhookState? = nil, about purchase: String? = nil, before: String? = nil,
        limit: Int = MerchantLimits.usualPage
    ) async throws -> WebhookEventList {
        guard before?.utf8.contains(0) != true, purchase?.utf8.contains(0) != true else {
            throw MerchantError(
                .invalidRequest,
                "Invalid “before” or “purchase”. Expected the “next” of the page before, and a purchase's key.")
        }
        let member = try purchase.map { try MerchantEvent.member(purchase: $0) }
        let limit = min(max(limit, 1), MerchantLimits.page)
        return try await database.read { connection in
            guard state != nil || member != nil else {
                let (range, bound) = Self.range(before, 2)
                let rows = try connection.query(
                    """
                    SELECT \(Self.summaryColumns) FROM webhook_events WHERE \(range)
                    ORDER BY event_id DESC LIMIT $1
                    """, [limit + 1] + bound)
                return try Self.page(rows, limit, orElse: nil)
            }
            let (range, bound) = Self.range(before, 2)
            let last = try connection.queryOne(
                "SELECT event_id FROM webhook_events WHERE \(range) ORDER BY event_id DESC LIMIT 1 OFFSET $1",
                [Self.webhooksLookedAt - 1] + bound)?.string(0)
            let (wholeRange, wholeBound) = Self.range(before, 5)
            let selection: [any SQLConvertible] = [state?.rawValue, member, last ?? "", limit + 1]
            // `replace` compares bytes in both databases, without patterns.
            let rows = try connection.query(
                """
                SELECT \(Self.summaryColumns) FROM webhook_events
                WHERE (CAST($1 AS TEXT) IS NULL OR state = $1)
                    AND (CAST($2 AS TEXT) IS NULL OR replace(body, CAST($2 AS TEXT), '') <> body)
                    AND event_id >= $3 AND \(wholeRange) ORDER BY event_id DESC LIMIT $4
                """, selection + wholeBound)
            return try Self.page(rows, limit, orElse: last)
        }
    }

    /// The condition for events before another one, and its argument, which has this number.
    private static func range(_ before: String?, _ number: Int) -> (condition: String, bound: [any SQLConvertible]) {
        before.map { ("event_id < $\(number)", [$0]) } ?? ("true", [])
    }

    /// Makes a page of one row more than the page has, if there are more.
    /// - Parameter last: the end of a page that is not full; nil when it is the last one.
    private static func page(_ rows: [Row], _ limit: Int, orElse last: String?) throws -> WebhookEventList {
        let events = try rows.prefix(limit).map { try WebhookEventSummary($0) }
        return WebhookEventList(events: events, next: rows.count > limit ? events.last?.eventID : last)
    }

    /// Returns an event with its body and the newest attempts to deliver it.
    /// - Throws: ``MerchantError`` `not_found`.
    public func webhookEvent(_ eventID: String) async throws -> WebhookEventDescription {
        try Self.checkEvent(eventID)
        let found = try await database.read { connection -> WebhookEventDescription? in
            guard
                let row = try connection.queryOne(
                    "SELECT \(Self.summaryColumns), body FROM webhook_events WHERE event_id = $1", [eventID])
            else { return nil }
            return WebhookEventDescription(
                event: try WebhookEventSummary(row), body: try row.string(8),
                attempts: try WebhookAttempts.newest(of: eventID, connection))
        }
        guard let found else { throw Self.noEvent }
        return found
    }

    /// Sends an event again, whatever its state, with the full number of attempts. The event keeps its identifier.
    /// - Throws: ``MerchantError`` `not_found`.
    public func resendWebhook(_ eventID: String) async throws {
        try Self.checkEvent(eventID)
        let now = self.now()
        let count = try await database.write { connection in
            try connection.execute(
                """
                UPDATE webhook_events SET state = 'waiting', due_at = $2, attempts = 0, settled_at = NULL
                WHERE event_id = $1
                """, [eventID, now])
        }
        guard count == 1 else { throw Self.noEvent }
        outboxSignal.send()
    }

    /// Removes delivered events that were kept for 7 days, and the oldest beyond 10,000, with their attempts.
    /// - Parameter limit: the largest number of events to remove for each of the two reasons.
    /// - Returns: the number of events removed. When it is at least `limit`, there may be more.
    /// - Throws: ``DatabaseError``.
    public func pruneWebhooks(limit: Int = 500) async throws -> Int {
        let end = now() - Self.webhooksKeptFor
        return try await database.write { connection in
            let old = try connection.query(
                """
                SELECT event_id FROM webhook_events WHERE state = 'delivered' AND settled_at < $1
                ORDER BY settled_at, event_id LIMIT $2
                """, [end, limit])
            let surplus = try connection.query(
                """
                SELECT event_id FROM webhook_events WHERE state = 'delivered'
                ORDER BY settled_at DESC, event_id DESC LIMIT $1 OFFSET $2
                """, [limit, Self.deliveredWebhooksKept])
            let events = Set(try (old + surplus).map { try $0.string(0) })
            for event in events.sorted() {
                try connection.execute("DELETE FROM webhook_events WHERE event_id = $1", [event])
                try WebhookAttempts.remove(of: event, connection)
            }
            return events.count
        }
    }

    private static let noEvent = MerchantError(.notFound, "There is no event with this identifier.")

    /// PostgreSQL does not take a text with NUL.
    private static func checkEvent(_ eventID: String) throws {
        guard !eventID.utf8.contains(0) else { throw noEvent }
    }
}

extension WebhookEventSummary {
    /// Reads the columns of a summary.
    fileprivate init(_ row: Row) throws {
        let state = WebhookState(rawValue: try row.string(2)) ?? .waiting
        self.init(
            eventID: try row.string(0), type: try row.string(1), state: state, createdAt: try row.int64(3),
            attempts: try row.int(4), reason: try row.optionalString(5),
            nextAttemptAt: state == .waiting ? try row.int64(6) : nil, settledAt: try row.optionalInt64(7))
    }
}
