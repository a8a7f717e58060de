import BlobStorage
import Database
import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// Books of earlier versions, opened by this one.
@Suite struct EarlierBooksTests {
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
}
