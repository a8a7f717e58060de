import Foundation
import TestSupport
import Testing

@testable import Database

@Suite(.enabled(if: Backend.available.contains(.postgresql))) struct SoleUseTests {
    private let table = Migration(1, "t", ["CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY)"])

    /// A schema, reached directly and through a relay.
    private func withRelay(
        _ body: (_ direct: DatabaseLocation, _ relayed: DatabaseLocation, Relay) async throws -> Void
    )
        async throws
    {
        try await Backend.postgresql.withLocation(connections: 1) { location async throws in
            guard case .postgresql(let url, let schema, _) = location, var components = URLComponents(string: url)
            else { return }
            let relay = try Relay(to: UInt16(components.port ?? 5432))
            defer { relay.close() }
            components.port = Int(relay.port)
            try await body(
                location, .postgresql(url: components.string ?? "", schema: schema, connections: 1), relay)
        }
    }

    private func until(_ condition: () -> Bool) async {
        let end = ContinuousClock.now + .seconds(60)
        while !condition(), ContinuousClock.now < end { await Task.yield() }
        #expect(condition())
    }

    @Test func oneProcessHasTheSchemaAtATime() async throws {
        try await withRelay { location, _, _ async throws in
            let first = try await SoleUse(of: location, logger: .silent)
            #expect(first.isHeld)
            let error = await #expect(throws: DatabaseError.self) { try await SoleUse(of: location, logger: .silent) }
            #expect(error?.code == .inUse)
            #expect(error?.detail.contains("cornerstore process \(getpid()) on ") == true, "\(error?.detail ?? "")")
            // Whoever does not ask for it is not kept away.
            let guest = try await Database.open(location, migrations: [table], logger: .silent)
            try await guest.check()
            await guest.close()
            await first.giveUp()
            #expect(!first.isHeld)
            #expect(await first.whenLost() == nil)
            let second = try await SoleUse(of: location, logger: .silent)
            await second.giveUp()
        }
    }

    @Test func oneThatIsLetGoGivesItUp() async throws {
        try await withRelay { location, _, _ async throws in
            _ = try await SoleUse(of: location, logger: .silent)
            // The one that was just let go may still be ending.
            let second = try await SoleUse(of: location, logger: .silent)
            await second.giveUp()
        }
    }

    @Test func otherSchemasAreOthers() async throws {
        try await withRelay { location, _, _ async throws in
            guard case .postgresql(let url, let schema, _) = location else { return }
            let first = try await SoleUse(of: location, logger: .silent)
            let second = try await SoleUse(
                of: .postgresql(url: url, schema: schema + "x", connections: 1), logger: .silent)
            await first.giveUp()
            await second.giveUp()
        }
    }

    @Test func aBrokenConnectionStopsWorkUntilTheLockIsHeldAgain() async throws {
        try await withRelay { direct, relayed, relay async throws in
            let use = try await SoleUse(of: relayed, logger: .silent)
            // The databases' own connections stay whole: it is the lock that matters.
            let database = try await Database.open(direct, migrations: [table], soleUse: use, logger: .silent)
            try await database.write { try $0.execute("INSERT INTO t (id) VALUES (1)") }
            relay.cut()
            await until { !use.isHeld }
            await expect(.unavailable) { try await database.check() }
            await expect(.unavailable) { try await database.write { try $0.execute("INSERT INTO t (id) VALUES (2)") } }
            relay.mend()
            await until { use.isHeld }
            try await database.write { try $0.execute("INSERT INTO t (id) VALUES (3)") }
            let ids = try await database.read { try $0.query("SELECT id FROM t ORDER BY id").map { try $0.int(0) } }
            #expect(ids == [1, 3])
            await database.close()
            await use.giveUp()
        }
    }

    /// The lock breaks while a transaction is under way: it is not committed.
    @Test func whatIsUnderWayWhenTheLockBreaksIsNotCommitted() async throws {
        try await withRelay { direct, relayed, relay async throws in
            let use = try await SoleUse(of: relayed, logger: .silent)
            let database = try await Database.open(direct, migrations: [table], soleUse: use, logger: .silent)
            await expect(.unavailable) {
                try await database.write { connection in
                    try connection.execute("INSERT INTO t (id) VALUES (1)")
                    relay.cut()
                    let end = Date(timeIntervalSinceNow: 60)
                    while use.isHeld, Date() < end { usleep(1_000) }
                }
            }
            relay.mend()
            await until { use.isHeld }
            #expect(try await database.read { try $0.query("SELECT id FROM t") }.isEmpty)
            await database.close()
            await use.giveUp()
        }
    }

    @Test func aSessionThatAnAdministratorEndsIsReplaced() async throws {
        try await withRelay { location, _, _ async throws in
            let use = try await SoleUse(of: location, logger: .silent)
            let database = try await Database.open(location, migrations: [table], soleUse: use, logger: .silent)
            let address = try #require(try? Self.address(location))
            let holder = """
                SELECT pid FROM pg_catalog.pg_locks WHERE locktype = 'advisory'
                    AND (CAST(classid AS BIGINT) << 32) + CAST(objid AS BIGINT) = CAST($1 AS BIGINT)
                """
            let old = try await database.read { try $0.queryOne(holder, [address.soleUseKey])?.int(0) ?? 0 }
            #expect(old > 0)
            _ = try await database.read { try $0.query("SELECT pg_terminate_backend(CAST($1 AS INTEGER))", [old]) }
            var new = old
            let end = ContinuousClock.now + .seconds(60)
            while new == old || new == 0, ContinuousClock.now < end {
                new = (try? await database.read { try $0.queryOne(holder, [address.soleUseKey])?.int(0) ?? 0 }) ?? 0
            }
            #expect(new != old && new > 0 && use.isHeld)
            await database.close()
            await use.giveUp()
        }
    }

    private static func address(_ location: DatabaseLocation) throws -> PostgreSQLAddress? {
        guard case .postgresql(let url, let schema, _) = location else { return nil }
        return try PostgreSQLAddress(url: url, schema: schema)
    }

    @Test func whatAnotherProcessHasTakenMeanwhileIsLost() async throws {
        try await withRelay { direct, relayed, relay async throws in
            let first = try await SoleUse(of: relayed, logger: .silent)
            let database = try await Database.open(direct, migrations: [table], soleUse: first, logger: .silent)
            relay.cut()
            let second = try await SoleUse(of: direct, logger: .silent)
            relay.mend()
            let loss = await first.whenLost()
            #expect(loss?.code == .inUse && !first.isHeld && second.isHeld)
            await expect(.unavailable) { try await database.check() }
            await database.close()
            await second.giveUp()
            // It is not taken back.
            #expect(!first.isHeld)
            await first.giveUp()
        }
    }
}
