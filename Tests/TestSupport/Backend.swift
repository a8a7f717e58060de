import Database
import Foundation
import Logging

/// The two database engines, for tests that must hold on both: `@Test(arguments: Backend.available)`.
public enum Backend: String, CaseIterable, Sendable, CustomStringConvertible {
    case sqlite
    case postgresql

    /// The environment variable with the address of a server that tests may make schemas on.
    public static let variable = "CORNERSTORE_TEST_POSTGRESQL"

    /// The server's address, when there is one.
    public static var address: String? { ProcessInfo.processInfo.environment[variable] }

    /// The engines to test. PostgreSQL is left out when no server is named, except in CI, where that must be a failure.
    public static var available: [Backend] {
        let mustBeThere = ProcessInfo.processInfo.environment["CI"] == "true"
        return address != nil || mustBeThere ? allCases : [.sqlite]
    }

    /// The engine's name.
    public var description: String { rawValue }

    /// Opens a database of its own for one test, and removes it afterwards.
    ///
    /// - Parameters:
    ///   - migrations: what it starts with.
    ///   - connections: the size of PostgreSQL's pool.
    ///   - body: the test; it may open the location again.
    @discardableResult
    public func withDatabase<T>(
        migrations: [Migration] = [], connections: Int = 4,
        _ body: (Database, DatabaseLocation) async throws -> T
    ) async throws -> T {
        try await withLocation(migrations, connections) { location in
            let database = try await Database.open(location, migrations: migrations, logger: .silent)
            let result = await Result.catching { try await body(database, location) }
            await database.close()
            return try result.get()
        }
    }

    /// Gives a place that may have the migrations' tables already, and no rows in them.
    private func withLocation<T>(
        _ migrations: [Migration], _ connections: Int, _ body: (DatabaseLocation) async throws -> T
    ) async throws -> T {
        // A single migration is applied as fast as the tables would be copied.
        guard migrations.count > 1 else { return try await withLocation(connections: connections, body) }
        switch self {
        case .sqlite:
            return try await TemporaryDirectory.with { directory in
                let path = directory.path("store.sqlite")
                try await ReadyDatabases.shared.write(migrations, to: path)
                return try await body(.sqlite(path: path))
            }
        case .postgresql:
            guard let address = Self.address, ReadyDatabases.mayLeaveSchemas else {
                return try await withLocation(connections: connections, body)
            }
            return try await ReadyDatabases.withSchemas(["": migrations], at: address) { schema in
                try await body(.postgresql(url: address, schema: schema, connections: connections))
            }
        }
    }

    /// Gives a place where no database is yet, and removes afterwards what the test made there.
    @discardableResult
    public func withLocation<T>(connections: Int = 4, _ body: (DatabaseLocation) async throws -> T) async throws -> T {
        switch self {
        case .sqlite:
            return try await TemporaryDirectory.with { directory in
                try await body(.sqlite(path: directory.path("store.sqlite")))
            }
        case .postgresql:
            guard let address = Self.address else { throw MissingServer() }
            let schema = Self.newName()
            let location = DatabaseLocation.postgresql(url: address, schema: schema, connections: connections)
            let result = await Result.catching { try await body(location) }
            try await SchemaJanitor.drop(schema)
            return try result.get()
        }
    }

    /// Gives a store server a database of its own: the address (nil for SQLite in its data directory) and the prefix of
    /// its schemas, which are removed afterwards.
    ///
    /// - Parameter ready: migrations whose tables PostgreSQL may have already, by the end of the schema's name, such as
    ///   `apps`. The test must close what it opens there.
    @discardableResult
    public func withServerDatabase<T>(
        ready: [String: [Migration]] = [:], _ body: (_ url: String?, _ schemaPrefix: String) async throws -> T
    ) async throws -> T {
        guard self == .postgresql else { return try await body(nil, Self.newName()) }
        guard let address = Self.address else { throw MissingServer() }
        guard !ready.isEmpty, ReadyDatabases.mayLeaveSchemas else {
            return try await withServerSchemas(Self.newName(), address, but: [], body)
        }
        let tables = Dictionary(uniqueKeysWithValues: ready.map { ("_" + $0.key, $0.value) })
        return try await ReadyDatabases.withSchemas(tables, at: address) { prefix in
            try await withServerSchemas(prefix, address, but: Set(ready.keys), body)
        }
    }

    /// Writes the SQLite files of a server that has not started yet: one `NAME.sqlite` for each name, with its tables.
    public static func writeFiles(_ ready: [String: [Migration]], in folder: URL) async throws {
        for (name, migrations) in ready {
            let path = folder.appendingPathComponent("\(name).sqlite").path
            try await ReadyDatabases.shared.write(migrations, to: path)
        }
    }

    /// Runs a test with a server's schemas, and removes them afterwards but some.
    private func withServerSchemas<T>(
        _ prefix: String, _ address: String, but kept: Set<String>,
        _ body: (_ url: String?, _ schemaPrefix: String) async throws -> T
    ) async throws -> T {
        let result = await Result.catching { try await Self.servers.with { try await body(address, prefix) } }
        for name in ["apps", "sandbox", "production", "processes", "merchant"] where !kept.contains(name) {
            try await SchemaJanitor.drop("\(prefix)_\(name)")
        }
        return try result.get()
    }

    /// The places for store servers over PostgreSQL, each of which has many connections.
    private static let servers = TestSlots(12)

    /// A new name for a schema, or for the beginning of its name.
    static func newName() -> String { "test_" + String(UInt64.random(in: .min ... .max), radix: 36) }

    /// CI runs without a server; run the tests through `scripts/with-postgresql`.
    public struct MissingServer: Error, CustomStringConvertible {
        /// Names the missing variable and the script that sets it.
        public var description: String {
            "\(Backend.variable) is not set: run the tests through scripts/with-postgresql"
        }
    }
}

extension Logger {
    /// A logger for tests whose log nobody reads.
    public static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

extension Result where Failure == any Error {
    static func catching(_ body: () async throws -> Success) async -> Self {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}

extension Backend {
    /// Gives two databases of the server's, which are removed afterwards.
    public static func withAnotherPostgreSQL<T>(_ body: (_ one: String, _ two: String) async throws -> T) async throws
        -> T
    {
        guard let address, var parts = URLComponents(string: address) else { throw MissingServer() }
        let names = (0..<2).map { _ in newName() }
        for name in names { try psql("CREATE DATABASE \(name)", at: address) }
        let addresses = names.map { name in
            parts.path = "/\(name)"
            return parts.string ?? ""
        }
        let result = await Result.catching { try await body(addresses[0], addresses[1]) }
        for name in names { try psql("DROP DATABASE \(name) WITH (FORCE)", at: address) }
        return try result.get()
    }

    /// Runs one statement outside a transaction, which ``Database`` does not.
    private static func psql(_ statement: String, at address: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["psql", "--no-psqlrc", "--quiet", "--dbname=\(address)", "--command=\(statement)"]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw FailedStatement(psql: process.terminationStatus) }
    }

    /// psql has said why on the standard error.
    struct FailedStatement: Error, CustomStringConvertible {
        /// psql's exit status; `env` ends with 127 when the program is not there.
        let psql: Int32
        var description: String {
            psql == 127
                ? "psql is not installed (Debian: apt-get install postgresql-client)"
                : "psql failed with exit status \(psql) on the server that \(Backend.variable) names"
        }
    }
}
