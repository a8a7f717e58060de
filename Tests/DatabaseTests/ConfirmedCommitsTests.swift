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
        try await interrupt { _ async throws in
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
