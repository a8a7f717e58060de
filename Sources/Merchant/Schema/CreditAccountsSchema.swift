/// The sandbox's credits get accounts of their own (``CreditAccount``).
///
/// Earlier programs put the credits of both environments into one account. An account whose purchases were all made in
/// the sandbox becomes the sandbox's. One with purchases of both stays as it is, production's: what was spent of it
/// cannot be told apart.
enum CreditAccountsSchema {
    static let statements = [
        """
        UPDATE ledger_entries SET currency = 'sandbox/' || currency
        WHERE (user_id, currency) IN (
            SELECT user_id, currency FROM ledger_entries WHERE kind IN ('grant', 'refund', 'refundReversal')
            GROUP BY user_id, currency
            HAVING min(CASE WHEN replace(reference, '/S/', '') = reference THEN 0 ELSE 1 END) = 1)
        """,
        """
        UPDATE ledger_entries SET reference = 'sandbox/' || reference
        WHERE kind IN ('spend', 'adjustment') AND substr(currency, 1, 8) = 'sandbox/'
        """,
        """
        UPDATE credit_lots SET currency = 'sandbox/' || currency
        WHERE (user_id, 'sandbox/' || currency) IN (
            SELECT user_id, currency FROM ledger_entries WHERE substr(currency, 1, 8) = 'sandbox/')
        """,
    ]
}
