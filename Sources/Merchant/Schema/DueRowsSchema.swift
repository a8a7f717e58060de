/// Lists the subscriptions to ask about and the credits that end separately for each environment.
///
/// The clocks of production and the sandbox may differ by years. Under one index for both, a search with the later time
/// reads every row of the environment that is behind. The statements that search repeat the conditions of the indexes,
/// without which no index is used: ``SubscriptionRow/dueStatement(in:)`` and ``Lots/dueStatement(in:)``.
enum DueRowsSchema {
    static let statements: [String] =
        indexes(of: "production", "<>") + indexes(of: "sandbox", "=")
        + ["DROP INDEX subscriptions_to_ask_about", "DROP INDEX credit_lots_ending"]

    private static func indexes(of environment: String, _ comparison: String) -> [String] {
        [
            """
            CREATE INDEX subscriptions_due_in_\(environment) ON subscriptions (ask_after, subscription_key)
            WHERE ask_after IS NOT NULL AND substr(ltrim(subscription_key,
                'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:'), 1, 3) \(comparison) '/S/'
            """,
            """
            CREATE INDEX credit_lots_due_in_\(environment) ON credit_lots (expires_at)
            WHERE substr(currency, 1, 8) \(comparison) 'sandbox/'
            """,
        ]
    }
}
