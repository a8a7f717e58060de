import Database

/// Empties and drops the PostgreSQL schemas of tests, over connections that stay open.
enum SchemaJanitor {
    private static let opening: Task<Database, any Error> = Task {
        guard let address = Backend.address else { throw Backend.MissingServer() }
        return try await Database.open(
            .postgresql(url: address, schema: "test_janitor", connections: 4),
            migrations: ReadyDatabases.mayLeaveSchemas ? [functions] : [], logger: .silent)
    }

    /// Drops a schema, if it is there.
    static func drop(_ schema: String) async throws {
        try await opening.value.write { try $0.execute("DROP SCHEMA IF EXISTS \(schema) CASCADE") }
    }

    /// Remembers what a new schema has: its tables, and the rows that its migrations wrote.
    static func remember(_ schema: String) async throws {
        try await opening.value.write { _ = try $0.query("SELECT remember(CAST($1 AS TEXT))", [schema]) }
    }

    /// Gives a schema the rows that it had when it was new.
    ///
    /// - Returns: false if its tables are no longer the same. Then nothing is changed.
    static func empty(_ schema: String) async throws -> Bool {
        try await opening.value.write { try $0.queryOne("SELECT empty(CAST($1 AS TEXT))", [schema])?.bool(0) ?? false }
    }

    private static let functions = Migration(
        1, "schemas of tests",
        [
            "CREATE TABLE schemas (place TEXT PRIMARY KEY, tables TEXT NOT NULL)",
            "CREATE TABLE seeds (place TEXT NOT NULL, name TEXT NOT NULL, seed TEXT NOT NULL)",
            // Everything that has a name or an identifier, and the number of migrations.
            """
            CREATE FUNCTION describe(wanted TEXT) RETURNS TEXT LANGUAGE plpgsql AS '
            DECLARE
                space OID := (SELECT n.oid FROM pg_namespace n WHERE n.nspname = wanted);
                applied BIGINT;
                digest TEXT;
            BEGIN
                EXECUTE format(''SELECT count(*) FROM %I.schema_migrations'', wanted) INTO applied;
                SELECT md5(string_agg(p.part, '','' ORDER BY p.part)) INTO digest FROM (
                    SELECT concat_ws('' '', ''column'', c.oid, c.relname, c.relkind, a.attnum, a.attname, a.atttypid,
                        a.attnotnull, a.atthasdef) AS part
                    FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
                    WHERE c.relnamespace = space
                    UNION ALL
                    SELECT concat_ws('' '', ''constraint'', c.oid, c.conname) FROM pg_constraint c
                    WHERE c.connamespace = space
                    UNION ALL
                    SELECT concat_ws('' '', ''function'', f.oid, f.proname) FROM pg_proc f WHERE f.pronamespace = space
                    UNION ALL
                    SELECT concat_ws('' '', ''trigger'', t.oid, t.tgname)
                    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = space
                ) p;
                RETURN concat_ws('' '', applied, digest);
            END'
            """,
            """
            CREATE FUNCTION remember(wanted TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS '
            DECLARE
                one RECORD;
                kept TEXT;
            BEGIN
                FOR one IN
                    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                    WHERE n.nspname = wanted AND c.relkind = ''r'' AND c.relname <> ''schema_migrations''
                LOOP
                    EXECUTE format(''SELECT CAST(json_agg(t) AS TEXT) FROM %I.%I t'', wanted, one.relname) INTO kept;
                    IF kept IS NOT NULL THEN
                        INSERT INTO seeds (place, name, seed) VALUES (wanted, one.relname, kept);
                    END IF;
                END LOOP;
                INSERT INTO schemas (place, tables) VALUES (wanted, describe(wanted));
                RETURN true;
            END'
            """,
            // As empty as new tables: after DELETE, rows would come in another order than they were written.
            """
            CREATE FUNCTION empty(wanted TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS '
            DECLARE
                one RECORD;
                filled TEXT;
            BEGIN
                IF describe(wanted) IS DISTINCT FROM (SELECT s.tables FROM schemas s WHERE s.place = wanted) THEN
                    RETURN false;
                END IF;
                SELECT string_agg(format(''%I.%I'', wanted, c.relname), '', '') INTO filled
                FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = wanted AND c.relkind = ''r'' AND c.relname <> ''schema_migrations''
                    AND pg_relation_size(c.oid) > 0;
                IF filled IS NOT NULL THEN
                    EXECUTE ''TRUNCATE '' || filled || '' CASCADE'';
                END IF;
                FOR one IN SELECT s.name, s.seed FROM seeds s WHERE s.place = wanted LOOP
                    EXECUTE format(
                        ''INSERT INTO %I.%I SELECT * FROM json_populate_recordset(NULL::%I.%I, %L)'',
                        wanted, one.name, wanted, one.name, one.seed);
                END LOOP;
                RETURN true;
            END'
            """,
        ])
}
