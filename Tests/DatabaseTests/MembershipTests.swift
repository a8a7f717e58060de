import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Database

@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1))) struct MembershipTests {
    /// A short wait for locks, for processes that are to be refused.
    private var impatient: Membership.Timing {
        var timing = Membership.Timing()
        timing.entrance = .zero
        return timing
    }

    /// A clock that stands still until it is moved.
    private final class Clock: Sendable {
        private let time = Mutex(ContinuousClock.now)

        func advance(by duration: Duration) { time.withLock { $0 += duration } }
        var now: @Sendable () -> ContinuousClock.Instant { { self.time.withLock { $0 } } }
    }

    // MARK: The server

    @Test func aStandbyIsRefused() async throws {
        try await MembershipScene.with { scene async throws in
            // The server then says about itself what a standby says.
            scene.relay.replace("pg_is_in_recovery()", with: "TRUE")
            let error = await expect(.isStandby) { try await scene.join(relayed: true) }
            #expect(error?.detail.contains("standby") == true, "\(error?.detail ?? "")")
            // The refused one holds nothing.
            let membership = try await scene.join()
            #expect(membership.isFirst)
            await membership.leave()
        }
    }

    /// By which a process tells servers apart. A relay can give another time for it.
    private let start = "pg_postmaster_start_time()"

    @Test func aConnectionToAnotherServerThanThatOfTheLocksIsNotUsed() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join()
            let database = try await Database.open(
                .postgresql(url: scene.relayedURL, schema: "\(scene.prefix)_apps", connections: 1),
                migrations: [membershipTable], fence: one, logger: .silent)
            // New connections then lead to a promoted standby, and the process has not noticed yet.
            scene.relay.replace(start, with: "clock_timestamp()")
            await expect(.unavailable) { try await database.check() }
            let error = await expect(.unavailable) {
                try await database.write { try $0.execute("INSERT INTO t VALUES (1)") }
            }
            #expect(error?.detail.contains("is not the one") == true, "\(error?.detail ?? "")")
            try one.check()
            scene.relay.replace(start, with: start)
            try await database.write { try $0.execute("INSERT INTO t VALUES (1)") }
            await database.close()
            await one.leave()
        }
    }

    @Test func aProcessThatReturnsOnAnotherServerUsesOnlyThat() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join(relayed: true)
            // Its connections stay at the former server.
            try await scene.withDatabase(one) { database async throws in
                try await database.check()
                for (time, isFormer) in [("clock_timestamp()", false), (start, true)] {
                    scene.relay.cut()
                    try await until { !one.state.isHeld }
                    scene.relay.replace(start, with: time)
                    scene.relay.mend()
                    try await until { one.state.isHeld }
                    if isFormer {
                        try await database.check()
                    } else {
                        await expect(.unavailable) { try await database.check() }
                    }
                }
            }
        }
    }

    @Test func aTransactionUnderWayIsNotCommittedOnAnotherServerThanThatOfTheLocks() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join(relayed: true)
            try await scene.withDatabase(one) { database async throws in
                let error = await expect(.unavailable) {
                    try await database.write { connection in
                        try connection.execute("INSERT INTO t VALUES (1)")
                        scene.relay.cut()
                        blockUntil { !one.state.isHeld }
                        scene.relay.replace(start, with: "clock_timestamp()")
                        scene.relay.mend()
                        blockUntil { one.state.isHeld }
                    }
                }
                #expect(error?.detail.contains("is not the one") == true, "\(error?.detail ?? "")")
            }
            let apps = try PostgreSQLAddress(url: scene.url, schema: "\(scene.prefix)_apps")
            #expect(try PostgreSQLSession(apps, SQLTextCache()).query("SELECT id FROM t", []).isEmpty)
        }
    }

    // MARK: Node numbers

    @Test func everyProcessHasItsOwnNumber() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join()
            let (two, three) = (try await scene.join(), try await scene.join(node: 40))
            #expect(one.isFirst && !two.isFirst && !three.isFirst)
            #expect([one, two, three].map(\.node) == [0, 1, 40])
            let error = await expect(.inUse) { try await scene.join(node: 40, timing: impatient) }
            #expect(error?.detail.contains("cornerstore process \(getpid()) on ") == true, "\(error?.detail ?? "")")
            await one.leave()
            let four = try await scene.join()
            #expect(four.node == 0)
            for member in [two, three, four] { await member.leave() }
            await expect(.unavailable) { try two.check() }
        }
    }

    @Test(arguments: [-1, 64]) func otherNumbersAreRefused(node: Int) async throws {
        try await MembershipScene.with { scene async throws in
            await expect(.invalidLocation) { try await scene.join(node: node) }
        }
    }

    @Test func theNumberThatWasFreeForLongestIsTaken() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join(node: 63)
            try await scene.withProcesses { processes async throws in
                try await processes.write { connection in
                    for node in 0..<63 {
                        try connection.execute(
                            """
                            INSERT INTO store_processes (node, session, name, started_at, beat, hears, facts)
                            VALUES ($1, 'ended', 'ended', 0, $2, TRUE, '{}')
                            """, [node, node == 17 ? 5 : 100 + node])
                    }
                }
            }
            let two = try await scene.join()
            #expect(two.node == 17)
            await one.leave()
            await two.leave()
        }
    }

    @Test func sixtyFourProcessesMayRun() async throws {
        try await MembershipScene.with { scene async throws in
            let first = try await scene.join(node: 0)
            let table = try ProcessTable(url: scene.url, schema: "\(scene.prefix)_apps")
            // The session has the other numbers until it is closed.
            try await scene.withProcesses { crowd async throws in
                try await crowd.read { connection in
                    for node in 1..<64 {
                        _ = try connection.query(
                            "SELECT pg_try_advisory_lock(CAST($1 AS INTEGER), CAST($2 AS INTEGER))",
                            [table.nodeKey, Int64(node)])
                    }
                }
                let error = await expect(.inUse) { try await scene.join(timing: impatient) }
                #expect(error?.detail.contains("64 processes") == true)
            }
            let second = try await scene.join()
            #expect((1..<64).contains(second.node))
            await first.leave()
            await second.leave()
        }
    }

    @Test func theOldSessionOfAProcessIsEnded() async throws {
        try await MembershipScene.with { scene async throws in
            var timing = Membership.Timing()
            timing.beat = .milliseconds(50)
            timing.patience = .milliseconds(500)
            let one = try await scene.join()
            let two = try await scene.join(relayed: true, timing: timing)
            let table = try ProcessTable(url: scene.url, schema: "\(scene.prefix)_apps")
            let session = try PostgreSQLSession(table.address, SQLTextCache())
            let old = try #require(try session.owner(ofLock: table.nodeKey, two.node))
            scene.relay.silence()
            try await until {
                let owner = try session.owner(ofLock: table.nodeKey, two.node)
                return owner != nil && owner != old
            }
            try await until { two.state.isHeld }
            await two.leave()
            await one.leave()
        }
    }

    @Test func aNumberThatAnotherProcessTookIsLost() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join()
            let two = try await scene.join(relayed: true)
            scene.relay.cut()
            let other = try await scene.join(node: two.node)
            scene.relay.mend()
            let loss = await two.whenLost()
            #expect(loss?.code == .inUse && other.node == two.node)
            await expect(.unavailable) { try two.check() }
            await other.leave()
            await one.leave()
        }
    }

    // MARK: The lock of the store

    @Test func oneProcessAloneAndSeveralExcludeEachOther() async throws {
        try await MembershipScene.with { scene async throws in
            let alone = try await SoleUse(of: scene.apps, logger: .silent)
            let error = await expect(.inUse) { try await scene.join(timing: impatient) }
            #expect(error?.detail.contains("--store-key") == true)
            await alone.giveUp()
            let one = try await scene.join()
            await expect(.inUse) { try await SoleUse(of: scene.apps, logger: .silent) }
            await one.leave()
        }
    }

    @Test func othersWaitUntilTheFirstHasMigrated() async throws {
        try await MembershipScene.with { scene async throws in
            let first = try await scene.start()
            #expect(first.isFirst)
            // It is not refused, although it waits for no lock, since the first one may be migrating.
            async let waiting = scene.join(timing: impatient)
            try await first.share()
            let second = try await waiting
            #expect(!second.isFirst && second.node != first.node)
            await first.leave()
            await second.leave()
        }
    }

    @Test func missingMigrationsAreNotAppliedBesideOthers() async throws {
        try await MembershipScene.with { scene async throws in
            let first = try await scene.start()
            let database = try await Database.open(
                scene.apps, migrations: [membershipTable], fence: first, logger: .silent)
            try await first.share()
            let second = try await scene.join()
            let more = Migration(2, "u", ["CREATE TABLE u (id BIGINT NOT NULL PRIMARY KEY)"])
            await expect(.olderSchema) {
                try await Database.open(
                    scene.apps, migrations: [membershipTable, more], fence: second, mayMigrate: false, logger: .silent)
            }
            let missing = DatabaseLocation.postgresql(
                url: scene.url, schema: "\(scene.prefix)_sandbox", connections: 1)
            await expect(.olderSchema) {
                try await Database.open(
                    missing, migrations: [membershipTable], fence: second, mayMigrate: false, logger: .silent)
            }
            let same = try await Database.open(
                scene.apps, migrations: [membershipTable], fence: second, mayMigrate: false, logger: .silent)
            try await same.check()
            await same.close()
            await database.close()
            await second.leave()
            await first.leave()
        }
    }

    // MARK: Time

    @Test func silenceEndsFreshnessThenTheRightToWrite() async throws {
        try await MembershipScene.with { scene async throws in
            let clock = Clock()
            var timing = Membership.Timing()
            timing.now = clock.now
            timing.patience = .seconds(30)
            let one = try await scene.join(relayed: true, timing: timing)
            ChangeJournal().hear(one)
            try await until { one.isFresh && one.isCurrent && one.state.isHeld }
            let database = try await Database.open(
                scene.apps, migrations: [membershipTable], fence: one, logger: .silent)
            scene.relay.hold(afterReceiving: 0)
            // An answer under way may still arrive, but none of a question that is asked from now on.
            clock.advance(by: .seconds(1))
            #expect(!one.isFresh && one.isCurrent)
            try await database.check()
            clock.advance(by: .seconds(4))
            #expect(!one.isCurrent && !one.state.isHeld)
            await expect(.unavailable) { try await database.check() }
            await expect(.unavailable) { try await database.write { try $0.execute("INSERT INTO t VALUES (1)") } }
            scene.relay.mend()
            try await until { one.isFresh && one.state.isHeld }
            try await database.check()
            await database.close()
            await one.leave()
        }
    }

    @Test func aProcessWithAnotherTimeDoesNotStart() async throws {
        try await MembershipScene.with { scene async throws in
            let shift = ClockShift()
            var timing = Membership.Timing()
            timing.machine = shift.machine
            for wrong in [-10_000, 10_000] as [Int64] {
                shift.set(wrong)
                let error = await expect(.clockDiffers) { try await scene.join(timing: timing) }
                #expect(error?.detail.contains("NTP") == true)
            }
            shift.set(0)
            let one = try await scene.join(timing: timing)
            await one.leave()
        }
    }

    @Test func aWrongClockStopsTransactionsUntilItIsRight() async throws {
        try await MembershipScene.with { scene async throws in
            let shift = ClockShift()
            var timing = Membership.Timing()
            timing.beat = .milliseconds(20)
            timing.machine = shift.machine
            let one = try await scene.join(relayed: true, timing: timing)
            ChangeJournal().hear(one)
            try await until { one.isFresh }
            // A beat has two readings, and one beat may be under way. So the fourth follows the first beat that has
            // both readings from the wrong clock.
            shift.set(-60_000, pausing: 4)
            try await until { shift.isPaused }
            await expect(.unavailable) { try one.check() }
            shift.goOn()
            try await until { one.state.problem == "clock_differs" }
            #expect(one.state.clockOffset > 50_000 && !one.isFresh && !one.isCurrent)
            await expect(.unavailable) { try one.check() }
            // A new connection does not make it right.
            scene.relay.cut()
            try await until { one.state.problem == "no_node" }
            scene.relay.mend()
            try await until { one.state.problem == "clock_differs" }
            await expect(.unavailable) { try one.check() }
            shift.set(0)
            try await until { one.isFresh }
            try one.check()
            #expect(one.state.problem == nil)
            await one.leave()
        }
    }

    @Test func aSlowAnswerMakesNoClockWrong() {
        #expect(!MembershipThread.clock(3_000, 1_000, 1_000).isWrong)
        #expect(MembershipThread.clock(3_001, 1_000, 1_000).isWrong)
        #expect(MembershipThread.clock(1_000, 3_001, 3_001).isWrong)
        // The question or the answer took six seconds.
        #expect(!MembershipThread.clock(8_000, 0, 6_000).isWrong)
        #expect(MembershipThread.clock(8_001, 0, 6_000).isWrong)
        #expect(MembershipThread.clock(5_000, 0, 6_000).offset == 2_000)
    }

    // MARK: Lost data

    @Test func aServerThatLacksTheLastBeatOfOneProcessIsUsedByNoneUntilTheLossIsAccepted() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join(relayed: true)
            // It lacks nothing, and never loses its connection.
            let two = try await scene.join()
            try await scene.withProcesses { processes async throws in
                scene.relay.cut()
                try await until { !one.state.isHeld }
                try await processes.write { connection in
                    try connection.execute("UPDATE store_processes SET beats = beats - 10 WHERE node = $1", [one.node])
                }
                scene.relay.mend()
                for member in [one, two] {
                    #expect(await member.whenLost()?.code == .dataLost)
                    await expect(.unavailable) { try member.check() }
                    await member.leave()
                }
            }
            // As when a supervisor starts it again.
            let error = await expect(.dataLost) { try await scene.join() }
            #expect(error?.detail.contains("store accept-loss") == true, "\(error?.detail ?? "")")
            let losses = try await Membership.acceptLoss(of: scene.apps)
            #expect(losses.map(\.node) == [one.node] && losses.map(\.process) == ["process for a test"])
            #expect(try await Membership.acceptLoss(of: scene.apps).isEmpty)
            let next = try await scene.join()
            try next.check()
            await next.leave()
        }
    }

    /// A restore removes the schema of the processes. One that was without connection meanwhile must not condemn the
    /// restored databases.
    @Test func aProcessThatComesBackAfterARestoreEndsAlone() async throws {
        try await MembershipScene.with { scene async throws in
            #expect(try await Membership.acceptLoss(of: scene.apps).isEmpty)
            let one = try await scene.join(relayed: true)
            let table = try ProcessTable(url: scene.url, schema: "\(scene.prefix)_apps")
            let session = try PostgreSQLSession(table.address, SQLTextCache())
            scene.relay.cut()
            try await until { try session.owner(ofLock: table.storeKey) == nil }
            _ = try session.command("DROP SCHEMA \"\(table.address.schema)\" CASCADE")
            let two = try await scene.join(node: 5)
            scene.relay.mend()
            #expect(await one.whenLost()?.code == .dataLost)
            #expect(try await Membership.acceptLoss(of: scene.apps).isEmpty)
            try two.check()
            await two.leave()
            await one.leave()
        }
    }

    @Test func aProcessThatComesBackAfterALossWasAcceptedEndsAlone() async throws {
        try await MembershipScene.with { scene async throws in
            let late = try await scene.join(relayed: true)
            let table = try ProcessTable(url: scene.url, schema: "\(scene.prefix)_apps")
            let session = try PostgreSQLSession(table.address, SQLTextCache())
            scene.relay.cut()
            try await until { try session.owner(ofLock: table.storeKey) == nil }
            _ = try session.command("UPDATE store_processes SET beats = beats - 10")
            // Another process records the loss. A promoted server may have no standby for which to wait.
            let losses = try #require(try table.lossesNumber(session))
            try table.recordLoss(by: 9, name: "other", losses: losses, session)
            let accepting = try PostgreSQLSession(table.address, SQLTextCache())
            #expect(try table.removeLosses(accepting).map(\.node) == [9])
            for session in [session, accepting] {
                let row = try session.query("SELECT current_setting('synchronous_commit')", []).first
                #expect(try row?.string(0) == "local")
            }
            let next = try await scene.join(node: 5)
            scene.relay.mend()
            #expect(await late.whenLost()?.code == .dataLost)
            #expect(try !table.hasLoss(session))
            try next.check()
            await next.leave()
            await late.leave()
        }
    }

    /// Such as a privilege that was taken away: it does not show that changes are missing.
    @Test func anErrorOfAnotherKindIsNoLoss() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join(relayed: true)
            let table = try ProcessTable(url: scene.url, schema: "\(scene.prefix)_apps")
            let session = try PostgreSQLSession(table.address, SQLTextCache())
            let changing = try PostgreSQLSession(table.address, SQLTextCache())
            scene.relay.cut()
            try await until { try session.owner(ofLock: table.nodeKey, one.node) == nil }
            _ = try changing.command("BEGIN; ALTER TABLE store_processes RENAME facts TO renamed")
            scene.relay.mend()
            // The process has its number again, and waits for the table.
            try await until { try session.owner(ofLock: table.nodeKey, one.node) != nil }
            _ = try changing.command("COMMIT")
            try await until { try session.owner(ofLock: table.nodeKey, one.node) == nil }
            _ = try changing.command("ALTER TABLE store_processes RENAME renamed TO facts")
            try await until { one.state.isHeld }
            #expect(try !table.hasLoss(session))
            await one.leave()
        }
    }

    @Test func aVersionThatHadTheSchemasMeanwhileIsNoticed() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join(relayed: true)
            let table = try ProcessTable(url: scene.url, schema: "\(scene.prefix)_apps")
            let session = try PostgreSQLSession(table.address, SQLTextCache())
            scene.relay.cut()
            try await until { try session.owner(ofLock: table.storeKey) == nil }
            // It may migrate the schemas, and ends.
            let other = try await scene.start(version: "2")
            #expect(other.isFirst)
            await other.leave()
            scene.relay.mend()
            let loss = await one.whenLost()
            #expect(loss?.code == .settingsDiffer && loss?.detail.contains("version 2") == true)
            await one.leave()
        }
    }

    @Test func aProcessWhoseFactsCannotBeReadKeepsOthersAway() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join()
            let table = try ProcessTable(url: scene.url, schema: "\(scene.prefix)_apps")
            try await scene.withProcesses { processes async throws in
                try await processes.write { connection in
                    _ = try connection.query(
                        "SELECT pg_try_advisory_lock(CAST($1 AS INTEGER), CAST($2 AS INTEGER))",
                        [table.nodeKey, Int64(5)])
                    try connection.execute(
                        """
                        INSERT INTO store_processes (node, session, name, started_at, beat, hears, facts)
                        VALUES (5, 'other', 'other', 0,
                            CAST(1000 * EXTRACT(EPOCH FROM clock_timestamp()) AS BIGINT) + 60000, FALSE, '{}')
                        """)
                }
                let error = await expect(.settingsDiffer) { try await scene.join() }
                #expect(error?.detail.contains("number 5") == true, "\(error?.detail ?? "")")
            }
            await one.leave()
        }
    }

    @Test func aBeatUnderWayDoesNotUndoALoss() throws {
        let core = try MembershipCore(ProcessFacts(version: "1", name: "p", startedAt: 1), Membership.Timing())
        core.setAnswered(.now)
        #expect(core.isHeld)
        core.lose(DatabaseError(.dataLost, "for the test"))
        core.setAnswered(.now)
        core.confirm(HeardChanges.Confirmation(asked: .now, isCertain: true))
        #expect(!core.isHeld && !core.isFresh && !core.isCurrent)
    }

    @Test func aProcessThatGivesUpIsLost() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join()
            one.lose(DatabaseError(.dataLost, "a purchase is missing"))
            #expect(await one.whenLost() == DatabaseError(.dataLost, "a purchase is missing"))
            let error = await expect(.unavailable) { try one.check() }
            #expect(error?.detail == "a purchase is missing")
            await one.leave()
        }
    }
}
