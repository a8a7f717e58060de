import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1))) struct SharedDatabasesTests {
    private func facts(_ change: (inout ProcessFacts) -> Void = { _ in }) -> StoreDatabases.Sharing {
        var facts = ProcessFacts(version: "1", name: "process of a test", blobs: "s3://bucket", startedAt: 1)
        change(&facts)
        return StoreDatabases.Sharing(facts: facts, name: "process of a test") {
            Int64(Date().timeIntervalSince1970 * 1000)
        }
    }

    private func with(_ body: (StoreDatabases.Location) async throws -> Void) async throws {
        try await Backend.postgresql.withServerDatabase { url, prefix in
            guard let url else { return }
            try await body(.postgresql(url: url, schemaPrefix: prefix))
        }
    }

    @Test func twoProcessesShareTheSchemas() async throws {
        try await with { location async throws in
            let one = try await StoreDatabases.open(location, sharing: facts(), connections: 2, logger: .silent)
            let two = try await StoreDatabases.open(location, sharing: facts(), connections: 2, logger: .silent)
            #expect(one.node == 0 && two.node == 1 && one.canBeLost)
            #expect(one.membership?.isFirst == true && two.membership?.isFirst == false)
            try await one.sandbox.check()
            try await two.sandbox.check()
            await one.close()
            await two.close()
            #expect(await one.whenLost() == nil)
        }
    }

    @Test func aSettingThatDiffersIsRefused() async throws {
        try await with { location async throws in
            let one = try await StoreDatabases.open(location, sharing: facts(), connections: 1, logger: .silent)
            let error = await #expect(throws: DatabaseError.self) {
                try await StoreDatabases.open(
                    location, sharing: facts { $0.storefront = "https://other" }, connections: 1, logger: .silent)
            }
            #expect(error?.code == .settingsDiffer)
            #expect(error?.detail.contains("--storefront-url") == true)
            await one.close()
            let other = try await StoreDatabases.open(
                location, sharing: facts { $0.storefront = "https://other" }, connections: 1, logger: .silent)
            await other.close()
        }
    }

    /// In the sandbox, the end of the account's history shows whether the last transaction is there, since the
    /// transaction itself may have been cleared. In production another process may have sold to the account since.
    @Test(arguments: [
        (StoreEnvironment.sandbox, "DELETE FROM transactions; UPDATE history_ends SET number = number - 1"),
        (StoreEnvironment.production, "DELETE FROM transactions; UPDATE history_ends SET number = number + 1"),
    ])
    func aServerWithoutTheLastTransactionIsNotUsed(_ environment: StoreEnvironment, _ loss: String) async throws {
        try await Backend.postgresql.withServerDatabase { url, prefix in
            guard let url, var components = URLComponents(string: url) else { return }
            let relay = try Relay(to: UInt16(components.port ?? 5432))
            defer { relay.close() }
            components.port = Int(relay.port)
            let store = try await StoreDatabases.open(
                .postgresql(url: components.string ?? "", schemaPrefix: prefix), sharing: facts(), connections: 1,
                logger: .silent)
            let id = TransactionID(rawValue: 5)
            let transaction = Transaction(
                accountID: AccountID("account"), transactionID: id, originalTransactionID: id,
                bundleID: "com.example.app", productID: "coins", itemID: 1, kind: .consumable, quantity: 1,
                price: Money(milliunits: 990, currency: "USD"), storefront: "USA", purchaseDate: 1,
                originalPurchaseDate: 1)
            let ledger = environment == .sandbox ? store.sandbox : store.production
            try await ledger.write { connection in
                try transaction.insert(in: environment, connection)
                // A refund or a change of plan in the same database transaction moves the end, too.
                _ = try HistoryEnds.move(to: TransactionID(rawValue: 6), of: transaction.accountID, connection)
            }
            relay.cut()
            let server = try await Database.open(
                .postgresql(url: url, schema: "\(prefix)_\(environment.name)", connections: 1),
                migrations: StoreSchema.migrations, logger: .silent)
            try await server.write { connection in
                for statement in loss.split(separator: "; ") { try connection.execute(String(statement)) }
            }
            await server.close()
            relay.mend()
            #expect(await store.whenLost()?.error.code == .dataLost)
            await store.close()
        }
    }

    /// The process that did it first may have ended before all others had heard of it.
    @Test func aRepeatedRevocationAndSignOutAreAnnouncedAgain() async throws {
        try await Backend.postgresql.withServerDatabase { url, prefix in
            guard let url else { return }
            let databases = try await StoreDatabases.open(
                .postgresql(url: url, schemaPrefix: prefix), sharing: facts(), connections: 2, logger: .silent)
            databases.membership?.hear { _ in }
            func version() async throws -> Int64 {
                try await databases.apps.read { connection in
                    try connection.queryOne("SELECT version FROM \"\(prefix)_processes\".change_versions")?.int64(0)
                        ?? 0
                }
            }
            let accounts = Accounts(database: databases.sandbox, cost: PasswordCost(rounds: 16))
            let account = try await accounts.create(
                NewAccount(email: "ape@example.com", password: "banana", storefront: "USA"), at: 1)
            let keys = try await APIKeys.open(databases)
            let keyID = try await keys.make(for: "com.example.app", at: 1).key.keyID
            let before = try await version()
            for number in 1...2 as ClosedRange<Int64> {
                #expect(try await keys.revoke(keyID, at: 2).revokedAt == 2)
                #expect(try await accounts.signOut(account, deviceID: nil) == 0)
                #expect(try await version() == before + 2 * number)
            }
            #expect(try await refusal { try await keys.revoke("0000000000", at: 3) } == .notFound)
            #expect(try await version() == before + 4)
            await databases.close()
        }
    }

    @Test func aProcessThatIsNotCurrentIsNotToldThatAnotherHasItsClaim() async throws {
        try await with { location async throws in
            let one = try await StoreDatabases.open(location, sharing: facts(), connections: 1, logger: .silent)
            let claims = Claims(one, holder: UUID()) { Int64(Date().timeIntervalSince1970 * 1000) }
            // It has not begun to hear.
            #expect(!claims.isCurrent)
            let (refusals, refusal) = AsyncStream.makeStream(of: Void.self)
            let claim = KeptClaim(claims, "feed", seconds: 60)
            let keeping = Task { await claim.keep { refusal.yield() } }
            // It tries once.
            keeping.cancel()
            await keeping.value
            refusal.finish()
            for await _ in refusals { Issue.record("the claim was refused because of another process") }
            await one.close()
        }
    }

    @Test func aProcessThatIsAloneIsRefused() async throws {
        try await with { location async throws in
            let one = try await StoreDatabases.open(location, sharing: facts(), connections: 1, logger: .silent)
            let error = await #expect(throws: DatabasesInUse.self) {
                try await StoreDatabases.open(location, logger: .silent)
            }
            #expect(error?.error.code == .inUse)
            await one.close()
            let alone = try await StoreDatabases.open(location, logger: .silent)
            #expect(alone.node == 0 && alone.membership == nil)
            await alone.close()
        }
    }
}
