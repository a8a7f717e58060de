import Foundation
import Glibc

/// Copies a schema with PostgreSQL's own programs (`pg_dump`, `pg_restore`, `psql`).
struct PostgreSQLTools: Sendable {
    let schema: String
    private let folder: URL
    /// The address without its password, which is passed in the environment: everyone can see a command line.
    let address: String
    private let password: String?

    /// - Parameter folders: the folders to search for the programs.
    /// - Throws: ``MerchantServerError`` `noTools`, `invalidConfiguration`.
    init(url: String, schema: String, in folders: [String] = PostgreSQLTools.places) throws {
        guard Self.isName(schema) else {
            throw MerchantServerError(
                .invalidConfiguration, "A schema's name must be 1 to 63 lower-case letters, digits and _.")
        }
        guard var parts = URLComponents(string: url) else {
            throw MerchantServerError(.invalidConfiguration, "The PostgreSQL URL is malformed.")
        }
        guard parts.queryItems?.contains(where: { $0.name == "sslpassword" }) != true else {
            throw MerchantServerError(
                .invalidConfiguration,
                "An sslpassword would be visible in the command lines of PostgreSQL's programs. Use a key without a password, or ~/.pgpass."
            )
        }
        password = parts.password ?? parts.queryItems?.first { $0.name == "password" }?.value
        parts.password = nil
        parts.queryItems = parts.queryItems?.filter { $0.name != "password" }
        if parts.queryItems?.isEmpty == true { parts.queryItems = nil }
        guard let address = parts.string else {
            throw MerchantServerError(.invalidConfiguration, "The PostgreSQL URL is malformed.")
        }
        self.address = address
        self.schema = schema
        folder = try Self.find(in: folders)
    }

