import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Database

private let table = Migration(
    1, "counter",
    [
        "CREATE TABLE counter (id BIGINT NOT NULL PRIMARY KEY, value BIGINT NOT NULL)",
        "INSERT INTO counter (id, value) VALUES (1, 0)",
    ])

private func increment(_ connection: Connection) throws {
    try connection.execute("UPDATE counter SET value = value + 1 WHERE id = $1", [1])
}

private func value(_ connection: Connection) throws -> Int {
    try connection.queryOne("SELECT value FROM counter WHERE id = $1", [1])?.int(0) ?? -1
}

@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1))) struct PostgreSQLTests {
    /// A database reached through a relay.
    private func withRelay(_ body: (Database, Relay) async throws -> Void) async throws {
        try await Backend.postgresql.withLocation { location async throws in
            guard case .postgresql(let url, let schema, _) = location, var components = URLComponents(string: url)
            else { return }
            let relay = try Relay(to: UInt16(components.port ?? 5432))
            defer { relay.close() }
            components.port = Int(relay.port)
            let database = try await Database.open(
                .postgresql(url: components.string ?? "", schema: schema, connections: 1), migrations: [table],
                logger: .silent
            )
            let result = await Result.of { try await body(database, relay) }
            await database.close()
            try result.get()
        }
    }

    @Test func aConnectionThatBrokeWhileIdleIsReplaced() async throws {
        try await Backend.postgresql.withDatabase(migrations: [table], connections: 1) {
            database, location async throws in
            let process = try await database.read { try $0.queryOne("SELECT pg_backend_pid()")?.int(0) ?? 0 }
            let other = try await Database.open(location, migrations: [table], logger: .silent)
            _ = try await other.read {
                try $0.query("SELECT pg_terminate_backend(CAST($1 AS INTEGER), 10000)", [process])
            }
            await other.close()
            try await database.write(increment)
            #expect(try await database.read(value) == 1)
            #expect(try await database.read { try $0.queryOne("SELECT pg_backend_pid()")?.int(0) } != process)
        }
    }

    @Test func anUnavailableServerIsReportedAndUsedAgainLater() async throws {
        try await withRelay { database, relay async throws in
            try await database.write(increment)
            relay.cut()
            for _ in 0..<3 {
                await expect(.unavailable) { try await database.write(increment) }
                await expect(.unavailable) { try await database.check() }
            }
            relay.mend()
            try await database.check()
            try await database.write(increment)
            #expect(try await database.read(value) == 2)
        }
    }

    @Test func aServerLostInsideATransactionLeavesNoChanges() async throws {
        try await withRelay { database, relay async throws in
            await expect(.unavailable) {
                try await database.write { connection in
                    try increment(connection)
                    relay.cut()
                    try increment(connection)
                }
            }
            relay.mend()
            #expect(try await database.read(value) == 0)
        }
    }

    @Test(arguments: [false, true]) func aCommitWhoseAnswerIsLostIsNotRepeated(isDone: Bool) async throws {
        try await withRelay { database, relay async throws in
            try await database.write(increment)
            relay.cut(onSending: "COMMIT", afterForwarding: isDone)
            let error = await expect(.unavailable) { try await database.write(increment) }
            #expect(error?.detail.contains("not known") == true)
            relay.mend()
            #expect(try await database.read(value) == (isDone ? 2 : 1))
        }
    }

    @Test func waitingForAConnectionIsBounded() async throws {
        try await Backend.postgresql.withDatabase(connections: 1) { database, _ async throws in
            let (began, done) = (Gate(), Gate())
            async let holding: Void = database.read { _ in
                began.open()
                done.wait()
            }
            await withCheckedContinuation { continuation in
                Thread {
                    began.wait()
                    continuation.resume()
                }.start()
            }
            async let waiting: DatabaseError? = expect(.busy) { try await database.check() }
            // One that is not seen waiting has been refused already, after the same time.
            try? await until(within: Database.Limits().wait) { database.engine.reads.count > 0 }
            database.engine.reads.expire(at: .now + Database.Limits().wait + .seconds(1))
            _ = await waiting
            done.open()
            try await holding
            try await database.check()
        }
    }

    @Test func transactionsAreSerializableAndDurable() async throws {
        try await Backend.postgresql.withDatabase(connections: 1) { database, _ async throws in
            let sql = "SELECT current_setting($1)"
            let write = try await database.write { connection in
                try ["transaction_isolation", "transaction_read_only", "synchronous_commit"].map {
                    try connection.query(sql, [$0])[0].string(0)
                }
            }
            #expect(write == ["serializable", "off", "on"])
            let read = try await database.read { connection in
                try ["transaction_isolation", "transaction_read_only"].map {
                    try connection.query(sql, [$0])[0].string(0)
                }
            }
            #expect(read == ["repeatable read", "on"])
        }
    }

    /// Linux sends no keepalives while something that it has sent is not acknowledged.
    @Test func theServerEndsASessionWhoseMachineIsSilentAlsoWhenItHasDataForIt() async throws {
        try await Backend.postgresql.withDatabase(connections: 1) { database, _ async throws in
            let names = ["tcp_user_timeout", "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count"]
            let found = try await database.read { connection in
                try names.map { try connection.query("SELECT current_setting($1)", [$0])[0].string(0) }
            }
            #expect(found == ["30000", "15", "5", "3"])
        }
    }

    @Test func manyDifferentStatementsArePreparedWithinBounds() async throws {
        try await Backend.postgresql.withDatabase(connections: 1) { database, _ async throws in
            try await database.read { connection in
                for number in 0..<1_200 {
                    #expect(try connection.query("SELECT CAST($1 AS BIGINT) + \(number)", [1])[0].int(0) == number + 1)
                }
                let kept = try connection.query("SELECT COUNT(*) FROM pg_prepared_statements")[0].int(0)
                #expect(kept <= 513)
            }
        }
    }

    @Test func `a text that is too long for an index is an invalid value`() async throws {
        let named = Migration(1, "named", ["CREATE TABLE named (name TEXT NOT NULL PRIMARY KEY)"])
        try await Backend.postgresql.withDatabase(migrations: [named], connections: 1) { database, _ async throws in
            // The server compresses a text before it measures it.
            var random = SeededGenerator(seed: 1)
            let words = (0..<1_000).map { _ in String(UInt64.random(in: 0...UInt64.max, using: &random), radix: 16) }
            let name = words.joined()
            let error = await expect(.invalidValue) {
                try await database.write { try $0.execute("INSERT INTO named (name) VALUES ($1)", [name]) }
            }
            #expect(error?.detail.contains(words[0]) == false)
        }
    }

    @Test func aSkewBetweenTwoWritersIsPrevented() async throws {
        // Each takes from its own row if the two together hold enough: only serializable transactions keep the sum.
        let accounts = Migration(
            1, "accounts",
            [
                "CREATE TABLE account (id BIGINT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL)",
                "INSERT INTO account (id, balance) VALUES (1, 50), (2, 50)",
            ])
        try await Backend.postgresql.withDatabase(migrations: [accounts], connections: 2) { database, _ async throws in
            try await withThrowingTaskGroup { group in
                for id in [1, 2] {
                    group.addTask {
                        try await database.write { connection in
                            let rows = try connection.query("SELECT balance FROM account")
                            guard try rows.reduce(0, { try $0 + $1.int(0) }) >= 100 else { return }
                            try connection.execute("UPDATE account SET balance = balance - 100 WHERE id = $1", [id])
                        }
                    }
                }
                try await group.waitForAll()
            }
            let left = try await database.read { try $0.query("SELECT balance FROM account").map { try $0.int(0) } }
            #expect(left.reduce(0, +) == 0)
        }
    }

    /// Where many change one row, a transaction meets dozens of others before its turn comes.
    @Test(arguments: [(40, true), (Int.max, false)]) func serializationFailuresAreRepeatedForALimitedTime(
        _ contradictions: Int, _ succeeds: Bool
    ) async throws {
        var limits = Database.Limits()
        // A busy machine may need longer for forty attempts and their pauses than the usual time.
        limits.contention = succeeds ? .seconds(3_600) : .milliseconds(100)
        try await Backend.postgresql.withLocation(connections: 1) { location async throws in
            let database = try await Database.open(
                location, migrations: [table], limits: limits, sqlite: SQLiteSettings(), logger: .silent)
            let runs = Mutex(0)
            let writing = await Result.of {
                try await database.write { connection in
                    try increment(connection)
                    let number = runs.withLock { runs in
                        runs += 1
                        return runs
                    }
                    guard number > contradictions else { throw DatabaseError(.serialization, "somebody was faster") }
                }
            }
            if succeeds { try writing.get() } else { await expect(.serialization) { try writing.get() } }
            // On a busy machine one attempt alone may take all the time that there is.
            #expect(runs.withLock { $0 } > (succeeds ? contradictions : 0))
            #expect(try await database.read(value) == (succeeds ? 1 : 0))
            await database.close()
        }
    }

    /// A transaction that meets a faster one at each attempt would never succeed beside others.
    @Test func aTransactionThatLosesAgainAndAgainRunsAlone() async throws {
        try await Backend.postgresql.withDatabase(migrations: [table], connections: 2) { database, _ async throws in
            let turns = try #require((database.engine as? PostgreSQLEngine)?.turns)
            let rivals = Mutex<[Task<Void, any Error>]>([])
            try await database.write { connection in
                let before = try value(connection)
                let isChanged = DispatchSemaphore(value: 0)
                let rival = Task {
                    try await database.write { try increment($0) }
                    isChanged.signal()
                }
                rivals.withLock { $0.append(rival) }
                // Who runs alone keeps its rival waiting.
                blockUntil { isChanged.wait(timeout: .now()) == .success || turns.waiting > 0 }
                try connection.execute("UPDATE counter SET value = $1", [before + 100])
            }
            let all = rivals.withLock { $0 }
            for rival in all { try await rival.value }
            #expect(all.count == WriteTurns.mostFailures + 1)
            #expect(try await database.read(value) == 100 + all.count)
        }
    }

    /// One transaction after the other needs one connection, or two while a thread is still on its way back.
    @Test func aPoolOpensOnlyTheConnectionsThatItNeeds() async throws {
        try await Backend.postgresql.withLocation { location in
            guard case .postgresql(let url, let schema, _) = location else { return }
            let database = try await Database.open(
                .postgresql(url: url, schema: schema, connections: 16), migrations: [], logger: .silent)
            for _ in 0..<100 { try await database.read { _ = try $0.query("SELECT 1") } }
            let open = try await database.read {
                try $0.queryOne(
                    "SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE application_name = CAST($1 AS TEXT)",
                    ["cornerstore \(schema)"]
                )?.int64(0)
            }
            #expect((1...8).contains(open ?? 0))
            await database.close()
        }
    }

    /// Costs the two seconds of one connection to a server that says nothing.
    @Test func `only the first connection waits for a former primary that is gone`() async throws {
        try await Backend.postgresql.withLocation { location in
            guard case .postgresql(let url, let schema, _) = location, let parts = URLComponents(string: url)
            else { return }
            let gone = try RawServer { connection, _ in _ = connection.readToEnd() }
            defer { gone.close() }
            let role = "\(parts.percentEncodedUser ?? ""):\(parts.percentEncodedPassword ?? "")"
            let servers = "127.0.0.1:\(gone.port),\(parts.percentEncodedHost ?? ""):\(parts.port ?? 5432)"
            let both = DatabaseLocation.postgresql(
                url: "postgres://\(role)@\(servers)\(parts.percentEncodedPath)", schema: schema, connections: 1)
            func connects() async -> Bool {
                (try? await Database.readUnmigrated(both) { _ = try $0.query("SELECT 1") }) != nil
            }
            // On a busy machine, a connection to the right server can take longer than its two seconds, and fails.
            try await until { await connects() }
            #expect(gone.connections > 0)
            try await until {
                let before = gone.connections
                return await connects() && gone.connections == before
            }
        }
    }

    @Test func aWrongPasswordIsNotRepeated() async throws {
        let address = try #require(Backend.address)
        var components = try #require(URLComponents(string: address))
        // The only user that `scripts/with-postgresql` asks for a password.
        components.user = "guarded"
        components.password = "hunter2"
        let wrong = try #require(components.string)
        let error = await expect(.unavailable) {
            try await Database.open(
                .postgresql(url: wrong, schema: "s", connections: 1), migrations: [], logger: .silent)
        }
        #expect(error?.detail.contains("password authentication failed") == true)
        #expect(error?.detail.contains("hunter2") == false)
    }
}

