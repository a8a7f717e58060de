/// The sandbox's credits get accounts of their own (``CreditAccount``).
///
/// Earlier programs put the credits of both environments into one account. An account whose purchases were all made in
/// the sandbox becomes the sandbox's. One with purchases of both stays as it is, production's: what was spent of it
/// cannot be told apart.
///
/// The sandbox's keys begin with a prefix from then on, which callers could use in their own keys until then. A key of
/// production's that begins with it makes way: no caller can ask for it any more. It goes behind a prefix longer than
/// any key, with its account and its number, so that it meets no other.
enum CreditAccountsSchema {
    static let statements = [
        // Each statement changes keys one after another, and they are unique again only after all of them.
        "DROP INDEX ledger_keys",
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
        UPDATE ledger_entries
        SET reference = '\(outOfReach)' || currency || '/' || CAST(entry AS TEXT) || '/' || reference
        WHERE kind IN ('spend', 'adjustment') AND substr(currency, 1, 8) <> 'sandbox/'
            AND substr(reference, 1, 8) = 'sandbox/'
        """,
        """
        CREATE UNIQUE INDEX ledger_keys ON ledger_entries (user_id, reference)
        WHERE kind IN ('spend', 'adjustment')
        """,
        """
        UPDATE credit_lots SET currency = 'sandbox/' || currency
        WHERE (user_id, 'sandbox/' || currency) IN (
            SELECT user_id, currency FROM ledger_entries WHERE substr(currency, 1, 8) = 'sandbox/')
        """,
    ]

    /// Of the first wording, which refused books with keys that meet. Other books it left as this one does, but for
    /// keys of production's that begin with the prefix.
    static let formerChecksums = ["bb2368df5de03c1b411df04af480269d32df36a28c9092e0ceab3e5eeb1a025d"]

    /// Longer than the 128 bytes of the longest key and the sandbox's prefix.
    private static let outOfReach = String(repeating: "sandbox/", count: 20)
}
