import Foundation
import Glibc

/// Copies schemas with PostgreSQL's own programs (`pg_dump`, `pg_restore`, `psql`).
package struct PostgreSQLTools: Sendable {
    private let folder: URL
    /// The address without its password, which is passed in the environment: everyone can see a command line.
    package let address: String
    private let password: String?
    /// The variables of this process that the programs get.
    private let inherited: [String: String]

    /// Finds the programs.
    /// - Parameters:
    ///   - url: a `postgres://` URL, which may name several hosts.
    ///   - folders: the folders to search for the programs.
    ///   - environment: this process's environment. The programs get its `PG…` variables, which the servers' libpq
    ///     obeys, too (https://www.postgresql.org/docs/15/libpq-envars.html).
    /// - Throws: ``BackupError`` `noTools`, `invalidConfiguration`.
    package init(
        url: String, in folders: [String] = PostgreSQLTools.places,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        (address, password) = try Self.parse(url)
        inherited = environment.filter { $0.key == "HOME" || $0.key.hasPrefix("PG") }
        folder = try Self.find(in: folders)
    }

    /// Takes the password out of a URL. `URLComponents` reads one host only, so the hosts are read apart
    /// (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS).
    private static func parse(_ url: String) throws -> (address: String, password: String?) {
        let malformed = BackupError(.invalidConfiguration, "The PostgreSQL URL is malformed.")
        guard let scheme = url.firstRange(of: "://") else { throw malformed }
        let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
        let hosts = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        guard hosts.unicodeScalars.allSatisfy({ $0.isASCII && !"@\"\\ ".unicodeScalars.contains($0) }) else {
            throw malformed
        }
        let place = hosts.isEmpty ? "" : "\(UUID().uuidString.lowercased()).invalid"
        let single = "\(url[..<hosts.startIndex])\(place)\(url[hosts.endIndex...])"
        guard var parts = URLComponents(string: single), (parts.host ?? "") == place else { throw malformed }
        guard parts.queryItems?.contains(where: { $0.name == "sslpassword" }) != true else {
            throw BackupError(
                .invalidConfiguration,
                "An sslpassword would be visible in the command lines of PostgreSQL's programs. Use a key without a password, or ~/.pgpass."
            )
        }
        let password = parts.password ?? parts.queryItems?.first { $0.name == "password" }?.value
        // Other parts stay as they are written.
        if parts.password != nil { parts.password = nil }
        if let items = parts.queryItems, items.contains(where: { $0.name == "password" }) {
            let rest = items.filter { $0.name != "password" }
            parts.queryItems = rest.isEmpty ? nil : rest
        }
        guard var address = parts.string else { throw malformed }
        if !hosts.isEmpty {
            guard let found = address.firstRange(of: place) else { throw malformed }
            address.replaceSubrange(found, with: hosts)
        }
        return (address, password)
    }

    /// The folders to search. Debian has a folder for each version; the newest programs read every older server.
    package static var places: [String] {
        let debian = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? [])
            .sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return versions.map { "\(debian)/\($0)/bin" } + path
    }

    /// The first folder that contains all three programs.
    package static func find(in folders: [String]) throws -> URL {
        for folder in folders
        where ["pg_dump", "pg_restore", "psql"].allSatisfy({ access("\(folder)/\($0)", X_OK) == 0 }) {
            return URL(fileURLWithPath: folder)
        }
        throw BackupError(
            .noTools,
            "Backups of PostgreSQL need its programs pg_dump, pg_restore and psql, which are not installed "
                + "(Debian: apt-get install postgresql-client).")
    }

    /// Writes one consistent snapshot of schemas to a file, mode 0600.
    /// - Parameter emptied: the tables that the snapshot contains without their rows.
    package func dump(
        _ schemas: [String], emptied: [(schema: String, table: String)] = [], into file: URL
    ) async throws {
        try Self.check(schemas + emptied.flatMap { [$0.schema, $0.table] })
        _ = try await run([
            command(
                "pg_dump",
                schemas.map { "--schema=\($0)" }
                    + emptied.map { "--exclude-table-data=\($0.schema).\($0.table)" }
                    + [
                        "--format=custom", "--no-owner", "--no-privileges", "--file=\(file.path)",
                        "--dbname=\(address)",
                    ])
        ])
        guard chmod(file.path, 0o600) == 0 else {
            throw BackupError(.storage, "\(file.path) cannot be made private.")
        }
    }

    /// Whether a text can be a schema's name in a statement. ``DatabaseLocation`` accepts no other names.
    package static func isName(_ name: String) -> Bool { name.wholeMatch(of: /[a-z_][a-z0-9_]{0,62}/) != nil }

    /// Checks that all texts can be schemas' names.
    /// - Throws: ``BackupError`` `invalidConfiguration`.
    package static func check(_ names: [String]) throws {
        guard names.allSatisfy(isName) else {
            throw BackupError(
                .invalidConfiguration, "A schema's name must be 1 to 63 lower-case letters, digits and _.")
        }
    }

    /// A schema that a restore creates beside the existing one, and then puts in its place.
    package struct Replacement: Sendable {
        /// The name of the existing schema, which may be missing.
        package var schema: String
        /// The name of the new schema until it takes the place of the existing one.
        package var new: String
        /// The name of the schema in the dump.
        package var origin: String

        /// Names the schemas. Each name is 1 to 63 lower-case letters, digits and `_`.
        package init(of schema: String, by new: String, from origin: String) {
            self.schema = schema
            self.new = new
            self.origin = origin
        }
    }

    /// Creates schemas from a dump, beside the existing ones. A dump contains the names of its original schemas. So
    /// schemas of these names are renamed while the dump is read, in one transaction that nobody else sees.
    /// - Parameter owner: the name under which ``removeLeftovers(of:)`` finds the new schemas, a schema's name.
    package func load(_ file: URL, _ replacements: [Replacement], owner: String) async throws {
        try Self.check([owner] + replacements.flatMap { [$0.schema, $0.new, $0.origin] })
        let number = UInt32.random(in: 0..<(.max))
        var (before, after): ([String], [String]) = ([], [])
        for (index, replacement) in replacements.enumerated() {
            let (origin, new) = (replacement.origin, replacement.new)
            let aside = "\(origin.prefix(40))_aside_\(number)_\(index)"
            let isThere = try await exists(origin)
            if isThere { before.append("ALTER SCHEMA \"\(origin)\" RENAME TO \"\(aside)\"") }
            // Every new database has the schema `public`, and a dump never creates it.
            if origin == "public" { before.append("CREATE SCHEMA public") }
            after += ["ALTER SCHEMA \"\(origin)\" RENAME TO \"\(new)\"", mark(new, owner)]
            if isThere { after.append("ALTER SCHEMA \"\(aside)\" RENAME TO \"\(origin)\"") }
        }
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
    }

    /// Replaces the existing schemas by those that ``load(_:_:owner:)`` has created, in one transaction.
    /// - Parameter removing: schemas of which nothing is kept, removed in the same transaction if they exist.
    package func swap(in replacements: [Replacement], owner: String, removing: [String] = []) async throws {
        try Self.check([owner] + removing + replacements.flatMap { [$0.schema, $0.new] })
        let number = UInt32.random(in: 0..<(.max))
        var statements: [String] = []
        for (index, replacement) in replacements.enumerated() {
            let schema = replacement.schema
            if try await exists(schema) {
                let old = "\(schema.prefix(40))_replaced_\(number)_\(index)"
                statements += ["ALTER SCHEMA \"\(schema)\" RENAME TO \"\(old)\"", mark(old, owner)]
            }
            statements += [
                "ALTER SCHEMA \"\(replacement.new)\" RENAME TO \"\(schema)\"",
                "COMMENT ON SCHEMA \"\(schema)\" IS NULL",
            ]
        }
        statements += removing.map { "DROP SCHEMA IF EXISTS \"\($0)\" CASCADE" }
        _ = try await run([
            command("psql", psql + ["--single-transaction"] + statements.map { "--command=\($0)" })
        ])
    }

    /// PostgreSQL's number of a schema, which stays when the schema is renamed; nil when it does not exist.
    package func number(of schema: String) async throws -> String? {
        try Self.check([schema])
        let number = try await ask("SELECT oid FROM pg_namespace WHERE nspname = '\(schema)'")
        return number.isEmpty ? nil : number
    }

    private func exists(_ schema: String) async throws -> Bool {
        try await ask("SELECT count(*) FROM pg_namespace WHERE nspname = '\(schema)'") == "1"
    }

    /// Removes the schemas that restores left behind: those that never replaced another, and those that were replaced.
    package func removeLeftovers(of owner: String) async throws {
        try Self.check([owner])
        let names = try await ask(
            """
            SELECT nspname FROM pg_namespace
            WHERE obj_description(oid, 'pg_namespace') = '\(Self.leftover(owner))' ORDER BY nspname
            """)
        for name in names.split(separator: "\n").map(String.init) where Self.isName(name) && name != owner {
            _ = try await ask("DROP SCHEMA IF EXISTS \"\(name)\" CASCADE")
        }
    }

    /// The comment that marks the schemas which a restore may remove.
    private static func leftover(_ owner: String) -> String { "cornerstore: left by a restore of \(owner)" }

    private func mark(_ name: String, _ owner: String) -> String {
        "COMMENT ON SCHEMA \"\(name)\" IS '\(Self.leftover(owner))'"
    }

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

    /// Whether a schema contains nothing, or does not exist.
    package func isEmpty(_ schema: String) async throws -> Bool {
        try Self.check([schema])
        return try await ask("SELECT count(*) FROM (\(Self.things(of: schema))) AS things") == "0"
    }

    /// Finds objects that a replacement would destroy and that are not the program's: objects of the schema that the
    /// restored one lacks, and objects outside that depend on the schema.
    /// - Returns: the names of up to ten objects.
    package func strangers(in replacement: Replacement) async throws -> [String] {
        let (schema, new) = (replacement.schema, replacement.new)
        try Self.check([schema, new])
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

    /// Requires that no server and no command is connected to a schema.
    /// - Throws: ``BackupError`` `inUse`.
    package func checkNobodyUses(_ schema: String) async throws {
        try Self.check([schema])
        let count = try await ask(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = left('cornerstore \(schema)', 63)
            """)
        guard count == "0" else {
            throw BackupError(
                .inUse,
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
        // One of several hosts is the primary, and another may be gone.
        let hasSeveral = address.prefix(while: { $0 != "?" }).contains(",")
        let own = ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PGCONNECT_TIMEOUT": hasSeveral ? "2" : "10"]
        var environment = inherited.merging(own) { $1 }
        if let password { environment["PGPASSWORD"] = password }
        if hasSeveral { environment["PGTARGETSESSIONATTRS"] = "read-write" }
        let result = try await ToolProcess.run(commands, environment: environment)
        if let failed = result.failed {
            guard !result.errors.contains("restrict-key") else {
                throw BackupError(
                    .noTools,
                    "The pg_restore in \(folder.path) is older than August 2025, and a malicious backup could run commands through it. Update "
                        + "PostgreSQL's programs (13.22, 14.19, 15.14, 16.10, 17.6 or later)."
                )
            }
            var words = result.errors
            if let password, !password.isEmpty { words = words.replacing(password, with: "***") }
            throw BackupError(
                .storage, "\(failed) failed: \(words.trimmingCharacters(in: .whitespacesAndNewlines))")
        }
        return result.output
    }
}
