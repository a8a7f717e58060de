/// Keeps webhook events after their delivery, and the attempts to deliver them.
enum KeptWebhooksSchema {
    static let statements = [
        // SQLite cannot change a check, so that the table is made anew.
        """
        CREATE TABLE webhook_events_kept (
            event_id TEXT PRIMARY KEY,
            type TEXT NOT NULL,
            body TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            state TEXT NOT NULL CHECK (state = 'waiting' OR state = 'delivered' OR state = 'dead'),
            due_at BIGINT NOT NULL,
            attempts BIGINT NOT NULL,
            reason TEXT,
            settled_at BIGINT
        )
        """,
        """
        INSERT INTO webhook_events_kept (event_id, type, body, created_at, state, due_at, attempts, reason)
        SELECT event_id, type, body, created_at, state, due_at, attempts, reason FROM webhook_events
        """,
        "DROP TABLE webhook_events",
        "ALTER TABLE webhook_events_kept RENAME TO webhook_events",
        """
        CREATE INDEX webhook_events_new ON webhook_events (due_at, event_id) WHERE state = 'waiting' AND attempts = 0
        """,
        """
        CREATE INDEX webhook_events_tried ON webhook_events (due_at, event_id) WHERE state = 'waiting' AND attempts > 0
        """,
        "CREATE INDEX webhook_events_dead ON webhook_events (created_at, event_id) WHERE state = 'dead'",
        // Finds the delivered events that were kept long enough.
        "CREATE INDEX webhook_events_delivered ON webhook_events (settled_at, event_id) WHERE state = 'delivered'",
        """
        CREATE TABLE webhook_attempts (
            event_id TEXT NOT NULL,
            attempt BIGINT NOT NULL CHECK (attempt > 0),
            sent_at BIGINT NOT NULL,
            duration BIGINT NOT NULL,
            status BIGINT,
            answer TEXT,
            reason TEXT,
            next_at BIGINT,
            PRIMARY KEY (event_id, attempt)
        ) WITHOUT ROWID
        """,
    ]
}
