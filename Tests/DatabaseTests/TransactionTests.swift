import Synchronization
import TestSupport
import Testing

@testable import Database

private let tables = Migration(
    1, "tables",
    [
        "CREATE TABLE counter (id BIGINT NOT NULL PRIMARY KEY, value BIGINT NOT NULL CONSTRAINT counter_small CHECK (value < 1000000))",
        "CREATE TABLE entry (name TEXT NOT NULL, counter BIGINT NOT NULL REFERENCES counter (id), CONSTRAINT entry_once UNIQUE (name))",
        "INSERT INTO counter (id, value) VALUES (1, 0)",
    ])

private struct Refusal: Error, Equatable { var number = 0 }

extension DatabaseLocation {
    /// The same place, where PostgreSQL ends statements after so many milliseconds.
    fileprivate func endingStatements(afterMilliseconds limit: Int) -> DatabaseLocation {
        guard case .postgresql(let url, let schema, let connections) = self else { return self }
        let options = "options=-c%20statement_timeout%3D\(limit)"
        return .postgresql(
            url: url + (url.contains("?") ? "&" : "?") + options, schema: schema, connections: connections)
    }
}

private func value(_ database: Database) async throws -> Int {
    try await database.read { try $0.queryOne("SELECT value FROM counter WHERE id = 1")?.int(0) ?? -1 }
}

