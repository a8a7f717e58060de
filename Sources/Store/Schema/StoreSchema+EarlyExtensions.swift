import Database

extension StoreSchema {
    /// Work that is done for one customer before its turn: extensions of requests for all subscriptions of a product,
    /// and decisions on requests for refunds.
    static let earlyExtensions = Migration(
        25, "extensions before their turn",
        [
            // The rows go when their request comes to the subscription.
            """
            CREATE TABLE early_extensions (
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                request_id TEXT NOT NULL,
                original_transaction_id BIGINT NOT NULL,
                succeeded BOOLEAN NOT NULL,
                PRIMARY KEY (bundle_id, product_id, request_id, original_transaction_id)
            ) WITHOUT ROWID
            """,
            """
            CREATE INDEX refund_requests_of_account ON refund_requests (account_id, deadline, request_id)
            WHERE state = 'waiting'
            """,
        ])
}
