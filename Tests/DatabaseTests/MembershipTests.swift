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
            try two.check()
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
            shift.set(-60_000)
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

    @Test func aServerThatLacksTheLastBeatIsNotUsed() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join(relayed: true)
            try await scene.withProcesses { processes async throws in
                scene.relay.cut()
                try await until { !one.state.isHeld }
                try await processes.write { try $0.execute("UPDATE store_processes SET beat = beat - 1000") }
                scene.relay.mend()
                let loss = await one.whenLost()
                #expect(loss?.code == .dataLost)
            }
            await expect(.unavailable) { try one.check() }
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
