import Database

/// The tables of one store, production or sandbox. A released migration never changes; add a new one instead.
public enum StoreSchema {
    /// The migrations in the order in which they apply.
    public static let migrations: [Migration] = [
        Migration(
            1, "accounts, purchases and transactions",
            [
                """
                CREATE TABLE clock_setting (
                    id BIGINT PRIMARY KEY CHECK (id = 1),
                    clock_offset BIGINT NOT NULL,
                    frozen_at BIGINT
                )
                """,
                """
                CREATE TABLE accounts (
                    account_id TEXT PRIMARY KEY,
                    email TEXT NOT NULL UNIQUE,
                    password_salt BYTEA NOT NULL,
                    password_hash BYTEA NOT NULL,
                    password_rounds BIGINT NOT NULL,
                    storefront TEXT NOT NULL,
                    payments_allowed BOOLEAN NOT NULL,
                    asks_to_buy BOOLEAN NOT NULL,
                    failed_sign_ins BIGINT NOT NULL,
                    locked BOOLEAN NOT NULL,
                    created_at BIGINT NOT NULL
                )
                """,
                """
                CREATE TABLE device_tokens (
                    token_digest BYTEA PRIMARY KEY,
                    account_id TEXT NOT NULL REFERENCES accounts (account_id),
                    device_id TEXT NOT NULL,
                    created_at BIGINT NOT NULL
                )
                """,
                "CREATE INDEX device_tokens_by_account ON device_tokens (account_id)",
                // One row for each idempotency key. The key is unique in the whole store, and the row keeps its answer.
                """
                CREATE TABLE purchases (
                    idempotency_key TEXT PRIMARY KEY,
                    account_id TEXT NOT NULL,
                    bundle_id TEXT NOT NULL,
                    product_id TEXT NOT NULL,
                    quantity BIGINT NOT NULL CHECK (quantity BETWEEN 1 AND 10),
                    application_username TEXT,
                    state TEXT NOT NULL CHECK (state IN ('purchased', 'deferred', 'failed')),
                    failure_code TEXT,
                    failure_message TEXT,
                    transaction_id BIGINT,
                    amount BIGINT NOT NULL CHECK (amount >= 0),
                    currency TEXT NOT NULL,
                    payment_reference TEXT,
                    created_at BIGINT NOT NULL,
                    CHECK ((state = 'purchased') = (transaction_id IS NOT NULL)),
                    CHECK ((state = 'failed') = (failure_code IS NOT NULL))
                ) WITHOUT ROWID
                """,
                // The identifier is the key because receipts name a transaction without its account. Identifiers grow
                // with time, so a purchase is written at the table's end, and only one index places it by account.
                """
                CREATE TABLE transactions (
                    transaction_id BIGINT PRIMARY KEY,
                    account_id TEXT NOT NULL,
                    original_transaction_id BIGINT NOT NULL,
                    bundle_id TEXT NOT NULL,
                    product_id TEXT NOT NULL,
                    item_id BIGINT NOT NULL,
                    kind TEXT NOT NULL,
                    quantity BIGINT NOT NULL CHECK (quantity BETWEEN 1 AND 10),
                    price BIGINT NOT NULL CHECK (price >= 0),
                    currency TEXT NOT NULL,
                    storefront TEXT NOT NULL,
                    purchase_date BIGINT NOT NULL,
                    original_purchase_date BIGINT NOT NULL,
                    expires_date BIGINT,
                    web_order_line_item_id BIGINT,
                    subscription_group_id TEXT,
                    offer TEXT CHECK (offer IN ('trial', 'introductory')),
                    application_username TEXT,
                    idempotency_key TEXT,
                    finished_at BIGINT,
                    revoked_at BIGINT,
                    revocation_reason BIGINT
                ) WITHOUT ROWID
                """,
                // Each transaction is in one of the first two indexes, by its account.
                "CREATE INDEX transactions_unfinished ON transactions (account_id, bundle_id, transaction_id) WHERE finished_at IS NULL",
                "CREATE INDEX transactions_finished ON transactions (account_id, transaction_id) WHERE finished_at IS NOT NULL",
                """
                CREATE INDEX transactions_lasting ON transactions (account_id, bundle_id, transaction_id)
                WHERE kind <> 'consumable'
                """,
                // The products that accounts own permanently. Buying one again is free.
                """
                CREATE TABLE ownerships (
                    account_id TEXT NOT NULL,
                    bundle_id TEXT NOT NULL,
                    product_id TEXT NOT NULL,
                    original_transaction_id BIGINT NOT NULL,
                    original_purchase_date BIGINT NOT NULL,
                    PRIMARY KEY (account_id, bundle_id, product_id)
                ) WITHOUT ROWID
                """,
                // The rules by which the sandbox's payment processor declines.
                """
                CREATE TABLE payment_rules (
                    rule_id TEXT PRIMARY KEY,
                    account_id TEXT,
                    product_id TEXT,
                    minimum_amount BIGINT,
                    remaining BIGINT CHECK (remaining > 0)
                )
                """,
            ]),
        restoredTransactions,
        promotionalOffers,
        customer,
        restoredByDevice,
        purchasesWithoutLists,
        waitingSubscriptions,
        purchaseStorefronts,
        itemPurchases,
        itemRequests,
        itemSales,
        attempts,
        subscriptions,
        refunds,
        families,
        offerCodes,
        snapshots,
        history,
        notifications,
        extensions,
        refundRequests,
        notificationVersions,
        customersOfApps,
        rateLimits,
        earlyExtensions,
        historyEnds,
        notificationSamples,
        agreedOffers,
        originalVersions,
        faults,
        notificationClaims,
        rateWindows,
    ]
}

/// The tables that both stores share: the data about apps that Apple keeps in App Store Connect.
public enum AppSchema {
    /// The migrations in the order in which they apply.
    public static let migrations: [Migration] = [
        Migration(
            1, "apps",
            [
                """
                CREATE TABLE apps (
                    bundle_id TEXT PRIMARY KEY,
                    app_id BIGINT NOT NULL UNIQUE,
                    shared_secret TEXT NOT NULL,
                    created_at BIGINT NOT NULL
                )
                """
            ]),
        hostedContent,
        uploadPlaces,
        reviews,
        campaigns,
        itemFiles,
        partners,
        audit,
        managedCatalog,
        gracePeriods,
        apiKeys,
        notificationReceivers,
        notificationVersions,
        secrets,
        claims,
        itemCollections,
    ]
}
