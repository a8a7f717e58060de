import Database

/// The merchant's tables. What grows is keyed by the user first, except what is unique in the whole merchant.
///
/// A check of a value against three or more is written with `OR` where rows are written often: for a longer list than two SQLite builds a table in memory
/// for each row.
public enum MerchantSchema {
    /// In the order in which they apply.
    public static let migrations: [Migration] = [
        Migration(1, "merchant", products + redemptions + ledger + entitlements + operation),
        Migration(2, "shared subscriptions", sharedSubscriptions),
        Migration(3, "subscriptions' tokens", subscriptionTokens),
        Migration(4, "downloads against evidence", EvidenceDownloadsSchema.statements),
        Migration(
            5, "sandbox accounts", CreditAccountsSchema.statements, formerly: CreditAccountsSchema.formerChecksums),
        Migration(6, "webhooks tried before", triedWebhooks),
        Migration(7, "origins of entries, credits and rights", origins),
        Migration(8, "periods of subscriptions", subscriptionPeriods),
    ]

    private static let products = [
        """
        CREATE TABLE products (
            bundle_id TEXT NOT NULL,
            product_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            grants TEXT NOT NULL,
            is_on_sale BOOLEAN NOT NULL,
            shelf TEXT,
            is_from_file BOOLEAN NOT NULL,
            PRIMARY KEY (bundle_id, product_id)
        )
        """,
        // One row: how often the products were changed.
        "CREATE TABLE product_revision (id BIGINT PRIMARY KEY CHECK (id = 1), revision BIGINT NOT NULL)",
        "INSERT INTO product_revision (id, revision) VALUES (1, 0)",
        // Which store a root belongs to, so that a purchase is the same under each of a store's roots, and after a new one came.
        "CREATE TABLE trust_anchors (fingerprint BYTEA PRIMARY KEY, anchor TEXT NOT NULL)",
        """
        CREATE TABLE content_versions (
            item_id TEXT NOT NULL,
            version BIGINT NOT NULL CHECK (version > 0),
            digest TEXT NOT NULL,
            size BIGINT NOT NULL CHECK (size >= 0),
            media_type TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            PRIMARY KEY (item_id, version)
        )
        """,
    ]

    private static let redemptions = [
        // What a purchase is known by (see RedemptionKey), and whose it is. A row without user is what the store has said of a purchase
        // that nobody redeemed yet.
        """
        CREATE TABLE redemptions (
            redemption_key TEXT PRIMARY KEY,
            user_id TEXT NOT NULL,
            product_id TEXT NOT NULL,
            transaction_id TEXT NOT NULL,
            original_transaction_id TEXT NOT NULL,
            quantity BIGINT NOT NULL,
            grants TEXT NOT NULL,
            purchased_at BIGINT NOT NULL,
            expires_at BIGINT,
            redeemed_at BIGINT NOT NULL,
            state TEXT NOT NULL CHECK (state = 'granted' OR state = 'revoked' OR state = 'open'),
            state_signed_at BIGINT NOT NULL,
            taken_back TEXT,
            credited_user TEXT,
            credits TEXT,
            CHECK (state <> 'granted' OR user_id <> '')
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE subscriptions (
            subscription_key TEXT PRIMARY KEY,
            user_id TEXT NOT NULL,
            product_id TEXT NOT NULL,
            purchased_at BIGINT NOT NULL,
            expires_at BIGINT NOT NULL,
            grace_until BIGINT,
            will_renew BOOLEAN,
            renews_as TEXT,
            status_signed_at BIGINT NOT NULL
        ) WITHOUT ROWID
        """,
        // The tokens that users' purchases carry.
        "CREATE TABLE account_tokens (token TEXT PRIMARY KEY, user_id TEXT NOT NULL)",
    ]

