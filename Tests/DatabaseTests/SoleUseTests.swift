import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Database

@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1))) struct SoleUseTests {
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

    /// Opens the database under a right, and closes both afterwards.
    private func withDatabase(
        _ location: DatabaseLocation, _ use: SoleUse, _ body: (Database) async throws -> Void
    ) async throws {
        let database = try await Database.open(location, migrations: [table], fence: use, logger: .silent)
        try await body(database)
        await database.close()
        await use.giveUp()
    }

    /// The number of PostgreSQL's process that has the lock; nil when none has it.
    private func process(with location: DatabaseLocation, in database: Database) async throws -> Int? {
        guard case .postgresql(let url, let schema, _) = location else { return nil }
        let key = try PostgreSQLAddress(url: url, schema: schema).soleUseKey
        return try await database.read { connection in
            try connection.queryOne(
                """
                SELECT pid FROM pg_catalog.pg_locks WHERE locktype = 'advisory'
                    AND (CAST(classid AS BIGINT) << 32) + CAST(objid AS BIGINT) = CAST($1 AS BIGINT)
                """, [key])?.int(0)
        }
    }

    @Test func oneProcessAtATimeHoldsTheLock() async throws {
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

    @Test func releasingTheObjectReleasesTheLock() async throws {
        try await withRelay { location, _, _ async throws in
            _ = try await SoleUse(of: location, logger: .silent)
            // The one that was just let go may still be ending.
            let second = try await SoleUse(of: location, logger: .silent)
            await second.giveUp()
        }
    }

    @Test func locksOfOtherSchemasAreIndependent() async throws {
        try await withRelay { location, _, _ async throws in
            guard case .postgresql(let url, let schema, _) = location else { return }
            let first = try await SoleUse(of: location, logger: .silent)
            let second = try await SoleUse(
                of: .postgresql(url: url, schema: schema + "x", connections: 1), logger: .silent)
            await first.giveUp()
            await second.giveUp()
        }
    }

    @Test func aBrokenConnectionStopsTransactionsUntilTheLockIsHeldAgain() async throws {
        try await withRelay { direct, relayed, relay async throws in
            let use = try await SoleUse(of: relayed, logger: .silent)
            // The databases' own connections stay whole: it is the lock that matters.
            try await withDatabase(direct, use) { database async throws in
                try await database.write { try $0.execute("INSERT INTO t (id) VALUES (1)") }
                relay.cut()
                try await until { !use.isHeld }
                await expect(.unavailable) { try await database.check() }
                await expect(.unavailable) {
                    try await database.write { try $0.execute("INSERT INTO t (id) VALUES (2)") }
                }
                relay.mend()
                try await until { use.isHeld }
                try await database.write { try $0.execute("INSERT INTO t (id) VALUES (3)") }
                let ids = try await database.read { try $0.query("SELECT id FROM t ORDER BY id").map { try $0.int(0) } }
                #expect(ids == [1, 3])
            }
        }
    }

    /// The lock breaks while a transaction is under way: it is not committed.
    @Test func aTransactionThatRunsWhenTheLockBreaksIsNotCommitted() async throws {
        try await withRelay { direct, relayed, relay async throws in
            let use = try await SoleUse(of: relayed, logger: .silent)
            try await withDatabase(direct, use) { database async throws in
                await expect(.unavailable) {
                    try await database.write { connection in
                        try connection.execute("INSERT INTO t (id) VALUES (1)")
                        relay.cut()
                        blockUntil { !use.isHeld }
                    }
                }
                relay.mend()
                try await until { use.isHeld }
                #expect(try await database.read { try $0.query("SELECT id FROM t") }.isEmpty)
            }
        }
    }

    @Test func aConnectionToAnotherServerThanThatOfTheLockIsNotUsed() async throws {
        try await withRelay { direct, relayed, relay async throws in
            let use = try await SoleUse(of: direct, logger: .silent)
            try await withDatabase(relayed, use) { database async throws in
                let start = "pg_postmaster_start_time()"
                relay.replace(start, with: "clock_timestamp()")
                let error = await expect(.unavailable) { try await database.check() }
                #expect(error?.detail.contains("is not the one") == true, "\(error?.detail ?? "")")
                relay.replace(start, with: start)
                try await database.check()
            }
        }
    }

    /// A clock that stands still until it is moved.
    private final class Clock: Sendable {
        private let time = Mutex(ContinuousClock.now)

        func advance(by duration: Duration) { time.withLock { $0 += duration } }

        /// - Parameters:
        ///   - heartbeat: in milliseconds.
        ///   - patience: in seconds.
        func timing(heartbeat: Int32, patience: Int = 60) -> SoleUse.Timing {
            SoleUse.Timing(heartbeat: heartbeat, patience: patience, now: { self.time.withLock { $0 } })
        }
    }

    @Test func afterAStandstillNothingRunsBeforePostgreSQLConfirmsTheLock() async throws {
        try await withRelay { location, _, _ async throws in
            let clock = Clock()
            // PostgreSQL is not asked in time.
            let use = try await SoleUse(of: location, timing: clock.timing(heartbeat: 600_000), logger: .silent)
            try await withDatabase(location, use) { database async throws in
                clock.advance(by: .seconds(19))
                try await database.check()
                clock.advance(by: .seconds(1))
                #expect(!use.isHeld)
                await expect(.unavailable) { try await database.check() }
            }
        }
    }

    @Test func afterAStandstillTransactionsRunWhenPostgreSQLConfirmsTheLock() async throws {
        try await withRelay { location, _, _ async throws in
            let clock = Clock()
            let use = try await SoleUse(of: location, timing: clock.timing(heartbeat: 20), logger: .silent)
            try await withDatabase(location, use) { database async throws in
                let before = try await process(with: location, in: database)
                for _ in 0..<3 {
                    clock.advance(by: .seconds(3600))
                    try await until { use.isHeld }
                }
                // In the same session.
                #expect(try await process(with: location, in: database) == before)
            }
        }
    }

    /// The connection goes silent, and PostgreSQL does not hear of its end: it would keep the lock for a session that
    /// is of no use to anyone.
    @Test func anUnansweredHeartbeatEndsTheLockAndThenTheOldSession() async throws {
        try await withRelay { direct, relayed, relay async throws in
            let use = try await SoleUse(
                of: relayed, timing: Clock().timing(heartbeat: 20, patience: 1), logger: .silent)
            let watcher = try await Database.open(direct, migrations: [table], logger: .silent)
            let old = try #require(try await process(with: direct, in: watcher))
            relay.silence()
            // Between the two sessions the lock is not held, too briefly to be seen on a busy machine.
            try await until { ![nil, old].contains(try await process(with: direct, in: watcher)) }
            try await until { use.isHeld }
            // A session that ends releases its locks before it is gone.
            try await until {
                try await watcher.read {
                    try $0.query("SELECT pid FROM pg_catalog.pg_stat_activity WHERE pid = $1", [old]).isEmpty
                }
            }
            await watcher.close()
            await use.giveUp()
        }
    }

    /// PostgreSQL has given the lock to a session of this process, which never heard of it.
    @Test func aLockWhoseAnswerWasLostIsNotAnotherProcesss() async throws {
        try await withRelay { direct, relayed, relay async throws in
            let use = try await SoleUse(
                of: relayed, timing: Clock().timing(heartbeat: 20, patience: 1), logger: .silent)
            let watcher = try await Database.open(direct, migrations: [table], logger: .silent)
            relay.cut()
            try await until { try await process(with: direct, in: watcher) == nil }
            relay.silence(afterRequestThatFollows: "pg_try_advisory_lock(")
            relay.mend()
            try await until { try await process(with: direct, in: watcher) != nil }
            try await until { use.isHeld }
            await watcher.close()
            await use.giveUp()
        }
    }

    @Test func aSessionThatAnAdministratorEndsIsReplaced() async throws {
        try await withRelay { location, _, _ async throws in
            let use = try await SoleUse(of: location, logger: .silent)
            let watcher = try await Database.open(location, migrations: [table], logger: .silent)
            let old = try #require(try await process(with: location, in: watcher))
            _ = try await watcher.read { try $0.query("SELECT pg_terminate_backend(CAST($1 AS INTEGER))", [old]) }
            try await until { ![nil, old].contains(try await process(with: location, in: watcher)) }
            try await until { use.isHeld }
            await watcher.close()
            await use.giveUp()
        }
    }

    @Test func aLockThatAnotherProcessTookIsLost() async throws {
        try await withRelay { direct, relayed, relay async throws in
            let first = try await SoleUse(of: relayed, logger: .silent)
            try await withDatabase(direct, first) { database async throws in
                relay.cut()
                let second = try await SoleUse(of: direct, logger: .silent)
                relay.mend()
                let loss = await first.whenLost()
                #expect(loss?.code == .inUse && !first.isHeld && second.isHeld)
                await expect(.unavailable) { try await database.check() }
                await second.giveUp()
                // It is not taken back.
                #expect(!first.isHeld)
            }
        }
    }
}
