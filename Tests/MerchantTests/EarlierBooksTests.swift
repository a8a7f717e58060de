import BlobStorage
import Database
import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// Books of earlier versions, opened by this one.
@Suite(.timeLimit(.minutes(1))) struct EarlierBooksTests {
    private static let day: Int64 = 86_400_000

    /// Fills books of an earlier version, opens them with this one, and proves them at the end.
    private func with(
        _ backend: Backend, earlier migrations: [Migration], _ rows: [String],
        _ body: (Merchant, Database) async throws -> Void
    ) async throws {
        try await backend.withLocation { location in
            let before = try await Database.open(location, migrations: migrations, logger: .silent)
            try await before.write { connection in for row in rows { try connection.execute(row) } }
            await before.close()
            let database = try await Database.open(location, migrations: MerchantSchema.migrations, logger: .silent)
            try await TemporaryDirectory.with { directory in
                let merchant = Merchant(
                    database: database, blobs: try DirectoryBlobStore(folder: directory.url),
                    verifier: try PurchaseVerifier(stores: [], bundleIDs: [], environments: []),
                    policy: MerchantPolicy(environments: [.production, .sandbox]),
                    now: { TestClock.start + 10 * Self.day }, makeID: { UUID() })
                try await body(merchant, database)
                #expect(try await merchant.checkBooks().findings == [])
            }
            await database.close()
        }
    }

    private static func before(_ name: String) -> [Migration] {
        Array(MerchantSchema.migrations.prefix { $0.name != name })
    }

    // MARK: Keys

    private static func entry(
        _ user: String, _ currency: String, _ entry: Int, _ kind: String, _ amount: Int, _ balance: Int,
        _ reference: String
    ) -> String {
        let against = ["spend": "shop", "grant": "store"][kind] ?? "merchant"
        return """
            INSERT INTO ledger_entries (user_id, currency, entry, kind, amount, counter_account, counter_amount,
                balance, reference, created_at)
            VALUES ('\(user)', '\(currency)', \(entry), '\(kind)', \(amount), '\(against)', \(-amount), \(balance),
                '\(reference)', 1)
            """
    }

    private static func coins(_ environment: String, _ id: Int, _ user: String) -> String {
        """
        INSERT INTO redemptions (redemption_key, user_id, product_id, transaction_id, original_transaction_id,
            quantity, grants, purchased_at, redeemed_at, state, state_signed_at)
        VALUES ('test/\(environment)/com.example.books/t/\(id)', '\(user)', 'coins', '\(id)', '\(id)', 1,
            '[{"credits":100,"currency":"gems"}]', 1, 1, 'granted', 1)
        """
    }

    /// Spends under keys of which one is the other with the prefix of the sandbox's.
    private static let spends = [
        // ann's were both made in the sandbox.
        coins("S", 1, "ann"), entry("ann", "gems", 1, "grant", 100, 100, "test/S/com.example.books/t/1"),
        entry("ann", "gems", 2, "spend", -30, 70, "k"), entry("ann", "gems", 3, "spend", -5, 65, "sandbox/k"),
        entry("ann", "gems", 4, "adjustment", 1, 66, "sandbox/sandbox/k"),
        // bob's were made in both, and one key of production's looks like one of those that take its place.
        coins("S", 2, "bob"), entry("bob", "gems", 1, "grant", 100, 100, "test/S/com.example.books/t/2"),
        entry("bob", "gems", 2, "spend", -30, 70, "k"), entry("bob", "gems", 3, "adjustment", -20, 50, "a"),
        entry("bob", "pearls", 1, "adjustment", 9, 9, "sandbox/k"),
        entry("bob", "pearls", 2, "spend", -2, 7, "sandbox/a"), entry("bob", "pearls", 3, "spend", -1, 6, "b"),
    ]

    @Test(arguments: Backend.available) func keysThatLookLikeTheSandboxsAreAllKept(_ backend: Backend) async throws {
        try await with(backend, earlier: Self.before("sandbox accounts"), Self.spends) { merchant, _ async throws in
            let sandbox = { (amount: Int64) in Balance(currency: "gems", amount: amount, environment: .sandbox) }
            #expect(try await merchant.report(of: "ann").balances == [sandbox(66)])
            #expect(
                try await merchant.report(of: "bob").balances == [Balance(currency: "pearls", amount: 6), sandbox(50)])
            // What was spent under a key is answered again, and is not spent again.
            for user in ["ann", "bob"] as [UserID] {
                let spend = SpendRequest(key: "k", currency: "gems", amount: 30, environment: .sandbox)
                for caller in [LedgerCaller.app, .backend] {
                    #expect(try await merchant.spend(spend, by: user, for: caller).entry == 2)
                }
            }
            let taken = AdjustmentRequest(key: "a", currency: "gems", amount: -20, environment: .sandbox)
            #expect(try await merchant.adjust(taken, of: "bob").entry == 3)
            #expect(
                try await merchant.spend(SpendRequest(key: "b", currency: "pearls", amount: 1), by: "bob").entry == 3)
            let pearls = try await merchant.history(of: "bob", "pearls", before: nil).entries
            #expect(pearls.map(\.amount) == [-1, -2, 9])
            // The entries still say under which keys they were ordered.
            #expect(pearls.map { $0.reference?.hasSuffix("sandbox/a") } == [false, true, false])
            #expect(pearls.last?.reference?.hasSuffix("sandbox/k") == true)
        }
    }

    // MARK: Periods

    /// A subscription in whose first period the books went over to this version.
    private static let subscription = [
        """
        INSERT INTO products (bundle_id, product_id, kind, grants, is_on_sale, is_from_file)
        VALUES ('com.example.books', 'plus', 'autoRenewableSubscription', '[{"credits":30,"currency":"gems"}]', true,
            false),
            ('com.example.books', 'monthly', 'autoRenewableSubscription', '[{"credits":10,"currency":"gems"}]', true,
            false)
        """,
        redeemed("test/P/com.example.books/p/1/7", "plus", "1", TestClock.start),
        // The same period of a guest's, an earlier period, another subscription's, and one in the sandbox.
        redeemed("test/P/com.example.books/p/1/7#2", "plus", "1", TestClock.start, "bob", "[]"),
        redeemed("test/P/com.example.books/p/1/3", "plus", "1", TestClock.start - 30 * day, "ann", "[]"),
        redeemed("test/P/com.example.books/p/11/5", "plus", "11", TestClock.start, "ann", "[]"),
        redeemed("test/S/com.example.books/p/1/2", "plus", "1", TestClock.start, "ann", "[]"),
        """
        INSERT INTO subscriptions (subscription_key, user_id, product_id, purchased_at, expires_at, status_signed_at)
        VALUES ('test/P/com.example.books/s/1', 'ann', 'plus', \(TestClock.start + 250),
            \(TestClock.start + 30 * day), 0),
            ('test/P/com.example.books/s/999999999999', 'ann', 'plus', 5, 9, 0)
        """,
        entry("ann", "gems", 1, "grant", 30, 30, "test/P/com.example.books/p/1/7"),
    ]

    private static func redeemed(
        _ key: String, _ product: String, _ original: String, _ moment: Int64, _ user: String = "ann",
        _ grants: String = #"[{"credits":30,"currency":"gems"}]"#
    ) -> String {
        """
        INSERT INTO redemptions (redemption_key, user_id, product_id, transaction_id, original_transaction_id, quantity,
            grants, purchased_at, expires_at, redeemed_at, state, state_signed_at)
        VALUES ('\(key)', '\(user)', '\(product)', '\(original)', '\(original)', 1, '\(grants)', \(moment),
            \(moment + 30 * day), 1, 'granted', 1)
        """
    }

    /// The fifth step in its first words, which books may have taken.
    private static let sandboxAccounts = Migration(
        5, "sandbox accounts",
        [
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
        ])

    private static let earlierBooks: [(name: String, migrations: [Migration])] = [
        ("without the sandbox's accounts", before("sandbox accounts")),
        ("without periods", before("origins of entries, credits and rights")),
        ("with periods", Array(MerchantSchema.migrations.prefix(7))),
        (
            "with the fifth step in its first words",
            before("sandbox accounts") + [sandboxAccounts] + MerchantSchema.migrations[5..<7]
        ),
    ]

    @Test(arguments: Backend.available, earlierBooks.map(\.name))
    func theFirstChangeOfPlanTakesTheCreditsBack(_ backend: Backend, _ name: String) async throws {
        let earlier = try #require(Self.earlierBooks.first { $0.name == name }).migrations
        try await with(backend, earlier: earlier, Self.subscription) { merchant, database async throws in
            let change = VerifiedPurchase(
                anchor: "test", environment: .production, bundleID: "com.example.books", productID: "monthly",
                statedKind: nil, transactionID: "8", originalTransactionID: "1", quantity: 1,
                purchasedAt: TestClock.start + 10 * Self.day, expiresAt: TestClock.start + 40 * Self.day,
                webOrderLineItemID: "8", revokedAt: nil, revokedShare: nil, isUpgraded: false, accountToken: nil,
                signedAt: TestClock.start + 10 * Self.day)
            let evidence = VerifiedEvidence(
                environment: .production, bundleID: "com.example.books", purchases: [change])
            #expect(try await merchant.redeem(evidence, for: "ann").refused == [])
            #expect(try await merchant.balances(of: "ann").amount(of: "gems") == 10)
            let superseded = try await database.read { connection in
                try connection.query("SELECT redemption_key FROM redemptions WHERE superseded_at IS NOT NULL")
                    .map { try $0.string(0) }
            }
            #expect(Set(superseded) == ["test/P/com.example.books/p/1/7", "test/P/com.example.books/p/1/7#2"])
        }
    }

    private static let period = "test/P/com.example.books/p/1/7"
    private static let source = "test/P/com.example.books/s/1"

    /// A subscription that ann redeemed, and that has moved to bob.
    private static let moved =
        [
            subscription[0],
            redeemed(
                period, "plus", "1", TestClock.start, "ann",
                #"[{"credits":30,"currency":"gems"},{"entitlement":"club"}]"#),
            entry("ann", "gems", 1, "grant", 30, 30, period),
            """
            INSERT INTO subscriptions (subscription_key, user_id, product_id, purchased_at, expires_at, will_renew,
                status_signed_at, period_key)
            VALUES ('\(source)', 'bob', 'plus', \(TestClock.start), \(TestClock.start + 30 * day), true,
                \(TestClock.start + 5), '\(period)')
            """,
            "INSERT INTO transferred_rights (source, user_id) VALUES ('\(source)', 'bob')",
        ]
        + [("ann", period, "7"), ("bob", "", "NULL")].map { user, grantedBy, revokedAt in
            """
            INSERT INTO entitlements (user_id, kind, name, source, product_id, starts_at, expires_at, revoked_at,
                granted_by)
            VALUES ('\(user)', 'entitlement', 'club', '\(source)', 'plus', \(TestClock.start),
                \(TestClock.start + 30 * day), \(revokedAt), '\(grantedBy)')
            """
        }

    @Test(arguments: Backend.available) func theStoresNewsReachesASubscriptionOfBefore(_ backend: Backend) async throws
    {
        let earlier = Self.before("facts of subscriptions")
        try await with(backend, earlier: earlier, Self.moved) { merchant, database async throws in
            func notify(_ type: String, signedAt: Int64, willRenew: Bool? = nil, days: Int64 = 30) async throws {
                try await merchant.apply(Self.news(type, signedAt: signedAt, willRenew: willRenew, days: days))
            }
            func rights() async throws -> [String] {
                var rights: [String] = []
                for user in ["ann", "bob"] as [UserID] {
                    rights += try await merchant.entitlements(of: user).entitlements.map { right in
                        let end = ((right.expiresAt ?? 0) - TestClock.start) / Self.day
                        return "\(user) \(right.state) \(end) \(right.willRenew.map(String.init) ?? "-")"
                    }
                }
                return rights
            }
            // It is older than what the earlier program knew.
            try await notify("DID_CHANGE_RENEWAL_STATUS", signedAt: TestClock.start + 4, willRenew: false)
            #expect(try await rights() == ["ann revoked 30 -", "bob active 30 true"])
            try await notify("RENEWAL_EXTENDED", signedAt: TestClock.start + 6, days: 45)
            #expect(try await rights() == ["ann revoked 30 -", "bob active 45 true"])
            try await notify("REFUND", signedAt: TestClock.start + 7, days: 45)
            #expect(try await rights() == ["ann revoked 30 -", "bob revoked 45 true"])
            try await notify("REFUND_REVERSED", signedAt: TestClock.start + 8, days: 45)
            #expect(try await rights() == ["ann revoked 30 -", "bob active 45 true"])
        }
    }
    /// News of the moved subscription.
    private static func news(
        _ type: String, signedAt: Int64, willRenew: Bool? = nil, days: Int64
    ) -> VerifiedNotification {
        let purchase = VerifiedPurchase(
            anchor: "test", environment: .production, bundleID: "com.example.books", productID: "plus",
            statedKind: nil, transactionID: "1", originalTransactionID: "1", quantity: 1,
            purchasedAt: TestClock.start, expiresAt: TestClock.start + days * day,
            webOrderLineItemID: "7", revokedAt: nil, revokedShare: nil, isUpgraded: false, accountToken: nil,
            signedAt: signedAt)
        return VerifiedNotification(
            notificationID: "\(type) \(signedAt)", type: type, subtype: nil, signedAt: signedAt,
            purchase: purchase, renewal: .init(willRenew: willRenew))
    }

    /// The moved subscription, whose period was extended to 45 days before the books kept when an end was signed.
    private static let extended =
        moved + [
            """
            INSERT INTO subscription_periods (subscription_key, period_key, product_id, purchased_at, expires_at,
                grace_signed_at)
            VALUES ('\(source)', '\(period)', 'plus', \(TestClock.start), \(TestClock.start + 45 * day),
                \(TestClock.start + 20))
            """
        ]

    @Test(arguments: Backend.available) func anExtendedEndOfBeforeIsReplacedByNewerOnesOnly(
        _ backend: Backend
    ) async throws {
        try await with(backend, earlier: Self.before("signed ends of periods"), Self.extended) {
            merchant, _ async throws in
            func daysOfBob() async throws -> [Int64] {
                try await merchant.entitlements(of: "bob").entitlements.map {
                    (($0.expiresAt ?? 0) - TestClock.start) / Self.day
                }
            }
            for (signedAt, days, expected) in [(10, 30, 45), (19, 60, 45), (21, 40, 40)] as [(Int64, Int64, Int64)] {
                try await merchant.apply(
                    Self.news(
                        "DID_CHANGE_RENEWAL_STATUS", signedAt: TestClock.start + signedAt, willRenew: true, days: days))
                let days = try await daysOfBob()
                #expect(days.isEmpty == false && days.allSatisfy { $0 == expected })
            }
        }
    }
}
