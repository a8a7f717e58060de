/// Moves sandbox credits to separate accounts (``CreditAccount``).
///
/// Earlier programs kept the credits of both environments in one account. An account whose purchases were all made in
/// the sandbox becomes a sandbox account. An account with purchases of both environments becomes a production account,
/// because its spends cannot be told apart.
///
/// Since then, sandbox keys begin with a prefix, which callers could use in their own keys until then. A production key
/// that begins with the prefix is renamed, and no caller can ask for it any more. Its new name has a prefix longer than
/// any key, its account and its number, so that it is unique.
enum CreditAccountsSchema {
    static let statements = [
        // Each statement changes keys one by one, and they are unique again only after all of them.
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

    /// The checksum of the first version, which failed on ledgers with colliding keys. On other ledgers it had the same
    /// effect as this one, except for production keys that begin with the prefix.
    static let formerChecksums = ["bb2368df5de03c1b411df04af480269d32df36a28c9092e0ceab3e5eeb1a025d"]

    /// Longer than the 128 bytes of the longest key and the sandbox's prefix.
    private static let outOfReach = String(repeating: "sandbox/", count: 20)
}