    /// The folders to search. Debian has a folder for each version; the newest programs read every older server.
    static var places: [String] {
        let debian = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? [])
            .sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return versions.map { "\(debian)/\($0)/bin" } + path
    }

    /// The first folder that contains all three programs.
    static func find(in folders: [String]) throws -> URL {
        for folder in folders
        where ["pg_dump", "pg_restore", "psql"].allSatisfy({ access("\(folder)/\($0)", X_OK) == 0 }) {
            return URL(fileURLWithPath: folder)
        }
        throw MerchantServerError(
            .noTools,
            "Backups of PostgreSQL need its programs pg_dump, pg_restore and psql, which are not installed "
                + "(Debian: apt-get install postgresql-client).")
    }

    /// Writes a consistent snapshot of the schema to a file.
    func dump(into file: URL) async throws {
        _ = try await run([
            command(
                "pg_dump",
                [
                    "--format=custom", "--schema=\(schema)", "--no-owner", "--no-privileges", "--file=\(file.path)",
                    "--dbname=\(address)",
                ])
        ])
        guard chmod(file.path, 0o600) == 0 else {
            throw MerchantServerError(.storage, "\(file.path) cannot be made private.")
        }
    }

    /// Whether a text can be a schema's name in a statement. ``DatabaseLocation`` accepts no other names.
    static func isName(_ name: String) -> Bool { name.wholeMatch(of: /[a-z_][a-z0-9_]{0,62}/) != nil }

    /// Creates a schema from a dump, beside the existing one. A dump contains the name of its original schema. So a
    /// schema of that name is renamed while the dump is read, in one transaction that nobody else sees.
    /// - Parameter origin: the name of the dump's original schema.
    /// - Returns: the new schema's name.
    func load(_ file: URL, madeOf origin: String) async throws -> String {
        let number = UInt32.random(in: 0..<(.max))
        let new = "\(schema.prefix(40))_restored_\(number)"
        let aside = "\(origin.prefix(40))_aside_\(number)"
        let isThere = try await ask("SELECT count(*) FROM pg_namespace WHERE nspname = '\(origin)'") == "1"
        var before = isThere ? ["ALTER SCHEMA \"\(origin)\" RENAME TO \"\(aside)\""] : []
        // Every new database has the schema `public`, and a dump never creates it.
        if origin == "public" { before.append("CREATE SCHEMA public") }
        var after = ["ALTER SCHEMA \"\(origin)\" RENAME TO \"\(new)\"", mark(new)]
        if isThere { after.append("ALTER SCHEMA \"\(aside)\" RENAME TO \"\(origin)\"") }
        // Until psql reads this key it runs no commands of its own (`\!`), which a malicious file may contain
        // (CVE-2025-8714).
        let key = (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
        let script = command(
            "pg_restore", ["--restrict-key=\(key)", "--no-owner", "--no-privileges", "--file=-", file.path])
        let commands = { (statements: [String]) in statements.map { "--command=\($0)" } }
        _ = try await run([
            script,
            command("psql", psql + ["--single-transaction"] + commands(before) + ["--file=-"] + commands(after)),
        ])
        return new
    }

    /// Replaces the existing schema by one that ``load(_:madeOf:)`` has created, in one transaction.
    func swap(in new: String) async throws {
        let old = "\(schema.prefix(40))_replaced_\(UInt32.random(in: 0..<(.max)))"
        let isThere = try await ask("SELECT count(*) FROM pg_namespace WHERE nspname = '\(schema)'") == "1"
        let aside = isThere ? ["ALTER SCHEMA \"\(schema)\" RENAME TO \"\(old)\"", mark(old)] : []
        let statements =
            aside + ["ALTER SCHEMA \"\(new)\" RENAME TO \"\(schema)\"", "COMMENT ON SCHEMA \"\(schema)\" IS NULL"]
        _ = try await run([
            command("psql", psql + ["--single-transaction"] + statements.map { "--command=\($0)" })
        ])
    }

    /// Removes the schemas that restores left behind: those that never replaced this one, and those that were replaced.
    func removeLeftovers() async throws {
        let names = try await ask(
            "SELECT nspname FROM pg_namespace WHERE obj_description(oid, 'pg_namespace') = '\(leftover)' ORDER BY nspname"
        )
        for name in names.split(separator: "\n").map(String.init) where Self.isName(name) && name != schema {
            _ = try await ask("DROP SCHEMA IF EXISTS \"\(name)\" CASCADE")
        }
    }

    /// The comment that marks the schemas which a restore may remove.
    private var leftover: String { "cornerstore: left by a restore of \(schema)" }

    private func mark(_ name: String) -> String { "COMMENT ON SCHEMA \"\(name)\" IS '\(leftover)'" }

    /// A query for the relations, functions, types and extensions of a schema, whoever owns them. Parts of a constraint
    /// or table are not listed.
    private static func things(of schema: String) -> String {
        let oid = "(SELECT oid FROM pg_namespace WHERE nspname = '\(schema)')"
        return """
            SELECT relname AS name, 'relation' AS kind FROM pg_class
                WHERE relnamespace = \(oid) AND relkind IN ('r', 'v', 'm', 'S', 'f', 'p')
            UNION SELECT proname, 'function' FROM pg_proc WHERE pronamespace = \(oid)
            UNION SELECT typname, 'type' FROM pg_type
                WHERE typnamespace = \(oid) AND typrelid = 0 AND typcategory <> 'A'
            UNION SELECT extname, 'extension' FROM pg_extension WHERE extnamespace = \(oid)
            """
    }

    /// Whether the schema contains nothing.
    func isEmpty() async throws -> Bool {
        try await ask("SELECT count(*) FROM (\(Self.things(of: schema))) AS things") == "0"
    }

    /// Finds objects that the replacement would destroy and that are not the merchant's: objects of this schema that
    /// the restored one lacks, and objects outside that depend on this schema.
    /// - Parameter new: the restored schema's name.
    /// - Returns: the names of up to ten objects.
    func strangers(beside new: String) async throws -> [String] {
        let more = "(\(Self.things(of: schema))) EXCEPT (\(Self.things(of: new)))"
        func namespace(_ column: String) -> String { "(SELECT nspname FROM pg_namespace WHERE oid = \(column))" }
        let (inside, outside) = ("= '\(schema)'", "<> '\(schema)'")
        return try await ask(
            """
            SELECT name FROM (\(more)) AS strange
            UNION SELECT views.oid::regclass::text FROM pg_depend AS uses
                JOIN pg_rewrite AS rules ON uses.classid = 'pg_rewrite'::regclass AND uses.objid = rules.oid
                JOIN pg_class AS views ON rules.ev_class = views.oid
                JOIN pg_class AS used ON uses.refclassid = 'pg_class'::regclass AND uses.refobjid = used.oid
                WHERE \(namespace("used.relnamespace")) \(inside) AND \(namespace("views.relnamespace")) \(outside)
            UNION SELECT own.oid::regclass::text FROM pg_constraint AS keys
                JOIN pg_class AS used ON keys.confrelid = used.oid JOIN pg_class AS own ON keys.conrelid = own.oid
                WHERE \(namespace("used.relnamespace")) \(inside) AND \(namespace("own.relnamespace")) \(outside)
            ORDER BY 1 LIMIT 10
            """
        ).split(separator: "\n").map(String.init)
    }

    /// Requires that no server and no command is connected to the schema.
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
                "The schema \(schema) is in use: Cornerstore has \(count) open connections to it. Stop the server first."
            )
        }
    }

    /// Runs a statement and returns its rows as lines. The names of schemas in the statement must be valid: lower-case
    /// letters, digits and `_`.
    private func ask(_ sql: String) async throws -> String {
        try await run([command("psql", psql + ["--no-align", "--tuples-only", "--command=\(sql)"])])
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The options of psql. Its errors contain no rows.
    private var psql: [String] {
        [
            "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--set=VERBOSITY=terse", "--set=SHOW_CONTEXT=never",
            "--dbname=\(address)",
        ]
    }

    private func command(_ name: String, _ arguments: [String]) -> ToolProcess.Command {
        .init(program: folder.appendingPathComponent(name), arguments: arguments)
    }

    /// Runs programs, each with the output of the one before as its input. Returns the last one's output.
    private func run(_ commands: [ToolProcess.Command]) async throws -> String {
        var environment = ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PGCONNECT_TIMEOUT": "10"]
        environment["HOME"] = ProcessInfo.processInfo.environment["HOME"]
        if let password { environment["PGPASSWORD"] = password }
        let result = try await ToolProcess.run(commands, environment: environment)
        if let failed = result.failed {
            guard !result.errors.contains("restrict-key") else {
                throw MerchantServerError(
                    .noTools,
                    "The pg_restore in \(folder.path) is older than August 2025, and a malicious backup could run commands through it. Update "
                        + "PostgreSQL's programs (13.22, 14.19, 15.14, 16.10, 17.6 or later)."
                )
            }
            var words = result.errors
            if let password, !password.isEmpty { words = words.replacing(password, with: "***") }
            throw MerchantServerError(
                .storage, "\(failed) failed: \(words.trimmingCharacters(in: .whitespacesAndNewlines))")
        }
        return result.output
    }
}
