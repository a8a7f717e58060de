import Foundation
import Glibc

/// PostgreSQL's own programs (`pg_dump`, `pg_restore`, `psql`), which know how to copy a schema.
struct PostgreSQLTools: Sendable {
    let schema: String
    private let folder: URL
    /// The address without its password, which is handed on in the environment: a command line can be seen by everybody.
    let address: String
    private let password: String?

    /// - Parameter folders: where the programs are looked for.
    /// - Throws: ``MerchantServerError`` `noTools`, `invalidConfiguration`.
    init(url: String, schema: String, in folders: [String] = PostgreSQLTools.places) throws {
        guard Self.isName(schema) else {
            throw MerchantServerError(
                .invalidConfiguration, "A schema is named with 1 to 63 small letters, digits and _.")
        }
        guard var parts = URLComponents(string: url) else {
            throw MerchantServerError(.invalidConfiguration, "The address of the PostgreSQL is malformed.")
        }
        guard parts.queryItems?.contains(where: { $0.name == "sslpassword" }) != true else {
            throw MerchantServerError(
                .invalidConfiguration,
                "An sslpassword would stand in the command lines of PostgreSQL's programs. Give them a key without one, or use ~/.pgpass."
            )
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
        folder = try Self.find(in: folders)
    }

    /// Debian keeps the programs of each version apart; those of the newest read every older server.
    static var places: [String] {
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

    /// Whether it can be put into a statement as the name of a schema. ``DatabaseLocation`` takes no other.
    static func isName(_ name: String) -> Bool { name.wholeMatch(of: /[a-z_][a-z0-9_]{0,62}/) != nil }

    /// Makes a schema of such a file, beside the one that is there. The file names the schema that it was made of: while the transaction lasts in which
    /// it is read, one of that name stands aside, which nobody else sees.
    /// - Parameter origin: the name of the schema that the file was made of.
    /// - Returns: the new schema's name.
    func load(_ file: URL, madeOf origin: String) async throws -> String {
        let number = UInt32.random(in: 0..<(.max))
        let new = "\(schema.prefix(40))_restored_\(number)"
        let aside = "\(origin.prefix(40))_aside_\(number)"
        let isThere = try await ask("SELECT count(*) FROM pg_namespace WHERE nspname = '\(origin)'") == "1"
        var before = isThere ? ["ALTER SCHEMA \"\(origin)\" RENAME TO \"\(aside)\""] : []
        // A dump never makes this one, which every new database has.
        if origin == "public" { before.append("CREATE SCHEMA public") }
        var after = ["ALTER SCHEMA \"\(origin)\" RENAME TO \"\(new)\"", mark(new)]
        if isThere { after.append("ALTER SCHEMA \"\(aside)\" RENAME TO \"\(origin)\"") }
        // Until it reads this key, psql runs no commands of its own (`\!`), which a malicious file may hold (CVE-2025-8714).
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

    /// Puts a schema that ``load(_:madeOf:)`` has made in the place of the one that is there, at one moment.
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

    /// Removes what restores have left: schemas that were not put in this one's place, and those whose place was taken.
    func removeLeftovers() async throws {
        let names = try await ask(
            "SELECT nspname FROM pg_namespace WHERE obj_description(oid, 'pg_namespace') = '\(leftover)' ORDER BY nspname"
        )
        for name in names.split(separator: "\n").map(String.init) where Self.isName(name) && name != schema {
            _ = try await ask("DROP SCHEMA IF EXISTS \"\(name)\" CASCADE")
        }
    }

    /// The comment by which a restore knows the schemas that it may remove.
    private var leftover: String { "cornerstore: left by a restore of \(schema)" }

    private func mark(_ name: String) -> String { "COMMENT ON SCHEMA \"\(name)\" IS '\(leftover)'" }

    /// Relations, functions, types and extensions of a schema, whosever they are; a constraint's or table's own are not named beside it.
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

    /// Whether there is anything in the schema.
    func isEmpty() async throws -> Bool {
        try await ask("SELECT count(*) FROM (\(Self.things(of: schema))) AS things") == "0"
    }

    /// What would be lost with the schema that is none of a merchant's: what the restored one has not, and what depends on it from outside.
    /// - Parameter new: the restored schema's name.
    /// - Returns: names, some of them if there are many.
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

    /// What a statement gives, a line for each row. Names of schemas in it are checked: small letters, digits and `_`.
    private func ask(_ sql: String) async throws -> String {
        try await run([command("psql", psql + ["--no-align", "--tuples-only", "--command=\(sql)"])])
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Its errors name no rows.
    private var psql: [String] {
        [
            "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--set=VERBOSITY=terse", "--set=SHOW_CONTEXT=never",
            "--dbname=\(address)",
        ]
    }

    private func command(_ name: String, _ arguments: [String]) -> ToolProcess.Command {
        .init(program: folder.appendingPathComponent(name), arguments: arguments)
    }

    /// Runs programs, each with the output of the one before as its input.
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
