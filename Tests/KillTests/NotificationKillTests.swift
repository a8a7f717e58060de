import KillTesting
import TestSupport
import Testing

@Suite("A store that is killed while it sends notifications", .timeLimit(.minutes(1)))
struct NotificationKillTests {
    @Test(arguments: Backend.available)
    func `each period is told of at least once, with one payload and in order`(_ backend: Backend) async throws {
        let seed = UInt64.random(in: 0..<1 << 32)
        let totals = try await NotificationKillRun.run(backend, Programs.built(), kills: 3, seed: seed)
        print("Kill test of notifications, \(backend): \(totals), seed \(seed)")
        #expect(totals.wrong == [], "seed \(seed)")
        #expect(totals.kills == 3 && totals.arrived > 400, "seed \(seed)")
    }

    @Test(arguments: Backend.available)
    func `a receiver that refuses half gets everything with the retries of production`(
        _ backend: Backend
    ) async throws {
        let seed = UInt64.random(in: 0..<1 << 32)
        let totals = try await NotificationKillRun.run(
            backend, Programs.built(), kills: 1, seed: seed, isUnsteady: true)
        print("Kill test of retries, \(backend): \(totals), seed \(seed)")
        #expect(totals.wrong == [], "seed \(seed)")
        #expect(totals.kills == 3 && totals.arrived > 400, "seed \(seed)")
        #expect(totals.retries >= 5 && totals.repeated > totals.arrived / 2, "seed \(seed)")
    }
}
