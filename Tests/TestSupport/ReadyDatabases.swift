import Database
import Foundation

/// Databases that already have their tables. To make the tables takes longer than most tests, so a SQLite file is made
/// once and copied, and a PostgreSQL schema is emptied after a test and used by another one.
actor ReadyDatabases {
    /// Schemas of one test, each with its migrations, by the end of its name.
    typealias Tables = [String: [Migration]]

    static let shared = ReadyDatabases()

    /// Whether PostgreSQL's server is removed after the run, as `scripts/with-postgresql` says. Only then may schemas
    /// stay in it.
    static let mayLeaveSchemas =
        ProcessInfo.processInfo.environment["CORNERSTORE_TEST_POSTGRESQL_IS_TEMPORARY"] == "1"

    private var files: [[String]: Task<Data, any Error>] = [:]
    private var prefixes: [[String]: [String]] = [:]

    // MARK: SQLite

    /// Writes a SQLite file that has the tables. Opening it finds no migration to apply.
    nonisolated func write(_ migrations: [Migration], to path: String) async throws {
        let bytes = try await file(migrations)
        try bytes.write(to: URL(fileURLWithPath: path))
    }

    /// The bytes of a file, which is made once. A failure is not kept: the next test tries again.
    private func file(_ migrations: [Migration]) async throws -> Data {
        let key = Self.key(["": migrations])
        let making: Task<Data, any Error>
        if let known = files[key] {
            making = known
        } else {
            making = Task { try await Self.makeFile(migrations) }
            files[key] = making
        }
        do {
            return try await making.value
        } catch {
            if files[key] == making { files[key] = nil }
            throw error
        }
    }

    private static func makeFile(_ migrations: [Migration]) async throws -> Data {
        try await TemporaryDirectory.with { directory -> Data in
            let path = directory.path("store.sqlite")
            // Closing moves the log into the file.
            let database = try await Database.open(.sqlite(path: path), migrations: migrations, logger: .silent)
            await database.close()
            return try Data(contentsOf: URL(fileURLWithPath: path))
        }
    }

    // MARK: PostgreSQL

    /// Runs a test with empty schemas on a temporary PostgreSQL server. A test that fails, or that changes the tables
    /// themselves, leaves nothing to other tests.
    ///
    /// - Parameter body: Gets the beginning of the schemas' names; it must close what it opens.
    /// - Throws: What `body` throws, and what PostgreSQL says if it cannot empty the schemas.
    static func withSchemas<T>(
        _ tables: Tables, at address: String, _ body: (_ prefix: String) async throws -> T
    ) async throws -> T {
        let key = Self.key(tables)
        let known = await shared.take(key)
        let prefix = known ?? Backend.newName()
        let result = await Result<T, any Error>.catching {
            if known == nil { try await make(tables, prefix, at: address) }
            return try await body(prefix)
        }
        var isEmpty = false
        if case .success = result {
            do {
                isEmpty = try await empty(tables, prefix)
            } catch {
                for suffix in tables.keys { try? await SchemaJanitor.drop(prefix + suffix) }
                throw error
            }
        }
        if isEmpty {
            await shared.give(prefix, key)
        } else {
            for suffix in tables.keys { try await SchemaJanitor.drop(prefix + suffix) }
        }
        return try result.get()
    }

    private func take(_ key: [String]) -> String? { prefixes[key]?.popLast() }

    private func give(_ prefix: String, _ key: [String]) { prefixes[key, default: []].append(prefix) }

    private static func make(_ tables: Tables, _ prefix: String, at address: String) async throws {
        for (suffix, migrations) in tables {
            let location = DatabaseLocation.postgresql(url: address, schema: prefix + suffix, connections: 1)
            let database = try await Database.open(location, migrations: migrations, logger: .silent)
            await database.close()
            try await SchemaJanitor.remember(prefix + suffix)
        }
    }

    private static func empty(_ tables: Tables, _ prefix: String) async throws -> Bool {
        for suffix in tables.keys {
            guard try await SchemaJanitor.empty(prefix + suffix) else { return false }
        }
        return true
    }

    /// Tells apart what differs in a name or a statement.
    private static func key(_ tables: Tables) -> [String] {
        tables.sorted { $0.key < $1.key }.flatMap { suffix, migrations in
            [suffix] + migrations.map { "\($0.checksum) \($0.name)" }
        }
    }
}
