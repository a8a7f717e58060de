import Database
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct StoreKeyCheckTests {
    /// Gives the code of the ``StoreSecretsError`` that a function throws; nil when it throws none.
    private func code(_ body: () async throws -> Void) async throws -> StoreSecretsError.Code? {
        do {
            try await body()
            return nil
        } catch let error as StoreSecretsError {
            return error.code
        }
    }

    private func isThere(_ schema: String, at url: String) async throws -> Bool {
        try await Database.readUnmigrated(.postgresql(url: url, schema: schema, connections: 1)) { connection in
            try connection.queryOne("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = current_schema()") != nil
        }
    }

    @Test(arguments: Backend.available) func aCommandNeedsExactlyTheKeyOfTheSecrets(_ backend: Backend) async throws {
        try await backend.withDatabase(migrations: AppSchema.migrations) { apps, _ async throws in
            let key = StoreKey()
            #expect(try await code { try await StoreSecrets.check(nil, in: apps) } == nil)
            #expect(try await code { try await StoreSecrets.check(key, in: apps) } == .keyUnused)
            _ = try await StoreSecrets.open(apps, key: key)
            #expect(try await code { try await StoreSecrets.check(key, in: apps) } == nil)
            #expect(try await code { try await StoreSecrets.check(nil, in: apps) } == .keyMissing)
            #expect(try await code { try await StoreSecrets.check(StoreKey(), in: apps) } == .keyWrong)
        }
    }

    @Test(.enabled(if: Backend.available.contains(.postgresql)))
    func aKeyIsCheckedBeforeTheTablesAreMade() async throws {
        try await Backend.postgresql.withServerDatabase { url, prefix async throws in
            let address = try #require(url)
            let location = StoreDatabases.Location.postgresql(url: address, schemaPrefix: prefix)
            let (key, other) = (StoreKey(), StoreKey())
            // Without tables, every key is right.
            #expect(try await code { try await StoreSecrets.checkUnmigrated(location, key: key) } == nil)
            let refused = try await code {
                _ = try await StoreDatabases.open(location, logger: .silent) { throw StoreSecretsError.keyWrong }
            }
            #expect(refused == .keyWrong)
            #expect(try await !isThere("\(prefix)_apps", at: address))

            let databases = try await StoreDatabases.open(location, logger: .silent)
            _ = try await StoreSecrets.open(databases, key: key)
            await databases.close()
            #expect(try await isThere("\(prefix)_apps", at: address))
            #expect(try await code { try await StoreSecrets.checkUnmigrated(location, key: key) } == nil)
            #expect(try await code { try await StoreSecrets.checkUnmigrated(location, key: nil) } == .keyMissing)
            #expect(try await code { try await StoreSecrets.checkUnmigrated(location, key: other) } == .keyWrong)
        }
    }

    @Test(.enabled(if: Backend.available.contains(.postgresql)))
    func databasesThatMayNotBeMigratedAreNotMade() async throws {
        try await Backend.postgresql.withServerDatabase { url, prefix async throws in
            let address = try #require(url)
            let error = await #expect(throws: DatabaseError.self) {
                _ = try await StoreDatabases.open(
                    .postgresql(url: address, schemaPrefix: prefix), mayMigrate: false, logger: .silent)
            }
            #expect(error?.code == .olderSchema)
            for name in ["apps", "sandbox", "production"] {
                #expect(try await !isThere("\(prefix)_\(name)", at: address))
            }
        }
    }
}