@Suite(.timeLimit(.minutes(1))) struct TransactionTests {
    @Test(arguments: Backend.available) func changesAreCounted(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [tables]) { database, _ async throws in
            try await database.write { connection in
                #expect(try connection.execute("INSERT INTO entry (name, counter) VALUES ('a', 1), ('b', 1)") == 2)
                #expect(try connection.execute("SELECT name FROM entry") == 0)
                let again = "INSERT INTO entry (name, counter) VALUES ('a', 1) ON CONFLICT (name) DO NOTHING"
                #expect(try connection.execute(again) == 0)
                #expect(try connection.execute("UPDATE entry SET counter = 1") == 2)
                #expect(try connection.execute("CREATE TABLE extra (a BIGINT)") == 0)
                let deleted = try connection.query("DELETE FROM entry WHERE name = $1 RETURNING name", ["a"])
                #expect(try deleted.map { try $0.string(0) } == ["a"])
                #expect(try connection.execute("DELETE FROM entry WHERE name = $1", ["a"]) == 0)
            }
        }
    }

    @Test(arguments: Backend.available) func violationsAreReported(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [tables]) { database, _ async throws in
            let cases: [(String, DatabaseError.Code, [Backend: String])] = [
                (
                    "INSERT INTO entry (name, counter) VALUES ('secret', 1), ('secret', 1)", .uniqueViolation,
                    [.sqlite: "entry.name", .postgresql: "entry_once"]
                ),
                (
                    "INSERT INTO counter (id, value) VALUES (1, 1)", .uniqueViolation,
                    [.sqlite: "counter.id", .postgresql: "counter_pkey"]
                ),
                (
                    "UPDATE counter SET value = 1000000", .checkViolation,
                    [.sqlite: "counter_small", .postgresql: "counter_small"]
                ),
                (
                    "INSERT INTO entry (name, counter) VALUES (NULL, 1)", .notNullViolation,
                    [.sqlite: "entry.name", .postgresql: "name"]
                ),
                ("INSERT INTO entry (name, counter) VALUES ('secret', 7)", .foreignKeyViolation, [:]),
                ("SELECT a FROM nowhere", .invalidSQL, [.sqlite: "nowhere", .postgresql: "nowhere"]),
                ("SELEKT 1", .invalidSQL, [:]),
                ("SELECT 1; DELETE FROM entry", .invalidSQL, [:]),
                ("SELECT 1; COMMIT", .invalidSQL, [:]),
            ]
            for (sql, code, details) in cases {
                let error = await expect(code) { try await database.write { try $0.execute(sql) } }
                if let word = details[backend] {
                    #expect(error?.detail.contains(word) == true, "\(error?.detail ?? "")")
                }
                #expect(error?.detail.contains("secret") == false)
            }
            #expect(try await database.read { try $0.queryOne("SELECT COUNT(*) FROM entry")?.int(0) } == 0)
        }
    }

    @Test(arguments: Backend.available) func aClosureThatThrowsLeavesNoChanges(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [tables]) { database, _ async throws in
            await #expect(throws: Refusal()) {
                try await database.write { connection in
                    try connection.execute("UPDATE counter SET value = 7")
                    throw Refusal()
                }
            }
            #expect(try await value(database) == 0)
        }
    }

    @Test(arguments: Backend.available) func aFailedStatementFailsItsTransaction(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [tables]) { database, _ async throws in
            await expect(.uniqueViolation) {
                try await database.write { connection in
                    try connection.execute("UPDATE counter SET value = 7")
                    _ = try? connection.execute("INSERT INTO counter (id, value) VALUES (1, 1)")
                    _ = try? connection.execute("UPDATE counter SET value = 8")
                }
            }
            #expect(try await value(database) == 0)
        }
    }

    @Test(arguments: Backend.available) func aReadCannotChangeAnything(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [tables]) { database, _ async throws in
            for sql in ["UPDATE counter SET value = 7", "DROP TABLE entry", "CREATE TABLE extra (a BIGINT)"] {
                await expect(.readOnly) { try await database.read { try $0.execute(sql) } }
            }
            #expect(try await value(database) == 0)
        }
    }

    @Test func aTransactionThatTakesTooLongIsRolledBack() throws {
        final class Session: StatementSession {
            var statements = 0

            func endStatements(at deadline: ContinuousClock.Instant?) {}

            func query(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> [Row] {
                statements += 1
                return []
            }

            func execute(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> Int {
                statements += 1
                return 1
            }
        }
        let begin = ContinuousClock.now
        var now = begin
        let session = Session()
        let connection = Connection(session, longest: .seconds(30), now: { now })
        now = begin + .seconds(29)
        try connection.execute("DELETE FROM numbers")
        now = begin + .seconds(30)
        let error = #expect(throws: DatabaseError.self) { try connection.execute("DELETE FROM numbers") }
        #expect(error?.code == .busy && session.statements == 1)
        // It cannot be committed either, whatever the closure makes of it.
        now = begin
        #expect(throws: DatabaseError.self) { try connection.checkMayCommit() }
        // Nor can one that took its time after its last statement.
        let idle = Connection(session, longest: .seconds(30), now: { now })
        try idle.execute("DELETE FROM numbers")
        try idle.checkMayCommit()
        now = begin + .seconds(30)
        #expect(throws: DatabaseError.self) { try idle.checkMayCommit() }
        #expect(idle.isOverdue)
        // A migration has no time limit.
        let migration = Connection(session, longest: nil, now: { now })
        now = begin + .seconds(86_400)
        _ = try migration.query("SELECT 1")
    }

    /// SQLite ends the statement by the transaction's limit, PostgreSQL by its own for statements.
    @Test(arguments: Backend.available) func aStatementThatGoesOnForTooLongIsEnded(backend: Backend) async throws {
        try await backend.withLocation { location async throws in
            var limits = Database.Limits()
            limits.change = .seconds(2)
            let database = try await Database.open(
                location.endingStatements(afterMilliseconds: 2_000), migrations: [tables], limits: limits,
                sqlite: SQLiteSettings(), logger: .silent)
            let numbers =
                "WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT i"
            for sql in ["\(numbers) FROM n WHERE i < 0", "INSERT INTO counter (id, value) \(numbers), 0 FROM n"] {
                let begin = ContinuousClock.now
                await expect(.busy) {
                    try await database.write { connection in
                        try connection.execute("UPDATE counter SET value = 7")
                        _ = try? connection.execute(sql)
                    }
                }
                #expect(ContinuousClock.now - begin < .seconds(20))
                #expect(try await value(database) == 0)
            }
            // The next has its own time, which may pass as well when the machine stands still.
            try await until {
                (try? await database.write { _ = try $0.execute("UPDATE counter SET value = 7") }) != nil
            }
            #expect(try await value(database) == 7)
            await database.close()
        }
    }

    @Test(arguments: Backend.available) func aConnectionEndsWithItsTransaction(backend: Backend) async throws {
        struct Box: @unchecked Sendable { let connection: Connection }
        try await backend.withDatabase(migrations: [tables]) { database, _ async throws in
            let box = try await database.write { Box(connection: $0) }
            await expect(.closed) { try box.connection.query("SELECT 1") }
        }
    }

    @Test(arguments: Backend.available) func concurrentIncrementsAreExact(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [tables], connections: 6) { database, _ async throws in
            let tasks = 24
            let each = backend == .sqlite ? 50 : 5
            try await withThrowingTaskGroup { group in
                for _ in 0..<tasks {
                    group.addTask {
                        for _ in 0..<each {
                            try await database.write { connection in
                                let old =
                                    try connection.queryOne("SELECT value FROM counter WHERE id = 1")?.int(0) ?? -1
                                try connection.execute("UPDATE counter SET value = $1 WHERE id = 1", [old + 1])
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await value(database) == tasks * each)
        }
    }

    @Test(arguments: Backend.available) func compareAndSetHasOneWinner(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [tables], connections: 6) { database, _ async throws in
            for round in 1...5 {
                let winners = try await withThrowingTaskGroup { group in
                    for _ in 0..<16 {
                        group.addTask {
                            try await database.write { connection in
                                try connection.query(
                                    "UPDATE counter SET value = $1 WHERE id = 1 AND value = $2 RETURNING id",
                                    [round, round - 1]
                                ).count
                            }
                        }
                    }
                    return try await group.reduce(0, +)
                }
                #expect(winners == 1)
            }
        }
    }

    @Test(arguments: Backend.available) func oneOfManyEqualKeysIsInserted(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [tables], connections: 6) { database, _ async throws in
            let taken = try await withThrowingTaskGroup { group in
                for _ in 0..<24 {
                    group.addTask {
                        try await database.write { connection in
                            try connection.execute(
                                "INSERT INTO entry (name, counter) VALUES ('k', 1) ON CONFLICT (name) DO NOTHING"
                            )
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(taken == 1)
        }
    }

    @Test(arguments: Backend.available) func failuresDoNotDisturbOthers(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [tables]) { database, _ async throws in
            let outcomes = await withTaskGroup { group in
                for number in 0..<60 {
                    group.addTask {
                        await Result.of {
                            try await database.write { connection in
                                let sql = "INSERT INTO entry (name, counter) VALUES ($1, $2)"
                                try connection.execute(sql, ["entry \(number)", 1])
                                if number % 3 == 1 { throw Refusal(number: number) }
                                if number % 3 == 2 { try connection.execute(sql, ["entry \(number)", 1]) }
                                return number
                            }
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let done = outcomes.compactMap { try? $0.get() }.sorted()
            let expected = Array(stride(from: 0, to: 60, by: 3))
            #expect(done == expected)
            let kept = try await database.read { connection in
                try connection.query("SELECT name FROM entry").map { try $0.string(0) }
            }
            #expect(Set(kept) == Set(expected.map { "entry \($0)" }))
        }
    }

    @Test(arguments: Backend.available) func aReadSeesOneCommittedState(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [tables]) { database, _ async throws in
            let (began, written) = (Gate(), Gate())
            async let seen = database.read { connection in
                let sql = "SELECT value FROM counter WHERE id = 1"
                let before = try connection.queryOne(sql)?.int(0)
                began.open()
                written.wait()
                return [before, try connection.queryOne(sql)?.int(0)]
            }
            // The writer looks at the gate inside its closure, so that it commits only after the read has begun.
            try await database.write { connection in
                began.wait()
                try connection.execute("UPDATE counter SET value = 5")
            }
            #expect(try await value(database) == 5)
            written.open()
            #expect(try await seen == [0, 0])
        }
    }

    @Test(arguments: Backend.available) func uncommittedChangesAreNotSeen(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [tables]) { database, _ async throws in
            let (changed, looked) = (Gate(), Gate())
            async let writing: Void = database.write { connection in
                try connection.execute("UPDATE counter SET value = 5")
                changed.open()
                looked.wait()
            }
            let seen = try await database.read { connection in
                changed.wait()
                return try connection.queryOne("SELECT value FROM counter WHERE id = 1")?.int(0)
            }
            looked.open()
            try await writing
            #expect(seen == 0)
            #expect(try await value(database) == 5)
        }
    }

    @Test(arguments: Backend.available) func closingFinishesWaitingTransactionsAndRefusesNewOnes(backend: Backend)
        async throws
    {
        try await backend.withDatabase(migrations: [tables], connections: 2) { database, location async throws in
            let outcomes = await withTaskGroup { group in
                for _ in 0..<40 {
                    group.addTask {
                        await Result.of {
                            try await database.write { try $0.execute("UPDATE counter SET value = value + 1") }
                        }
                    }
                }
                await database.close()
                await database.close()
                return await group.reduce(into: []) { $0.append($1) }
            }
            var done = 0
            for outcome in outcomes {
                switch outcome {
                case .success(let changed): done += changed
                case .failure(let error): #expect((error as? DatabaseError)?.code == .closed)
                }
            }
            await expect(.closed) { try await database.read { try $0.query("SELECT 1") } }
            await expect(.closed) { try await database.check() }
            let again = try await Database.open(location, migrations: [tables], logger: .silent)
            #expect(try await value(again) == done)
            await again.close()
        }
    }

    @Test(arguments: Backend.available) func acceptedWritesSurviveCancellation(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [tables]) { database, _ async throws in
            let (began, cancelled) = (Gate(), Gate())
            let task = Task {
                try await database.write { connection in
                    began.open()
                    cancelled.wait()
                    return try connection.execute("UPDATE counter SET value = 5")
                }
            }
            try await database.read { _ in began.wait() }
            task.cancel()
            cancelled.open()
            #expect(try await task.value == 1)
            #expect(try await value(database) == 5)
        }
    }

    @Test(arguments: Backend.available) func aBusyDatabaseAnswersItsCheck(backend: Backend) async throws {
        try await backend.withDatabase { database, _ in try await database.check() }
    }
}
