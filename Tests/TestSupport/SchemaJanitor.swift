import Database

/// Empties and drops the PostgreSQL schemas of tests, over connections that stay open.
enum SchemaJanitor {
    /// Opens the database once. A failure is not kept: the next test tries again.
    private actor Connections {
        private var opening: Task<Database, any Error>?

        var database: Database {
            get async throws {
                let task: Task<Database, any Error>
                if let opening {
                    task = opening
                } else {
                    task = Task { try await SchemaJanitor.open() }
                    opening = task
                }
                do {
                    return try await task.value
                } catch {
                    if opening == task { opening = nil }
                    throw error
                }
            }
        }
    }

    private static let connections = Connections()

    private static func open() async throws -> Database {
        guard let address = Backend.address else { throw Backend.MissingServer() }
        return try await Database.open(
            .postgresql(url: address, schema: "test_janitor", connections: 4),
            migrations: ReadyDatabases.mayLeaveSchemas ? [functions] : [], logger: .silent)
    }

    /// Drops a schema, if it is there.
    static func drop(_ schema: String) async throws {
        try await connections.database.write { try $0.execute("DROP SCHEMA IF EXISTS \(schema) CASCADE") }
    }

    /// Remembers what a new schema has: its tables, and the rows that its migrations wrote.
    static func remember(_ schema: String) async throws {
        try await connections.database.write { _ = try $0.query("SELECT remember(CAST($1 AS TEXT))", [schema]) }
    }

    /// Gives a schema the rows that it had when it was new.
    ///
    /// - Returns: false if its tables are no longer the same. Then nothing is changed.
    static func empty(_ schema: String) async throws -> Bool {
        try await connections.database.write {
            try $0.queryOne("SELECT empty(CAST($1 AS TEXT))", [schema])?.bool(0) ?? false
        }
    }

    private static let functions = Migration(
        1, "schemas of tests",
        [
            "CREATE TABLE schemas (place TEXT PRIMARY KEY, tables TEXT NOT NULL)",
            "CREATE TABLE seeds (place TEXT NOT NULL, name TEXT NOT NULL, seed TEXT NOT NULL)",
            // Everything that has a name or an identifier, what a statement can change in it, and the migrations. Null
            // if the schema or its migrations are no longer there.
            """
            CREATE FUNCTION describe(wanted TEXT) RETURNS TEXT LANGUAGE plpgsql AS '
            DECLARE
                space OID := (SELECT n.oid FROM pg_namespace n WHERE n.nspname = wanted);
                applied TEXT;
                digest TEXT;
            BEGIN
                IF to_regclass(format(''%I.schema_migrations'', wanted)) IS NULL THEN
                    RETURN NULL;
                END IF;
                EXECUTE format(
                    ''SELECT string_agg(concat_ws('''' '''', number, name, checksum), '''','''' ORDER BY number)
                    FROM %I.schema_migrations'', wanted) INTO applied;
                SELECT md5(string_agg(p.part, '','' ORDER BY p.part)) INTO digest FROM (
                    SELECT concat_ws('' '', ''column'', c.oid, c.relname, c.relkind, a.attnum, a.attname, a.atttypid,
                        a.attnotnull, a.atthasdef) AS part
                    FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
                    WHERE c.relnamespace = space
                    UNION ALL
                    SELECT concat_ws('' '', ''constraint'', c.oid, c.conname) FROM pg_constraint c
                    WHERE c.connamespace = space
                    UNION ALL
                    SELECT concat_ws('' '', ''default'', d.adrelid, d.adnum, pg_get_expr(d.adbin, d.adrelid))
                    FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid WHERE c.relnamespace = space
                    UNION ALL
                    SELECT concat_ws('' '', ''function'', f.oid, f.proname, md5(f.prosrc)) FROM pg_proc f
                    WHERE f.pronamespace = space
                    UNION ALL
                    SELECT concat_ws('' '', ''trigger'', t.oid, t.tgname, t.tgenabled)
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
            // As empty as new tables: after DELETE, rows would come in another order than they were written. To ask for
            // a table's size waits for whoever has locked it, so CASE leaves the tables of other tests out.
            """
            CREATE FUNCTION empty(wanted TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS '
            DECLARE
                space OID := (SELECT n.oid FROM pg_namespace n WHERE n.nspname = wanted);
                one RECORD;
                filled TEXT;
            BEGIN
                IF describe(wanted) IS DISTINCT FROM (SELECT s.tables FROM schemas s WHERE s.place = wanted) THEN
                    RETURN false;
                END IF;
                SELECT string_agg(format(''%I.%I'', wanted, c.relname), '', '') INTO filled
                FROM pg_class c
                WHERE CASE
                    WHEN c.relnamespace = space AND c.relkind = ''r'' AND c.relname <> ''schema_migrations''
                        THEN pg_relation_size(c.oid) > 0
                    ELSE false
                    END;
                IF filled IS NOT NULL THEN
                    EXECUTE ''TRUNCATE '' || filled || '' RESTART IDENTITY CASCADE'';
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
