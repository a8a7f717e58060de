import Foundation
import Glibc

/// PostgreSQL's own programs (`pg_dump`, `pg_restore`, `psql`), which know how to copy a schema.
struct PostgreSQLTools: Sendable {
    let schema: String
    private let folder: URL
    /// The address without its password, which is handed on in the environment: a command line can be seen by everybody.
    let address: String
    private let password: String?

    /// - Throws: ``MerchantServerError`` `noTools`, `invalidConfiguration`.
    init(url: String, schema: String) throws {
        guard var parts = URLComponents(string: url) else {
            throw MerchantServerError(.invalidConfiguration, "The address of the PostgreSQL is malformed.")
        }
        password = parts.password ?? parts.queryItems?.first { $0.name == "password" }?.value
        parts.password = nil
        parts.queryItems = parts.queryItems?.filter { $0.name != "password" }
        if parts.queryItems?.isEmpty == true { parts.queryItems = nil }
        guard let address = parts.string else {
            throw MerchantServerError(.invalidConfiguration, "The address of the PostgreSQL is malformed.")
        }
        self.address = address
        self.schema = schema
        folder = try Self.find(in: Self.places)
    }

    /// Debian keeps the programs of each version apart; those of the newest read every older server.
    private static var places: [String] {
        let debian = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? [])
            .sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return versions.map { "\(debian)/\($0)/bin" } + path
    }

    /// The first folder that has all three.
    static func find(in folders: [String]) throws -> URL {
        for folder in folders
        where ["pg_dump", "pg_restore", "psql"].allSatisfy({ access("\(folder)/\($0)", X_OK) == 0 }) {
            return URL(fileURLWithPath: folder)
        }
        throw MerchantServerError(
            .noTools,
            "A PostgreSQL is backed up and restored by its own programs pg_dump, pg_restore and psql, which are not installed "
                + "(Debian: apt-get install postgresql-client).")
    }

    /// Writes the schema, as it stands at one moment, into a file.
    func dump(into file: URL) async throws {
        _ = try await run(
            "pg_dump",
            [
                "--format=custom", "--schema=\(schema)", "--no-owner", "--no-privileges", "--file=\(file.path)",
                "--dbname=\(address)",
            ])
        guard chmod(file.path, 0o600) == 0 else {
            throw MerchantServerError(.storage, "\(file.path) cannot be made private.")
        }
    }

    /// Restores such a file, in one transaction, and has it proved; an older schema of the name is put back when anything fails, and removed when all is
    /// well.
    func restore(_ file: URL, proving proof: () async throws -> Void) async throws {
        let old = "\(schema.prefix(40))_replaced_\(UInt32.random(in: 0..<(.max)))"
        let isThere = try await ask("SELECT count(*) FROM pg_namespace WHERE nspname = '\(schema)'") == "1"
        if isThere { _ = try await ask("ALTER SCHEMA \"\(schema)\" RENAME TO \"\(old)\"") }
        do {
            _ = try await run(
                "pg_restore",
                [
                    "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", "--dbname=\(address)",
                    file.path,
                ])
            try await proof()
        } catch {
            _ = try? await ask("DROP SCHEMA IF EXISTS \"\(schema)\" CASCADE")
            if isThere { _ = try await ask("ALTER SCHEMA \"\(old)\" RENAME TO \"\(schema)\"") }
            throw error
        }
        if isThere { _ = try await ask("DROP SCHEMA \"\(old)\" CASCADE") }
    }

    /// How many tables the schema has.
    func tables() async throws -> Int {
        Int(try await ask("SELECT count(*) FROM information_schema.tables WHERE table_schema = '\(schema)'")) ?? 0
    }

    /// Makes sure that no server and no command works on the schema.
    /// - Throws: ``MerchantServerError`` `dataDirectoryInUse`.
    func checkNobodyIsThere() async throws {
        let count = try await ask(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = left('cornerstore \(schema)', 63)
            """)
        guard count == "0" else {
            throw MerchantServerError(
                .dataDirectoryInUse,
                "The schema \(schema) is in use: \(count) connections of a cornerstore are open. Stop the server first."
            )
        }
    }

    /// The one value that a statement gives. The schema's name in it is checked when the database is opened: small letters, digits and `_`.
    private func ask(_ sql: String) async throws -> String {
        try await run(
            "psql",
            [
                "--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--set=ON_ERROR_STOP=1",
                "--dbname=\(address)", "--command=\(sql)",
            ]
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func run(_ name: String, _ arguments: [String]) async throws -> String {
        var environment = ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PGCONNECT_TIMEOUT": "10"]
        environment["HOME"] = ProcessInfo.processInfo.environment["HOME"]
        if let password { environment["PGPASSWORD"] = password }
        let result = try await ToolProcess.run(
            folder.appendingPathComponent(name), arguments, environment: environment)
        guard result.status == 0 else {
            let words = password.map { result.errors.replacing($0, with: "***") } ?? result.errors
            throw MerchantServerError(
                .storage, "\(name) failed: \(words.trimmingCharacters(in: .whitespacesAndNewlines))")
        }
        return result.output
    }
}
