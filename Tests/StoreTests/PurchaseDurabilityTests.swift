import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Database
@testable import Store

/// Nothing is acknowledged that is not kept, and what was not acknowledged can be repeated under its key.
@Suite(.timeLimit(.minutes(1))) struct PurchaseDurabilityTests {
    /// Lets every statement of a purchase succeed and its commit fail, as long as `commit_allowed` is empty: each
    /// transaction's row brings another with a reference that is only looked at when it is committed.
    private static func failingCommits(_ backend: Backend) -> Migration {
        let tables = [
            "CREATE TABLE commit_allowed (id BIGINT PRIMARY KEY)",
            """
            CREATE TABLE commit_wanted (
                allowed BIGINT NOT NULL REFERENCES commit_allowed (id) DEFERRABLE INITIALLY DEFERRED
            )
            """,
        ]
        switch backend {
        case .sqlite:
            return Migration(
                StoreSchema.migrations.count + 1, "commits that fail",
                tables + [
                    """
                    CREATE TRIGGER wanted AFTER INSERT ON transactions
                    BEGIN INSERT INTO commit_wanted (allowed) VALUES (1); END
                    """
                ])
        case .postgresql:
            return Migration(
                StoreSchema.migrations.count + 1, "commits that fail",
                tables + [
                    """
                    CREATE FUNCTION want_commit() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN INSERT INTO commit_wanted (allowed) VALUES (1); RETURN NEW; END'
                    """,
                    "CREATE TRIGGER wanted AFTER INSERT ON transactions FOR EACH ROW EXECUTE FUNCTION want_commit()",
                ])
        }
    }

    @Test(arguments: Backend.available) func aFailedCommitMakesNoPurchaseAndTheRetryMakesOne(_ backend: Backend)
        async throws
    {
        for product: ProductID in ["credits5", "hats", "club.monthly"] {
            try await backend.withStore(extraMigrations: [Self.failingCommits(backend)]) { test async throws in
                let account = try await test.account()
                let request = test.request(product)
                for _ in 0..<2 {
                    await #expect(throws: DatabaseError.self) { try await test.store.purchase(request, by: account) }
                    for table in ["transactions", "purchases", "ownerships"] {
                        #expect(try await test.count(table) == 0, "\(table)")
                    }
                }
                try await test.database.write { try $0.execute("INSERT INTO commit_allowed (id) VALUES (1)") }
                let answer = try await test.store.purchase(request, by: account)
                #expect(answer.state == .purchased)
                #expect(try await test.store.purchase(request, by: account) == answer)
                #expect(try await test.ledger().map(\.description) == [answer.transaction])
            }
        }
    }

    @Test(arguments: Backend.available) func aLostDatabaseFailsTheWholePurchase(_ backend: Backend) async throws {
        try await backend.withDatabase(migrations: AppSchema.migrations) { apps, _ async throws in
            try await backend.withLocation { location async throws in
                let clock = TestClock()
                let database = try await Database.open(location, migrations: StoreSchema.migrations, logger: .silent)
                // The processor approves, and the database is gone when the purchase is to be recorded.
                let processor = ScriptedProcessor { payment in
                    await database.close()
                    return .approved(reference: "R-\(payment.idempotencyKey)")
                }
                let test = try await TestStore.open(database, apps: apps, clock: clock, processor: processor)
                let account = try await test.account()
                let request = test.request("hats")
                await #expect(throws: DatabaseError.self) { try await test.store.purchase(request, by: account) }

                let again = try await Database.open(location, migrations: StoreSchema.migrations, logger: .silent)
                let second = ScriptedProcessor()
                let restarted = try await TestStore.open(again, apps: apps, clock: clock, processor: second)
                #expect(try await restarted.ledger().isEmpty)
                let answer = try await restarted.store.purchase(request, by: account)
                #expect(answer.state == .purchased)
                #expect(try await restarted.ledger().map(\.description) == [answer.transaction])
                // The processor is asked again under the same key, which is the same authorization to it.
                #expect(second.authorizations == processor.authorizations)
                await again.close()
            }
        }
    }

    @Test func aFullDiskFailsThePurchaseThatDoesNotFit() async throws {
        try await Backend.sqlite.withDatabase(migrations: AppSchema.migrations) { apps, _ async throws in
            try await TemporaryDirectory.with { directory async throws in
                var settings = SQLiteSettings()
                settings.maximumPages = 128
                let database = try await Database.open(
                    .sqlite(path: directory.path("store.sqlite")), migrations: StoreSchema.migrations,
                    limits: Database.Limits(),
                    sqlite: settings, logger: .silent)
                let test = try await TestStore.open(database, apps: apps, clock: TestClock())
                let account = try await test.account()
                var acknowledged: [TransactionDescription] = []
                var refused: PurchaseRequest?
                for _ in 0..<2000 where refused == nil {
                    let request = test.request("credits5", username: String(repeating: "x", count: 500))
                    do {
                        acknowledged.append(
                            try #require(try await test.store.purchase(request, by: account).transaction))
                    } catch let error as DatabaseError {
                        #expect(error.code == .full)
                        refused = request
                    }
                }
                let request = try #require(refused)
                #expect(acknowledged.count > 10)
                #expect(try await test.ledger().map(\.description) == acknowledged)
                // Room is made; the refused one goes through under its key, once.
                try await database.write {
                    try $0.execute(
                        "DELETE FROM purchases WHERE idempotency_key <> $1", [request.idempotencyKey.uuidString])
                }
                let answer = try await test.store.purchase(request, by: account)
                #expect(try await test.store.purchase(request, by: account) == answer)
                #expect(try await test.ledger().map(\.description) == acknowledged + [try #require(answer.transaction)])
                await database.close()
            }
        }
    }

    @Test(.enabled(if: Backend.available.contains(.postgresql))) func aConnectionCutInThePurchaseLosesNothing()
        async throws
    {
        try await Backend.postgresql.withDatabase(migrations: AppSchema.migrations) { apps, _ async throws in
            try await Backend.postgresql.withDatabase(migrations: StoreSchema.migrations, connections: 1) {
                database, _ async throws in
                // The server ends the only connection between the look at the key and the record of the purchase.
                let processor = ScriptedProcessor { payment in
                    let process = try await database.read { try $0.queryOne("SELECT pg_backend_pid()")?.int(0) ?? 0 }
                    _ = try await apps.read {
                        try $0.query("SELECT pg_terminate_backend(CAST($1 AS INTEGER), 10000)", [process])
                    }
                    return .approved(reference: "R-\(payment.idempotencyKey)")
                }
                let test = try await TestStore.open(database, apps: apps, clock: TestClock(), processor: processor)
                let account = try await test.account()
                let request = test.request("hats")
                let first = try? await test.store.purchase(request, by: account)
                if let first { #expect(try await test.ledger().map(\.description) == [first.transaction]) }
                let second = try await test.store.purchase(request, by: account)
                #expect(first == nil || first == second)
                #expect(try await test.ledger().map(\.description) == [second.transaction])
            }
        }
    }

    @Test func `only an error after which nothing was recorded says so`() {
        for code in [DatabaseError.Code.busy, .full, .serialization, .closed, .unavailable] {
            let error = StoreError(databaseError: DatabaseError(code, "secret"))
            #expect(error?.code == .unavailable && error?.detail.contains("secret") == false)
            // The outcome of a commit whose connection broke is unknown.
            #expect(error?.detail.contains("Nothing was recorded") == (code != .unavailable), "\(code)")
            #expect(error?.detail.contains("same idempotency key") == (code == .unavailable), "\(code)")
        }
    }
}