    private static let ledger = [
        // One row is one entry with its two postings: the user's account and the account that stands against it. The newest says
        // the balance: a table of balances would be one more place to be written for each entry.
        """
        CREATE TABLE ledger_entries (
            user_id TEXT NOT NULL,
            currency TEXT NOT NULL,
            entry BIGINT NOT NULL CHECK (entry > 0),
            kind TEXT NOT NULL CHECK (kind = 'spend' OR kind = 'grant' OR kind = 'refund' OR kind = 'refundReversal'
                OR kind = 'expiry' OR kind = 'adjustment'),
            amount BIGINT NOT NULL CHECK (amount <> 0),
            counter_account TEXT NOT NULL CHECK (counter_account = 'shop' OR counter_account = 'store'
                OR counter_account = 'expired' OR counter_account = 'merchant'),
            counter_amount BIGINT NOT NULL CHECK (amount + counter_amount = 0),
            balance BIGINT NOT NULL CHECK (balance >= 0 OR kind NOT IN ('spend', 'expiry')),
            reference TEXT NOT NULL,
            note TEXT,
            created_at BIGINT NOT NULL,
            PRIMARY KEY (user_id, currency, entry)
        ) WITHOUT ROWID
        """,
        // What the caller's key is unique in.
        """
        CREATE UNIQUE INDEX ledger_keys ON ledger_entries (user_id, reference)
        WHERE kind IN ('spend', 'adjustment')
        """,
        // What is left of credits that end.
        """
        CREATE TABLE credit_lots (
            user_id TEXT NOT NULL,
            currency TEXT NOT NULL,
            expires_at BIGINT NOT NULL,
            reference TEXT NOT NULL,
            remaining BIGINT NOT NULL CHECK (remaining >= 0),
            PRIMARY KEY (user_id, currency, expires_at, reference)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX credit_lots_ending ON credit_lots (expires_at)",
        """
        CREATE TABLE user_flags (
            user_id TEXT NOT NULL,
            reference TEXT NOT NULL,
            code TEXT NOT NULL,
            detail TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            PRIMARY KEY (user_id, reference, code)
        ) WITHOUT ROWID
        """,
    ]

    private static let entitlements = [
        // What a user may use: an entitlement or a content item, once for each purchase or subscription that gives it.
        // Those with a lifetime (milliseconds) follow one upon the other (see TimedRights).
        """
        CREATE TABLE entitlements (
            user_id TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('entitlement', 'content')),
            name TEXT NOT NULL,
            source TEXT NOT NULL,
            product_id TEXT NOT NULL,
            starts_at BIGINT NOT NULL,
            expires_at BIGINT,
            grace_until BIGINT,
            revoked_at BIGINT,
            lifetime BIGINT,
            PRIMARY KEY (user_id, kind, name, source)
        ) WITHOUT ROWID
        """
    ]

    /// What a subscription gave is found by it, whoever has it: only what ends comes from one.
    private static let sharedSubscriptions = [
        "CREATE INDEX entitlements_of_subscription ON entitlements (source) WHERE expires_at IS NOT NULL"
    ]

    /// Whom the newest period of a subscription names; null where no evidence of it said so.
    private static let subscriptionTokens = ["ALTER TABLE subscriptions ADD COLUMN account_token TEXT"]

    /// Events that were tried before wait apart from new ones, so that neither kind is looked for among the other.
    private static let triedWebhooks = [
        "DROP INDEX webhook_events_waiting",
        """
        CREATE INDEX webhook_events_new ON webhook_events (due_at, event_id) WHERE state = 'waiting' AND attempts = 0
        """,
        """
        CREATE INDEX webhook_events_tried ON webhook_events (due_at, event_id) WHERE state = 'waiting' AND attempts > 0
        """,
    ]

    private static let operation = [
        """
        CREATE TABLE notifications (
            notification_id TEXT PRIMARY KEY,
            type TEXT NOT NULL,
            subtype TEXT,
            signed_at BIGINT NOT NULL,
            received_at BIGINT NOT NULL
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE webhook_events (
            event_id TEXT PRIMARY KEY,
            type TEXT NOT NULL,
            body TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'dead')),
            due_at BIGINT NOT NULL,
            attempts BIGINT NOT NULL,
            reason TEXT
        )
        """,
        "CREATE INDEX webhook_events_waiting ON webhook_events (due_at, event_id) WHERE state = 'waiting'",
        "CREATE INDEX webhook_events_dead ON webhook_events (created_at, event_id) WHERE state = 'dead'",
        """
        CREATE TABLE api_keys (
            digest BYTEA PRIMARY KEY,
            name TEXT NOT NULL,
            scopes TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            revoked_at BIGINT
        )
        """,
        "CREATE UNIQUE INDEX api_keys_by_name ON api_keys (name) WHERE revoked_at IS NULL",
    ]
}
