import Database

extension StoreSchema {
    /// Customers' requests for refunds with the answers of apps' servers and the decisions, and the store's rule, which
    /// has one row. News has the reason for which a customer asks.
    static let refundRequests = Migration(
        21, "requests for refunds",
        [
            """
            CREATE TABLE refund_requests (
                request_id BIGINT PRIMARY KEY,
                transaction_id BIGINT NOT NULL,
                account_id TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                reason TEXT NOT NULL,
                requested_at BIGINT NOT NULL,
                deadline BIGINT NOT NULL,
                state TEXT NOT NULL,
                consumption_version BIGINT,
                consumption TEXT,
                decided_at BIGINT,
                CHECK ((state = 'waiting') = (decided_at IS NULL)),
                CHECK ((consumption_version IS NULL) = (consumption IS NULL))
            ) WITHOUT ROWID
            """,
            "CREATE INDEX refund_requests_by_transaction ON refund_requests (transaction_id, request_id)",
            "CREATE UNIQUE INDEX refund_requests_waiting ON refund_requests (transaction_id) WHERE state = 'waiting'",
            "CREATE INDEX refund_requests_due ON refund_requests (deadline, request_id) WHERE state = 'waiting'",
            """
            CREATE TABLE refund_rule (
                id BIGINT PRIMARY KEY CHECK (id = 1),
                rule TEXT NOT NULL,
                set_at BIGINT NOT NULL
            )
            """,
            "ALTER TABLE subscription_news ADD COLUMN consumption_reason TEXT",
        ])
}
