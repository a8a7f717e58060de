/// Requests that the merchant has promised to send to a store's API, and the customers' consent that some require.
enum StoreCallsSchema {
    static let statements = [
        // `call_id` names what the request is about, so that it is queued once.
        """
        CREATE TABLE api_calls (
            call_id TEXT PRIMARY KEY,
            kind TEXT NOT NULL CHECK (kind = 'consumption' OR kind = 'accountToken'),
            user_id TEXT NOT NULL,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            transaction_id TEXT NOT NULL,
            purchase TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            ends_at BIGINT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'settled')),
            due_at BIGINT NOT NULL,
            attempts BIGINT NOT NULL,
            result TEXT,
            settled_at BIGINT
        )
        """,
        "CREATE INDEX api_calls_waiting ON api_calls (due_at, call_id) WHERE state = 'waiting'",
        "CREATE INDEX api_calls_settled ON api_calls (settled_at, call_id) WHERE state = 'settled'",
        """
        CREATE TABLE consumption_consents (
            user_id TEXT PRIMARY KEY,
            is_given BOOLEAN NOT NULL,
            changed_at BIGINT NOT NULL
        ) WITHOUT ROWID
        """,
    ]
}