@Suite(.timeLimit(.minutes(1))) struct PostgreSQLErrorTests {
    @Test func `each SQLSTATE has its code`() {
        let codes: [String: DatabaseError.Code] = [
            "23505": .uniqueViolation, "23514": .checkViolation, "23P01": .checkViolation, "23502": .notNullViolation,
            "23503": .foreignKeyViolation, "23001": .foreignKeyViolation, "40001": .serialization,
            "40P01": .serialization, "55P03": .busy, "57014": .busy, "53100": .full, "25006": .readOnly,
            "22P02": .invalidValue, "22021": .invalidValue, "22003": .invalidValue, "54000": .unavailable,
            "54001": .invalidSQL, "54023": .invalidSQL, "25P02": .invalidSQL, "42601": .invalidSQL,
            "XX000": .unavailable, "XX001": .corrupted, "08006": .unavailable, "57P01": .unavailable,
            "": .unavailable,
        ]
        for (state, code) in codes { #expect(DatabaseError.code(sqlState: state) == code, "\(state)") }
        #expect(DatabaseError.code(sqlState: "54000", isAboutIndex: true) == .invalidValue)
    }
}

@Suite(.timeLimit(.minutes(1))) struct PostgreSQLAddressTests {
    @Test(arguments: [
        "", "mysql://u:hunter2@h/d", "host=h password=hunter2", "postgres://u:hunter2@x@h/d",
        "postgres://u:hun/ter2@h/d",
        "postgres://u:hunter2@h:port/d", "postgres://u:hunter2@h/d?nonsense=1", "postgres://u:hunter2@h/d?sslmode",
        "postgres://u:%zzhunter2@h/d",
        "postgres://u:p@hunter2 x/d",
    ])
    func malformedAddressesAreRefusedWithoutShowingThem(url: String) async {
        let error = await expect(.invalidLocation) { try PostgreSQLAddress(url: url, schema: "s") }
        #expect(error?.detail.contains("hun") == false)
    }

    @Test(arguments: ["", "1a", "A", "a-b", "a\"b", "a b", "ä", String(repeating: "a", count: 64)])
    func malformedSchemasAreRefused(schema: String) async {
        await expect(.invalidLocation) { try PostgreSQLAddress(url: "postgres://h/d", schema: schema) }
    }

    @Test func parametersAreReadAndCompleted() throws {
        let address = try PostgreSQLAddress(
            url: "postgresql://u:p%40ss@127.0.0.1,[::1]:5433/d?connect_timeout=9&client_encoding=LATIN1",
            schema: "store_1"
        )
        let parameters = Dictionary(address.parameters.map { ($0.keyword, $0.value) }) { $1 }
        #expect(parameters["user"] == "u")
        #expect(parameters["password"] == "p@ss")
        #expect(parameters["dbname"] == "d")
        #expect(parameters["connect_timeout"] == "9")
        #expect(parameters["tcp_user_timeout"] == "3000")
        #expect(parameters["client_encoding"] == "UTF8")
        #expect(address.withoutSecrets("it was p@ss, was it") == "it was ***, was it")
    }

    @Test func thePrimaryIsFoundAmongSeveralServers() throws {
        func parameters(_ url: String) throws -> [String: String] {
            let address = try PostgreSQLAddress(url: url, schema: "s")
            return Dictionary(address.parameters.map { ($0.keyword, $0.value) }) { $1 }
        }
        let several = try parameters("postgres://a:1,b:2/d")
        #expect(several["target_session_attrs"] == "read-write" && several["connect_timeout"] == "2")
        #expect(several["tcp_user_timeout"] == "3000")
        // Linux gives up an idle connection with the keepalive that follows this time.
        #expect(several["keepalives_idle"] == "1" && several["keepalives_interval"] == "1")
        let chosen = try parameters(
            "postgres://a:1,b:2/d?target_session_attrs=any&connect_timeout=7&tcp_user_timeout=9000")
        #expect(chosen["target_session_attrs"] == "any" && chosen["connect_timeout"] == "7")
        #expect(chosen["tcp_user_timeout"] == "9000")
        let one = try parameters("postgres://a:1/d")
        #expect(one["target_session_attrs"] == nil && one["connect_timeout"] == "5")
        #expect(one["tcp_user_timeout"] == "15000" && one["keepalives_idle"] == "15")
    }

    @Test func `a connection goes first to the server that was the last primary`() throws {
        func servers(_ url: String, after host: String, _ port: String) throws -> [String?] {
            try PostgreSQLAddress(url: url, schema: "s").rememberPrimary(host: host, port: port)
            let parameters = try PostgreSQLAddress(url: url, schema: "other").parametersForConnection
            let values = Dictionary(parameters.map { ($0.keyword, $0.value) }) { $1 }
            return [values["host"], values["port"]]
        }
        #expect(try servers("postgres://i:1,j:2,k:3/d", after: "j", "2") == ["j,k,i", "2,3,1"])
        #expect(try servers("postgres://i:1,j:2,k:3/d", after: "i", "1") == ["i,j,k", "1,2,3"])
        #expect(try servers("postgres://i:1,i:2/d", after: "i", "2") == ["i,i", "2,1"])
        #expect(try servers("postgres://[::1],j/d", after: "j", "5432") == ["j,::1", ","])
        #expect(try servers("postgres://i,j/d?port=7", after: "j", "7") == ["j,i", "7"])
        #expect(try servers("postgres://i:1,j:2/d", after: "unknown", "2") == ["i,j", "1,2"])
        // There the one that was found last need not be the primary.
        #expect(try servers("postgres://i:1,j:2/d?target_session_attrs=any", after: "j", "2") == ["i,j", "1,2"])
    }

    @Test(arguments: [
        ("", "30s"), ("options=-c%20statement_timeout%3D7min", "7min"), ("options=-cstatement_timeout%3D0", "0"),
        ("options=-c%20work_mem%3D8MB", "30s"),
    ])
    func theAddressMaySayHowLongAStatementTakes(query: String, timeout: String) async throws {
        try await Backend.postgresql.withLocation { location in
            guard case .postgresql(let url, let schema, _) = location, var components = URLComponents(string: url)
            else { return }
            components.percentEncodedQuery = query
            let other = DatabaseLocation.postgresql(
                url: try #require(components.string), schema: schema, connections: 1)
            let database = try await Database.open(other, migrations: [], logger: .silent)
            let found = try await database.read {
                try $0.query("SELECT current_setting('statement_timeout')")[0].string(0)
            }
            #expect(found == timeout)
            await database.close()
        }
    }

    @Test func locationsDoNotShowTheirAddress() {
        let location = DatabaseLocation.postgresql(url: "postgres://u:hunter2@h/d", schema: "s", connections: 1)
        var dumped = ""
        dump(location, to: &dumped)
        for text in ["\(location)", String(reflecting: location), "\([location])", dumped] {
            #expect(!text.contains("hunter2"))
        }
    }
}
