/// Changes to the tables of released versions.
extension MerchantSchema {
    /// Records the origin of entries, credits and rights, so that each is written once and rows that were inserted by
    /// hand are detected.
    static let origins = ledgerCallers + productKinds + supersededPeriods + grantedRights

    /// Apps and the backend choose their keys independently. `caller` is null for entries without a caller's key, and
    /// for entries of earlier programs. A spend of an earlier program keeps its key from being used by either caller.
    private static let ledgerCallers = [
        "ALTER TABLE ledger_entries ADD COLUMN caller TEXT CHECK (caller = 'app' OR caller = 'backend')",
        "DROP INDEX ledger_keys",
        """
        CREATE UNIQUE INDEX ledger_keys ON ledger_entries (user_id, reference)
        WHERE kind = 'spend' AND (caller IS NULL OR caller = 'app')
        """,
        // Each spend and adjustment that the backend ordered, by its key. The row is written together with the entry.
        """
        CREATE TABLE backend_postings (
            user_id TEXT NOT NULL,
            posting_key TEXT NOT NULL,
            currency TEXT NOT NULL,
            entry BIGINT NOT NULL,
            amount BIGINT NOT NULL,
            PRIMARY KEY (user_id, posting_key)
        ) WITHOUT ROWID
        """,
        """
        INSERT INTO backend_postings (user_id, posting_key, currency, entry, amount)
        SELECT user_id, reference, currency, entry, amount FROM ledger_entries WHERE kind = 'adjustment'
        """,
    ]

    /// Each kind with which a product was listed or redeemed. Rows are never removed: a purchase is looked up under all
    /// of its product's kinds.
    private static let productKinds = [
        """
        CREATE TABLE product_kinds (
            product_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            PRIMARY KEY (product_id, kind)
        ) WITHOUT ROWID
        """,
        """
        INSERT INTO product_kinds (product_id, kind) SELECT DISTINCT product_id, kind FROM products WHERE true
        ON CONFLICT DO NOTHING
        """,
        """
        INSERT INTO product_kinds (product_id, kind)
        SELECT DISTINCT product_id,
            CASE WHEN redemption_key LIKE '%/t/' || transaction_id THEN 'consumable'
                WHEN redemption_key LIKE '%/o/' || original_transaction_id || '%' THEN 'nonConsumable'
                ELSE 'autoRenewableSubscription' END
        FROM redemptions WHERE true
        ON CONFLICT DO NOTHING
        """,
    ]

    /// Finds the newest period of each subscription that an earlier program wrote: the redemption of the subscription's
    /// product at its purchase date. It compares whole seconds, because receipts have no fractions. It skips a family
    /// member's redemption, whose key ends with `#` and a digit.
    static let subscriptionPeriods = [
        "CREATE INDEX redemptions_of_period ON redemptions (product_id, (purchased_at / 1000))",
        """
        UPDATE subscriptions SET period_key = (
            SELECT min(redemption_key) FROM redemptions
            WHERE redemptions.product_id = subscriptions.product_id
                AND redemptions.purchased_at / 1000 = subscriptions.purchased_at / 1000
                AND redemption_key NOT LIKE '%#_'
                AND CASE WHEN subscription_key LIKE '%/s/' || original_transaction_id
                    THEN substr(redemption_key, 1, length(subscription_key) - length(original_transaction_id) - 2)
                        = substr(subscription_key, 1, length(subscription_key) - length(original_transaction_id) - 2)
                    ELSE false END)
        WHERE period_key IS NULL
        """,
        "DROP INDEX redemptions_of_period",
    ]

    private static let supersededPeriods = [
        // The time at which another plan replaced a period before its end.
        "ALTER TABLE redemptions ADD COLUMN superseded_at BIGINT",
        // The redemption key of the newest period; null until the merchant receives the period again.
        "ALTER TABLE subscriptions ADD COLUMN period_key TEXT",
    ]

    /// `granted_by` is the redemption that granted a subscription's right. It is empty for rights of earlier programs
    /// whose redemption has moved to another user since.
    private static let grantedRights = [
        "ALTER TABLE entitlements ADD COLUMN granted_by TEXT",
        "CREATE INDEX redemptions_of_period ON redemptions (user_id, purchased_at)",
        """
        UPDATE entitlements SET granted_by = coalesce((SELECT min(redemption_key) FROM redemptions
            WHERE redemptions.user_id = entitlements.user_id AND redemptions.purchased_at = entitlements.starts_at
                AND redemptions.product_id = entitlements.product_id
                AND entitlements.source LIKE '%/s/' || redemptions.original_transaction_id), '')
        """,
        "DROP INDEX redemptions_of_period",
        // The users to whom a subscription's rights were transferred.
        """
        CREATE TABLE transferred_rights (
            source TEXT NOT NULL,
            user_id TEXT NOT NULL,
            PRIMARY KEY (source, user_id)
        ) WITHOUT ROWID
        """,
    ]
}
