import BlobStorage
import Database
import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// Credits that cost nothing and credits that cost money.
@Suite(.timeLimit(.minutes(1))) struct EnvironmentTests {
    private static let separate = MerchantPolicy(environments: [.production, .sandbox], sendsWebhooks: true)
    private static let joined = MerchantPolicy(
        environments: [.production, .sandbox], sendsWebhooks: true, joinsEnvironments: true)

    private static func gems(_ shop: TestMerchant, _ environment: StoreEnvironment?) async throws -> Int64 {
        try await shop.merchant.balances(of: "ann", in: environment).amount(of: "gems")
    }

    /// Of the same database, under another policy.
    private static func merchant(_ shop: TestMerchant, _ policy: MerchantPolicy) -> Merchant {
        Merchant(
            database: shop.database, blobs: shop.merchant.blobs, verifier: shop.merchant.verifier, policy: policy,
            now: { [clock = shop.clock] in clock.milliseconds }, makeID: { UUID() })
    }

    @Test(arguments: Backend.available) func eachEnvironmentHasItsBalance(_ backend: Backend) async throws {
        try await TestMerchant.with(backend, policy: Self.separate) { shop async throws in
            let test = shop.purchase("coins", 1, environment: .sandbox)
            _ = try await shop.redeem(test, for: "ann")
            #expect(try await Self.gems(shop, nil) == 0)
            #expect(try await Self.gems(shop, .sandbox) == 100)
            let spend = SpendRequest(key: "k", currency: "gems", amount: 30)
            #expect(
                try await shop.code { _ = try await shop.merchant.spend(spend, by: "ann") } == .insufficientBalance)
            _ = try await shop.redeem(shop.purchase("coins", 2), for: "ann")
            // One key in each environment, each spent once.
            var other = spend
            other.environment = .sandbox
            for _ in 0..<2 {
                #expect(try await shop.merchant.spend(spend, by: "ann").environment == .production)
                let answer = try await shop.merchant.spend(other, by: "ann")
                #expect(answer.environment == .sandbox && answer.balance == 70 && answer.key == "k")
            }
            other.amount = 31
            #expect(try await shop.code { _ = try await shop.merchant.spend(other, by: "ann") } == .keyReused)
            let page = try await shop.merchant.history(of: "ann", "gems", before: nil, in: .sandbox)
            #expect(page.entries.map(\.amount) == [-30, 100] && page.environment == .sandbox)
            #expect(page.entries.allSatisfy { $0.environment == .sandbox } && page.entries.first?.reference == "k")
            // Credits that end do so in their own balance.
            _ = try await shop.redeem(shop.purchase("passing", 3, environment: .sandbox), for: "ann")
            #expect(try await Self.gems(shop, .sandbox) == 120)
            shop.clock.milliseconds += 1_000_001
            #expect(try await Self.gems(shop, .sandbox) == 70)
            #expect(try await Self.gems(shop, .production) == 70)
            // A refund of the sandbox takes nothing that was paid for.
            try await shop.notify("REFUND", test)
            #expect(try await Self.gems(shop, .sandbox) == 0)
            #expect(try await Self.gems(shop, .production) == 70)
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", test)
            #expect(try await Self.gems(shop, .sandbox) == 70)
            let report = try await shop.merchant.checkBooks()
            #expect(report.findings == [] && report.accounts == 2)
            #expect(
                report.outstanding == [
                    Balance(currency: "gems", amount: 70),
                    Balance(currency: "gems", amount: 70, environment: .sandbox),
                ])
            #expect(try await shop.merchant.report(of: "ann").balances == report.outstanding)
            #expect(try await shop.merchant.readReport(of: "ann").balances == report.outstanding)
            let events = try await shop.merchant.outbox.takeDueEvents(limit: 99, retries: 99, now: .max, leaseEnd: .max)
            let bodies = try events.map {
                try #require(JSONSerialization.jsonObject(with: Data($0.body)) as? [String: Any])
            }
            let named = bodies.compactMap { ($0["data"] as? [String: Any])?["environment"] as? String }
            #expect(named.count == events.count && Set(named) == ["Sandbox", "Production"])
        }
    }

    @Test(arguments: Backend.available) func thePolicyCanJoinTheEnvironmentsBalances(_ backend: Backend) async throws {
        try await TestMerchant.with(backend, policy: Self.joined) { shop async throws in
            let test = shop.purchase("coins", 1, environment: .sandbox)
            _ = try await shop.redeem(test, shop.purchase("coins", 2, environment: .sandbox), for: "ann")
            _ = try await shop.redeem(shop.purchase("coins", 3), for: "ann")
            for environment in [nil, .production, .sandbox] as [StoreEnvironment?] {
                #expect(try await Self.gems(shop, environment) == 300)
            }
            let entries = try await shop.merchant.history(of: "ann", "gems", before: nil).entries
            #expect(entries.map(\.environment) == [.production, .sandbox, .sandbox])
            // What is in an account stays there when the policy changes, and a refund finds it.
            let apart = Self.merchant(shop, Self.separate)
            #expect(try await apart.balances(of: "ann", in: .sandbox).balances == [])
            for (type, left) in [("REFUND", 200), ("REFUND_REVERSED", 300)] as [(String, Int64)] {
                shop.clock.milliseconds += 1
                try await apart.apply(
                    VerifiedNotification(
                        notificationID: type, type: type, subtype: nil, signedAt: shop.clock.milliseconds,
                        purchase: test, renewal: nil))
                #expect(try await Self.gems(shop, nil) == left)
            }
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func thePolicySetsTheDefaultEnvironment(_ backend: Backend) async throws {
        #expect(MerchantPolicy(environments: [.sandbox]).usualEnvironment == .sandbox)
        #expect(MerchantPolicy(environments: [.sandbox, .production]).usualEnvironment == .production)
        let policy = MerchantPolicy(environments: [.production, .sandbox], usualEnvironment: .sandbox)
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1, environment: .sandbox), for: "ann")
            #expect(try await Self.gems(shop, nil) == 100)
            let answer = try await shop.merchant.spend(
                SpendRequest(key: "k", currency: "gems", amount: 30), by: "ann")
            #expect(answer.environment == .sandbox)
            // No currency is taken for an account of the sandbox.
            let gift = AdjustmentRequest(key: "g", currency: "sandbox/gems", amount: 1)
            #expect(try await shop.code { _ = try await shop.merchant.adjust(gift, of: "ann") } == .invalidRequest)
            // Nor a key for one of the sandbox's.
            let taken = AdjustmentRequest(key: "sandbox/k", currency: "gems", amount: 1)
            #expect(try await shop.code { _ = try await shop.merchant.adjust(taken, of: "ann") } == .invalidRequest)
        }
    }

    /// What somebody does to the accounts of both environments, how it is undone, and how the finding ends.
    private static let confusions: [(change: String, back: String, finding: String)] = [
        (
            // A refund of the sandbox's is taken from what was paid for.
            "UPDATE ledger_entries SET currency = 'gems' WHERE kind = 'refund'",
            "UPDATE ledger_entries SET currency = 'sandbox/gems' WHERE kind = 'refund'",
            "/S/com.example.books/t/1: its gems entries are in 2 accounts: gems, sandbox/gems"
        ),
        (
            "UPDATE ledger_entries SET currency = 'sandbox/gems' WHERE user_id = 'bob'",
            "UPDATE ledger_entries SET currency = 'gems' WHERE user_id = 'bob'",
            "/P/com.example.books/t/3: bought in production, but its gems are in a sandbox account"
        ),
    ]

    @Test(arguments: Backend.available) func theCheckTellsTheEnvironmentsApart(_ backend: Backend) async throws {
        try await TestMerchant.with(backend, policy: Self.separate) { shop async throws in
            let test = shop.purchase("coins", 1, environment: .sandbox)
            _ = try await shop.redeem(test, for: "ann")
            _ = try await shop.redeem(shop.purchase("coins", 2), for: "ann")
            _ = try await shop.redeem(shop.purchase("coins", 3), for: "bob")
            try await shop.notify("REFUND", test)
            #expect(try await shop.findings() == [])
            for (change, back, finding) in Self.confusions {
                // The newest entry says what the account's balance is.
                try await shop.database.write { _ = try $0.execute(change) }
                let findings = try await shop.findings()
                #expect(findings.count == 1 && findings.first?.hasSuffix(finding) == true, "\(findings)")
                try await shop.database.write { _ = try $0.execute(back) }
                #expect(try await shop.findings() == [])
            }
        }
    }

    /// Accounts as earlier programs kept them, both environments in one.
    @Test(arguments: Backend.available) func earlierAccountsAreTakenOver(_ backend: Backend) async throws {
        let earlier = Array(MerchantSchema.migrations.prefix { $0.name != "sandbox accounts" })
        try await backend.withDatabase(migrations: earlier) { database, location in
            try await database.write { connection in
                // ann bought in the sandbox alone, bob in both, cid was given credits by hand.
                for (user, entry, kind, amount, balance, reference) in [
                    ("ann", 1, "grant", 100, 100, "test/S/com.example.books/t/1"), ("ann", 2, "spend", -30, 70, "k"),
                    ("bob", 1, "grant", 100, 100, "test/S/com.example.books/t/2"),
                    ("bob", 2, "grant", 100, 200, "test/P/com.example.books/t/3"), ("bob", 3, "spend", -30, 170, "k"),
                    ("cid", 1, "adjustment", 7, 7, "g"),
                ] as [(String, Int64, String, Int64, Int64, String)] {
                    let against = ["spend": "shop", "grant": "store"][kind] ?? "merchant"
                    try connection.execute(
                        """
                        INSERT INTO ledger_entries (user_id, currency, entry, kind, amount, counter_account, counter_amount,
                            balance, reference, created_at) VALUES ($1, 'gems', $2, $3, $4, $5, $6, $7, $8, 1)
                        """, [user, entry, kind, amount, against, -amount, balance, reference])
                }
                for (user, environment, id) in [("ann", "S", 1), ("bob", "S", 2), ("bob", "P", 3)]
                    as [(String, String, Int64)]
                {
                    try connection.execute(
                        """
                        INSERT INTO redemptions (redemption_key, user_id, product_id, transaction_id, original_transaction_id,
                            quantity, grants, purchased_at, redeemed_at, state, state_signed_at)
                        VALUES ($1, $2, 'coins', $3, $3, 1, '[{"credits":100,"currency":"gems"}]', 1, 1, 'granted', 1)
                        """, ["test/\(environment)/com.example.books/t/\(id)", user, String(id)])
                }
                try connection.execute(
                    """
                    INSERT INTO credit_lots (user_id, currency, expires_at, reference, remaining)
                    VALUES ('ann', 'gems', $1, 'test/S/com.example.books/t/1', 20), ('bob', 'gems', $1, 'x', 5)
                    """, [Int64.max])
            }
            let now = try await Database.open(location, migrations: MerchantSchema.migrations, logger: .silent)
            try await TemporaryDirectory.with { directory async throws in
                let merchant = Merchant(
                    database: now, blobs: try DirectoryBlobStore(folder: directory.url),
                    verifier: try PurchaseVerifier(stores: [], bundleIDs: [], environments: []), policy: Self.separate,
                    now: { TestClock.start }, makeID: { UUID() })
                let sandbox = Balance(currency: "gems", amount: 70, environment: .sandbox)
                #expect(try await merchant.report(of: "ann").balances == [sandbox])
                #expect(try await merchant.report(of: "bob").balances == [Balance(currency: "gems", amount: 170)])
                #expect(try await merchant.report(of: "cid").balances == [Balance(currency: "gems", amount: 7)])
                // A spend that was answered is answered again.
                let spend = SpendRequest(key: "k", currency: "gems", amount: 30, environment: .sandbox)
                #expect(try await merchant.spend(spend, by: "ann").entry == 2)
                #expect(try await merchant.checkBooks().findings == [])
                let entries = try await merchant.history(of: "bob", "gems", before: nil).entries
                #expect(entries.map(\.environment) == [.production, .production, .sandbox])
            }
            await now.close()
        }
    }
}
