import Database

/// The merchant's tables. The primary keys of growing tables begin with the user, except where a key is unique in the
/// whole merchant.
///
/// In tables that are written often, a check of a value against three or more constants uses `OR`: for an `IN` list of
/// more than two, SQLite builds a table in memory for each row.
public enum MerchantSchema {
    /// The migrations, in the order in which they are applied.
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
        Migration(9, "kept webhooks", KeptWebhooksSchema.statements),
        Migration(10, "lists of redemptions", redemptionLists),
        Migration(11, "redemptions listed by their key", ["DROP INDEX redemptions_by_time"]),
        Migration(12, "facts of subscriptions", SubscriptionFactsSchema.statements),
        Migration(13, "signed ends of periods", SubscriptionFactsSchema.signedEnds),
        Migration(14, "listed notifications", NotificationRecordsSchema.statements),
        Migration(15, "calls of the store's API", StoreCallsSchema.statements),
        Migration(16, "questions about subscriptions", SubscriptionFactsSchema.questions),
        Migration(17, "due rows of each environment", DueRowsSchema.statements),
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
        // One row: the number of changes of the product list.
        "CREATE TABLE product_revision (id BIGINT PRIMARY KEY CHECK (id = 1), revision BIGINT NOT NULL)",
        "INSERT INTO product_revision (id, revision) VALUES (1, 0)",
        // The store of each root, so that a purchase has the same key under all roots of a store, and after a root was
        // replaced.
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
        // The redemption key of each purchase (see RedemptionKey) and its user. A row without a user is a purchase that
        // is known and that nobody has redeemed yet.
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
        // The account tokens in users' purchases.
        "CREATE TABLE account_tokens (token TEXT PRIMARY KEY, user_id TEXT NOT NULL)",
    ]

    private static let ledger = [
        // One row is one entry with its two postings: the user's account and the counter-account. The newest row has
        // the balance. A table of balances would be a second table to write for each entry.
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
        // A caller's key is unique for each user.
        """
        CREATE UNIQUE INDEX ledger_keys ON ledger_entries (user_id, reference)
        WHERE kind IN ('spend', 'adjustment')
        """,
        // The unspent part of credits that expire.
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
        // Users' rights: an entitlement or a content item, once for each purchase or subscription that grants it.
        // Rights with a lifetime (in milliseconds) run one after another (see TimedRight).
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

    /// Finds a subscription's rights, whichever user has them. Only rights that end come from a subscription.
    private static let sharedSubscriptions = [
        "CREATE INDEX entitlements_of_subscription ON entitlements (source) WHERE expires_at IS NOT NULL"
    ]

    /// The account token of a subscription's newest period; null when no evidence had one.
    private static let subscriptionTokens = ["ALTER TABLE subscriptions ADD COLUMN account_token TEXT"]

    /// Separate indexes for new events and for events that were tried before, so that a search for one kind does not
    /// read the other.
    private static let triedWebhooks = [
        "DROP INDEX webhook_events_waiting",
        """
        CREATE INDEX webhook_events_new ON webhook_events (due_at, event_id) WHERE state = 'waiting' AND attempts = 0
        """,
        """
        CREATE INDEX webhook_events_tried ON webhook_events (due_at, event_id) WHERE state = 'waiting' AND attempts > 0
        """,
    ]

    /// Lists a user's purchases, and those of all users, by the time of their redemption. The next migration drops the
    /// second index: each redemption paid for it, and the list of all users does without.
    private static let redemptionLists = [
        "CREATE INDEX redemptions_of_user ON redemptions (user_id, redeemed_at, redemption_key)",
        "CREATE INDEX redemptions_by_time ON redemptions (redeemed_at, redemption_key) WHERE user_id <> ''",
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
