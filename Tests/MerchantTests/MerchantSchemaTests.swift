import BlobStorage
import Database
import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

@Suite(.timeLimit(.minutes(1))) struct MerchantSchemaTests {
    @Test func writingARowBuildsNoTemporaryTable() async throws {
        #expect(try await SQLiteProgram.tablesWithCostlyRows(MerchantSchema.migrations) == [])
    }

    /// Rows of a merchant that ran the third version of the tables.
    private static let former = [
        redemption("test/P/b/t/1", "ann", "coins", "1", #"[{"credits":100,"currency":"gems"}]"#),
        redemption("test/P/b/o/2", "ann", "pro", "2", #"[{"entitlement":"pro"}]"#),
        redemption("test/P/b/p/3/7", "ann", "monthly", "3", #"[{"entitlement":"club"}]"#),
        redemption("test/P/b/p/4/8", "ann", "monthly", "4", #"[{"entitlement":"club"}]"#),
        entry(1, "grant", 100, 100, "store", "test/P/b/t/1"), entry(2, "adjustment", 7, 107, "merchant", "gift"),
        entry(3, "spend", -17, 90, "shop", "sword"),
        right("ann", "pro", "test/P/b/o/2", "pro", "NULL"), right("ann", "club", "test/P/b/s/3", "monthly", "900"),
        // It went over to her by another period than the one that gave it.
        right("bob", "club", "test/P/b/s/4", "monthly", "900"), subscription("3", "ann"), subscription("4", "bob"),
    ]

    private static func redemption(
        _ key: String, _ user: String, _ product: String, _ id: String, _ grants: String
    ) -> String {
        """
        INSERT INTO redemptions (redemption_key, user_id, product_id, transaction_id, original_transaction_id, quantity,
            grants, purchased_at, redeemed_at, state, state_signed_at)
        VALUES ('\(key)', '\(user)', '\(product)', '\(id)', '\(id)', 1, '\(grants)', 500, 500, 'granted', 500)
        """
    }

    private static func entry(
        _ number: Int, _ kind: String, _ amount: Int, _ balance: Int, _ account: String, _ reference: String
    ) -> String {
        """
        INSERT INTO ledger_entries (user_id, currency, entry, kind, amount, counter_account, counter_amount, balance,
            reference, created_at)
        VALUES ('ann', 'gems', \(number), '\(kind)', \(amount), '\(account)', \(-amount), \(balance), '\(reference)', 1)
        """
    }

    private static func right(
        _ user: String, _ name: String, _ source: String, _ product: String, _ end: String
    ) -> String {
        """
        INSERT INTO entitlements (user_id, kind, name, source, product_id, starts_at, expires_at)
        VALUES ('\(user)', 'entitlement', '\(name)', '\(source)', '\(product)', 500, \(end))
        """
    }

    private static func subscription(_ id: String, _ user: String) -> String {
        """
        INSERT INTO subscriptions (subscription_key, user_id, product_id, purchased_at, expires_at, status_signed_at)
        VALUES ('test/P/b/s/\(id)', '\(user)', 'monthly', 500, 900, 0)
        """
    }

    @Test(arguments: Backend.available) func whatAnEarlierProgramKeptIsProved(_ backend: Backend) async throws {
        try await backend.withLocation { location in
            let before = try await Database.open(
                location, migrations: Array(MerchantSchema.migrations.prefix(3)), logger: .silent)
            try await before.write { connection in
                for statement in Self.former { try connection.execute(statement) }
            }
            await before.close()
            let database = try await Database.open(location, migrations: MerchantSchema.migrations, logger: .silent)
            try await TemporaryDirectory.with { directory in
                let merchant = Merchant(
                    database: database, blobs: try DirectoryBlobStore(folder: directory.url),
                    verifier: try PurchaseVerifier(stores: [], bundleIDs: [], environments: []),
                    policy: MerchantPolicy(), now: { 600 }, makeID: { UUID() })
                #expect(try await merchant.checkBooks().findings == [])
                // What was ordered or spent before is answered as it was.
                let gift = AdjustmentRequest(key: "gift", currency: "gems", amount: 7)
                #expect(try await merchant.adjust(gift, of: "ann").entry == 2)
                let sword = SpendRequest(key: "sword", currency: "gems", amount: 17)
                for caller in [LedgerCaller.app, .backend] {
                    #expect(try await merchant.spend(sword, by: "ann", for: caller).entry == 3)
                }
                let kinds = try await database.read { connection in
                    try connection.query("SELECT product_id, kind FROM product_kinds ORDER BY product_id")
                        .map { "\(try $0.string(0)) \(try $0.string(1))" }
                }
                #expect(kinds == ["coins consumable", "monthly autoRenewableSubscription", "pro nonConsumable"])
                let givers = try await database.read { connection in
                    try connection.query("SELECT granted_by FROM entitlements WHERE name = 'club' ORDER BY user_id")
                        .map { try $0.string(0) }
                }
                #expect(givers == ["test/P/b/p/3/7", ""])
            }
            await database.close()
        }
    }
}
