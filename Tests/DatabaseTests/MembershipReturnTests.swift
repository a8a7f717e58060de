import Foundation
import TestSupport
import Testing

@testable import Database

/// Processes whose connection broke, or that start after one that was killed.
@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1))) struct MembershipReturnTests {
    private func table(_ scene: MembershipScene) throws -> ProcessTable {
        try ProcessTable(url: scene.url, schema: "\(scene.prefix)_apps")
    }

    /// PostgreSQL has given the number to a session of this process, which never heard of it.
    @Test func aNumberWhoseAnswerWasLostIsNotAnotherProcesss() async throws {
        try await MembershipScene.with { scene async throws in
            var timing = Membership.Timing()
            timing.patience = .milliseconds(500)
            let one = try await scene.join()
            let two = try await scene.join(relayed: true, timing: timing)
            let table = try table(scene)
            let session = try PostgreSQLSession(table.address, SQLTextCache())
            scene.relay.cut()
            try await until { try session.owner(ofLock: table.nodeKey, two.node) == nil }
            try await until { !two.state.isHeld }
            scene.relay.silence(afterRequestThatFollows: "pg_try_advisory_lock(CAST($1 AS INTEGER)")
            scene.relay.mend()
            try await until { two.state.isHeld }
            await two.leave()
            await one.leave()
        }
    }

    @Test func aProcessThatReturnsWhileAnotherPreparesTheSchemasStays() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join(relayed: true)
            let table = try table(scene)
            let session = try PostgreSQLSession(table.address, SQLTextCache())
            scene.relay.cut()
            try await until { try session.owner(ofLock: table.storeKey) == nil }
            let starting = try PostgreSQLSession(table.address, SQLTextCache())
            #expect(try table.takeStore(alone: true, starting))
            // It has let go of the lock, and has its usual name, when the returning process has looked at the owner.
            scene.relay.replace(
                "SELECT l.pid, CAST(a.backend_start AS TEXT), a.application_name",
                with: "SELECT l.pid, pg_terminate_backend(l.pid, 9999)::TEXT, 'one'")
            scene.relay.mend()
            try await until { one.state.isHeld }
            withExtendedLifetime(starting) {}
            await one.leave()
        }
    }

    /// As while commits wait for a standby that is away.
    @Test func aConnectionThatBreaksBeforeItsFirstBeatIsNotLoggedAgain() async throws {
        try await MembershipScene.with { scene async throws in
            let lines = LogLines()
            let one = try await scene.join(relayed: true, lines: lines)
            let table = try table(scene)
            let session = try PostgreSQLSession(table.address, SQLTextCache())
            let beat = "beats = beats + 1"
            scene.relay.replace(beat, with: "beats = bears + 1")
            scene.relay.cut()
            var owners: [LockOwner] = []
            try await until { !one.state.isHeld }
            scene.relay.mend()
            try await until {
                if let owner = try session.owner(ofLock: table.nodeKey, one.node), !owners.contains(owner) {
                    owners.append(owner)
                }
                return owners.count == 3
            }
            scene.relay.replace(beat, with: beat)
            try await until { one.state.isHeld }
            try await until { lines.all.contains { $0.text.contains("held again") } }
            await one.leave()
            // Not the lines about migrations.
            let said = lines.all.map(\.text).filter { $0.contains("node number") }
            #expect(said.map { $0.contains("held again") } == [false, true], "\(said)")
        }
    }

    @Test func aKilledProcessIsNotAmongThoseAtTheStart() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join()
            let killed = try JSONEncoder().encode(ProcessFacts(node: 5, version: "1", name: "killed", startedAt: 1))
            try await scene.withProcesses { processes async throws in
                _ = try await processes.write { connection in
                    try connection.execute(
                        """
                        INSERT INTO store_processes (node, session, name, started_at, beat, hears, facts)
                        VALUES (5, 'killed', 'killed', 0,
                            CAST(1000 * EXTRACT(EPOCH FROM clock_timestamp()) AS BIGINT) + 60000, FALSE, $1)
                        """, [String(decoding: killed, as: UTF8.self)])
                }
            }
            let two = try await scene.join()
            #expect(two.othersAtStart.map(\.node) == [one.node])
            try await until { two.others.map(\.node) == [one.node, 5] }
            await two.leave()
            await one.leave()
        }
    }
}
