import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Database

@Suite(.enabled(if: Backend.available.contains(.postgresql)), .timeLimit(.minutes(1))) struct MembershipChangeTests {
    @Test func anAwaitedChangeIsAppliedWhenTheWriteReturns() async throws {
        try await MembershipScene.with { scene async throws in
            let (one, two) = (try await scene.join(), try await scene.join())
            let (own, other) = (ChangeJournal(), ChangeJournal())
            own.hear(one)
            other.hear(two)
            try await until { one.isFresh && two.isFresh && one.isCurrent }
            try await scene.withDatabase(one) { database async throws in
                for number in 0..<20 {
                    let readings = other.readings
                    try await database.announce("accounts", "\(number)")
                    // On a very busy machine the lease may be over first, or a notification come so late that
                    // everything is read again.
                    #expect(!two.isFresh || other.details.last == "\(number)" || other.readings > readings)
                }
            }
            await two.leave()
        }
    }

    @Test func everyProcessHearsEveryChangeAndItsOwn() async throws {
        try await MembershipScene.with { scene async throws in
            let (one, two) = (try await scene.join(timing: .rareBeats), try await scene.join(timing: .rareBeats))
            let (own, other) = (ChangeJournal(), ChangeJournal())
            own.hear(one)
            other.hear(two)
            try await until { own.readings == 1 && other.readings == 1 }
            try await scene.withDatabase(one) { database async throws in
                for number in 0..<20 { try await database.announce("accounts", "\(number)") }
                let all = (0..<20).map { "\($0)" }
                try await until { other.details == all && own.details == all }
                #expect(other.topics == ["apps.accounts"] && other.readings == 1)
            }
            await two.leave()
        }
    }

    @Test func changesOfTwoWritersArriveInTheOrderOfTheirCommits() async throws {
        try await MembershipScene.with { scene async throws in
            let (one, two) = (try await scene.join(timing: .rareBeats), try await scene.join(timing: .rareBeats))
            let journal = ChangeJournal()
            journal.hear(two)
            try await until { journal.readings == 1 }
            try await scene.withDatabase(one) { database async throws in
                try await scene.withDatabase(two) { other async throws in
                    for number in 0..<10 {
                        try await (number % 2 == 0 ? database : other).announce("a", "\(number)", isAwaited: false)
                    }
                    try await until { journal.details.count == 10 }
                    #expect(journal.details == (0..<10).map { "\($0)" })
                }
            }
        }
    }

    @Test func aTransactionThatIsRolledBackAnnouncesNothing() async throws {
        try await MembershipScene.with { scene async throws in
            let (one, two) = (try await scene.join(timing: .rareBeats), try await scene.join(timing: .rareBeats))
            let journal = ChangeJournal()
            journal.hear(two)
            try await until { journal.readings == 1 }
            try await scene.withDatabase(one) { database async throws in
                await expect(.invalidValue) {
                    try await database.write { connection in
                        try connection.announce("a", "lost")
                        throw DatabaseError(.invalidValue, "for the test")
                    }
                }
                await expect(.invalidValue) { try await database.announce("not a topic", "") }
                try await database.announce("a", "kept")
                try await until { !journal.details.isEmpty }
                #expect(journal.details == ["kept"] && journal.readings == 1)
            }
            await two.leave()
        }
    }

    @Test func concurrentChangesAreAllHeard() async throws {
        try await MembershipScene.with { scene async throws in
            let (one, two) = (try await scene.join(timing: .rareBeats), try await scene.join(timing: .rareBeats))
            let journal = ChangeJournal()
            journal.hear(two)
            try await until { journal.readings == 1 }
            try await scene.withDatabase(one) { database async throws in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<16 { group.addTask { try await database.announce("a", "\(number)") } }
                    try await group.waitForAll()
                }
                try await until { journal.details.count == 16 }
                #expect(Set(journal.details) == Set((0..<16).map { "\($0)" }))
            }
            await two.leave()
        }
    }

    @Test func aLostNotificationIsRepairedByTheBeat() async throws {
        try await MembershipScene.with { scene async throws in
            let (one, two) = (try await scene.join(timing: .rareBeats), try await scene.join(timing: .rareBeats))
            let journal = ChangeJournal()
            journal.hear(two)
            try await until { journal.readings == 1 }
            try await scene.withDatabase(one) { database async throws in
                try await database.announce("a", "first")
                try await until { journal.details == ["first"] }
                try await scene.withProcesses { processes async throws in
                    let node = one.node
                    try await processes.write {
                        try $0.execute("UPDATE change_versions SET version = version + 1 WHERE node = $1", [node])
                    }
                }
                try await until { journal.readings >= 2 }
                try await database.announce("a", "second")
                try await until { journal.details == ["first", "second"] }
            }
            await two.leave()
        }
    }

    @Test func whatCannotBeAppliedIsReadAgain() async throws {
        try await MembershipScene.with { scene async throws in
            let (one, two) = (try await scene.join(timing: .rareBeats), try await scene.join(timing: .rareBeats))
            let journal = ChangeJournal()
            journal.hear(two)
            try await until { journal.readings == 1 }
            try await scene.withDatabase(one) { database async throws in
                journal.fail(2)
                try await database.announce("a", "x")
                // It did not come through as an announcement, but everything was read.
                try await until { journal.readings == 2 }
                #expect(journal.details.isEmpty)
            }
            await two.leave()
        }
    }

    @Test func aStalledProcessIsNotFreshWhenTheWriteReturns() async throws {
        try await MembershipScene.with { scene async throws in
            let (one, two) = (try await scene.join(), try await scene.join(relayed: true))
            let journal = ChangeJournal()
            journal.hear(two)
            try await until { two.isFresh }
            try await scene.withDatabase(one) { database async throws in
                scene.relay.hold(afterReceiving: 0)
                let isOver = Mutex(false)
                async let reading = longestTime {
                    try await database.check()
                } until: {
                    isOver.withLock { $0 }
                }
                let begun = ContinuousClock.now
                try await database.announce("a", "x")
                let took = ContinuousClock.now - begun
                #expect(!two.isFresh || journal.details == ["x"])
                isOver.withLock { $0 = true }
                // At most 1.25 s after the commit. A busy machine delays a read, too, and gets a second more.
                let read = try await reading
                #expect(took < .milliseconds(2_250) + read)
                scene.relay.mend()
                // It notices what it missed.
                try await until { journal.details == ["x"] || journal.readings > 1 }
                try await until { two.isFresh }
            }
            await two.leave()
        }
    }

    @Test func aProcessWithoutConnectionIsNotFreshAndReadsEverythingAfterwards() async throws {
        try await MembershipScene.with { scene async throws in
            let (one, two) = (try await scene.join(), try await scene.join(relayed: true))
            let journal = ChangeJournal()
            journal.hear(two)
            try await until { two.isFresh }
            try await scene.withDatabase(one) { database async throws in
                scene.relay.cut()
                try await database.announce("a", "x")
                #expect(!two.isFresh)
                try await until { !two.state.isHeld }
                await expect(.unavailable) { try two.check() }
                scene.relay.mend()
                try await until { two.isFresh && two.state.isHeld }
                #expect(journal.readings >= 2)
            }
            await two.leave()
        }
    }

    @Test func nobodyWaitsForAProcessThatHasLeft() async throws {
        try await MembershipScene.with { scene async throws in
            let (one, two) = (try await scene.join(), try await scene.join())
            ChangeJournal().hear(two)
            try await until { two.isFresh }
            try await scene.withDatabase(one) { database async throws in
                await two.leave()
                let table = try ProcessTable(url: scene.url, schema: "\(scene.prefix)_apps")
                let session = try PostgreSQLSession(table.address, SQLTextCache())
                #expect(try table.appliedByAll(of: one.node, lease: .seconds(60), session) == nil)
                try await database.announce("a", "x")
                #expect(!two.isFresh && !two.isCurrent)
            }
        }
    }

    @Test func hintsReachTheOthers() async throws {
        try await MembershipScene.with { scene async throws in
            let (one, two) = (try await scene.join(), try await scene.join())
            let hints = two.hints()
            one.hint(["sandbox/orders", "not a word", ""])
            var heard: [String] = []
            for await words in hints {
                heard = words
                break
            }
            #expect(heard == ["sandbox/orders"])
            await one.leave()
            await two.leave()
        }
    }

    @Test func theOthersAreKnown() async throws {
        try await MembershipScene.with { scene async throws in
            let one = try await scene.join()
            ChangeJournal().hear(one)
            try await until { one.state.problem == nil }
            #expect(one.others.isEmpty)
            let two = try await scene.join(version: "2")
            #expect(two.others.map(\.version) == ["1"] && two.others.map(\.node) == [one.node])
            var facts = two.facts
            (facts.address, facts.node) = ("http://127.0.0.1:1", 40)
            two.tell(facts)
            try await until { one.others.first?.address == "http://127.0.0.1:1" }
            #expect(one.others.map(\.node) == [two.node] && one.known.map(\.facts) == one.others)
            // A process that was killed a minute ago is known, as silent; one that ended in order is not.
            let killed = try JSONEncoder().encode(ProcessFacts(node: 63, version: "1", name: "killed", startedAt: 1))
            try await scene.withProcesses { processes async throws in
                _ = try await processes.write { connection in
                    try connection.execute(
                        """
                        INSERT INTO store_processes (node, session, name, started_at, beat, hears, facts)
                        VALUES (63, 'killed', 'killed', 1,
                            CAST(1000 * EXTRACT(EPOCH FROM clock_timestamp()) AS BIGINT) - 60000, TRUE, $1)
                        """, [String(decoding: killed, as: UTF8.self)])
                }
            }
            await two.leave()
            try await until { one.others.isEmpty }
            #expect(one.known.map(\.facts.name) == ["killed"] && one.known.first.map { $0.silence >= 60_000 } == true)
            await one.leave()
        }
    }
}
