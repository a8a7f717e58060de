import TestSupport
import Testing

@testable import Database

@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1))) struct ConfirmedCommitsTests {
    /// Interrupts a process whose commits were confirmed, and mends the connection afterwards.
    private func interrupt(
        _ meanwhile: (MembershipScene) async throws -> Void, then check: (Membership) async throws -> Void
    ) async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join(relayed: true)
            let database = try await Database.open(
                scene.apps, migrations: [membershipTable], fence: one, logger: .silent)
            try await database.write { connection in
                try connection.execute("INSERT INTO t (id) VALUES (1)")
                connection.witness("SELECT 1 FROM t WHERE id = $1", [.integer(1)])
            }
            try await database.announce("a", "x", isAwaited: false)
            scene.relay.cut()
            try await until { !one.state.isHeld }
            try await meanwhile(scene)
            scene.relay.mend()
            try await check(one)
            await database.close()
            await one.leave()
        }
    }

    @Test func aProcessWhoseCommitsAreThereGoesOn() async throws {
        try await interrupt { scene async throws in
            // As when the server's clock was set back before the last beat.
            try await scene.withProcesses { processes async throws in
                _ = try await processes.write { try $0.execute("UPDATE store_processes SET beat = beat - 1000") }
            }
        } then: { one async throws in
            try await until { one.state.isHeld }
            try one.check()
        }
    }

    @Test func aServerWithoutAConfirmedCommitIsNotUsed() async throws {
        try await interrupt { scene async throws in
            let server = try await Database.open(scene.apps, migrations: [membershipTable], logger: .silent)
            try await server.write { try $0.execute("DELETE FROM t") }
            await server.close()
        } then: { one async throws in
            #expect(await one.whenLost()?.code == .dataLost)
            await expect(.unavailable) { try one.check() }
        }
    }

    @Test func aProcessThatTookTheNumberOfOneWithALostCommitEndsToo() async throws {
        var other: Membership?
        try await interrupt { scene async throws in
            let server = try await Database.open(scene.apps, migrations: [membershipTable], logger: .silent)
            try await server.write { try $0.execute("DELETE FROM t") }
            await server.close()
            other = try await scene.join(node: 0)
        } then: { one async throws in
            #expect(await one.whenLost()?.code == .dataLost)
            #expect(one.node == 0)
            #expect(await other?.whenLost()?.code == .dataLost)
            await other?.leave()
        }
    }

    @Test func aServerWithoutAConfirmedAnnouncementIsNotUsed() async throws {
        try await interrupt { scene async throws in
            try await scene.withProcesses { processes async throws in
                _ = try await processes.write { try $0.execute("UPDATE change_versions SET version = version - 1") }
            }
        } then: { one async throws in
            #expect(await one.whenLost()?.code == .dataLost)
        }
    }

    @Test func aLostCommitIsNoticedAlsoWhenAnotherVersionHadTheSchemas() async throws {
        try await interrupt { scene async throws in
            let table = try ProcessTable(url: scene.url, schema: "\(scene.prefix)_apps")
            let session = try PostgreSQLSession(table.address, SQLTextCache())
            try await until { try session.owner(ofLock: table.storeKey) == nil }
            let other = try await scene.start(version: "2")
            await other.leave()
            _ = try session.command("DELETE FROM \"\(scene.prefix)_apps\".t")
        } then: { one async throws in
            #expect(await one.whenLost()?.code == .dataLost)
        }
    }

    @Test func commitsAreLookedForOnTheServerOfTheLocksOnly() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join()
            let table = try ProcessTable(url: scene.url, schema: "\(scene.prefix)_apps")
            let relayed = try ProcessTable(url: scene.relayedURL, schema: "\(scene.prefix)_apps")
            var commits = ConfirmedCommits()
            commits.add(CommitWitness(sql: "SELECT 1", values: []), nil, in: table.address)
            for (time, isSame) in [("clock_timestamp()", false), ("pg_postmaster_start_time()", true)] {
                scene.relay.replace("pg_postmaster_start_time()", with: time)
                let session = try PostgreSQLSession(relayed.address, SQLTextCache())
                if isSame {
                    #expect(try commits.areKept(by: table, node: 0, patience: .seconds(4), session))
                } else {
                    await expect(.unavailable) {
                        try commits.areKept(by: table, node: 0, patience: .seconds(4), session)
                    }
                }
            }
            await one.leave()
        }
    }

    @Test func onlyTheNewestCommitsAreKept() throws {
        let address = try PostgreSQLAddress(url: "postgres://127.0.0.1/db", schema: "s_apps")
        var commits = ConfirmedCommits()
        for number in 1...1_000 as ClosedRange<Int64> {
            commits.add(CommitWitness(sql: "SELECT $1", values: [.integer(number)]), nil, in: address)
        }
        for version in [1, 3, 2] as [Int64] { commits.add(nil, version, in: address) }
        let newest = Set(commits.values)
        #expect(newest == Set((597...1_000).map { SQLValue.integer($0) }) && commits.version == 3)
    }
}

extension ConfirmedCommits {
    fileprivate var values: [SQLValue] { witnesses.flatMap(\.values) }
}
