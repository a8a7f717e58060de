import Database
import TestSupport
import Testing

private let first = Migration(1, "accounts", ["CREATE TABLE account (id TEXT NOT NULL PRIMARY KEY)"])
private let second = Migration(
    2, "balances",
    [
        "ALTER TABLE account ADD COLUMN balance BIGINT NOT NULL DEFAULT 0", "INSERT INTO account (id) VALUES ('house')",
    ])

private func open(_ location: DatabaseLocation, _ migrations: [Migration]) async throws -> [String] {
    let database = try await Database.open(location, migrations: migrations, logger: .silent)
    let result = await Result.of {
        try await database.read { connection in
            try connection.query("SELECT number, name FROM schema_migrations ORDER BY number")
                .map { "\(try $0.int(0)) \(try $0.string(1))" }
        }
    }
    await database.close()
    return try result.get()
}

@Suite(.timeLimit(.minutes(1))) struct MigrationTests {
    @Test(arguments: Backend.available) func missingMigrationsAreAppliedOnce(backend: Backend) async throws {
        try await backend.withLocation { location async throws in
            #expect(try await open(location, [first]) == ["1 accounts"])
            #expect(try await open(location, [first, second]) == ["1 accounts", "2 balances"])
            #expect(try await open(location, [first, second]) == ["1 accounts", "2 balances"])
        }
    }

    @Test(arguments: Backend.available) func aNewerDatabaseIsRefused(backend: Backend) async throws {
        try await backend.withLocation { location async throws in
            _ = try await open(location, [first, second])
            let error = await expect(.newerSchema) { try await open(location, [first]) }
            #expect(error?.detail.contains("migration 2") == true)
            _ = try await open(location, [first, second])
        }
    }

    @Test(arguments: Backend.available) func aChangedMigrationIsRefused(backend: Backend) async throws {
        try await backend.withLocation { location async throws in
            _ = try await open(location, [first])
            let changed = [
                Migration(1, "accounts", ["CREATE TABLE account (id TEXT NOT NULL PRIMARY KEY )"]),
                Migration(1, "customers", first.statements),
                Migration(1, "accounts", first.statements + first.statements),
            ]
            for migration in changed {
                await expect(.changedMigration) { try await open(location, [migration]) }
                await expect(.changedMigration) { try await open(location, [migration, second]) }
            }
            #expect(try await open(location, [first]) == ["1 accounts"])
        }
    }

    @Test(arguments: Backend.available) func anEarlierVersionOfAMigrationIsAccepted(backend: Backend) async throws {
        try await backend.withLocation { location async throws in
            _ = try await open(location, [first])
            let words = ["CREATE TABLE account (id TEXT NOT NULL, PRIMARY KEY (id))"]
            let former = "462189618876b0f1c668e96bd1e3792dd40bc82621317beac1f1beae570e3cab"
            let reworded = Migration(1, "accounts", words, formerly: [former])
            #expect(try await open(location, [reworded, second]) == ["1 accounts", "2 balances"])
            for other in [[], [String(former.reversed())]] {
                await expect(.changedMigration) {
                    try await open(location, [Migration(1, "accounts", words, formerly: other), second])
                }
            }
            await expect(.changedMigration) {
                try await open(location, [Migration(1, "customers", words, formerly: [former]), second])
            }
        }
        // Those that begin with the new words have no use for the others.
        try await backend.withLocation { location async throws in
            let reworded = Migration(1, "accounts", first.statements, formerly: ["0"])
            #expect(try await open(location, [reworded]) == ["1 accounts"])
            #expect(try await open(location, [first, second]) == ["1 accounts", "2 balances"])
        }
    }

    @Test(arguments: Backend.available) func aDatabaseChangedByHandIsRefused(backend: Backend) async throws {
        try await backend.withLocation { location async throws in
            let database = try await Database.open(location, migrations: [first, second], logger: .silent)
            try await database.write { try $0.execute("DELETE FROM schema_migrations WHERE number = 1") }
            await database.close()
            await expect(.changedMigration) { try await open(location, [first, second]) }
        }
    }

    @Test(arguments: Backend.available) func aFailedMigrationLeavesNoChanges(backend: Backend) async throws {
        try await backend.withLocation { location async throws in
            let broken = Migration(2, "broken", second.statements + ["INSERT INTO account (id) VALUES ('house')"])
            await expect(.uniqueViolation) { try await open(location, [first, broken]) }
            #expect(try await open(location, [first]) == ["1 accounts"])
            #expect(try await open(location, [first, second]) == ["1 accounts", "2 balances"])
        }
    }

    @Test(arguments: Backend.available) func concurrentStartsApplyEachMigrationOnce(backend: Backend) async throws {
        try await backend.withLocation(connections: 1) { location in
            try await withThrowingTaskGroup { group in
                for _ in 0..<6 {
                    group.addTask { try await open(location, [first, second]) }
                }
                for try await applied in group { #expect(applied == ["1 accounts", "2 balances"]) }
            }
        }
    }

    @Test(arguments: [[2], [1, 1], [2, 1], [1, 3], [0, 1]]) func migrationsMustBeNumberedInOrder(numbers: [Int])
        async throws
    {
        try await Backend.sqlite.withLocation { location async throws in
            await expect(.invalidMigrations) { try await open(location, numbers.map { Migration($0, "step", []) }) }
        }
    }
}
