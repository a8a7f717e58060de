import KillTesting
import TestSupport
import Testing

@Suite("A store that is killed while it sends notifications", .timeLimit(.minutes(1)))
struct NotificationKillTests {
    @Test(arguments: Backend.available)
    func `each period is told of at least once, with one payload and in order`(_ backend: Backend) async throws {
        let seed = UInt64.random(in: 0..<1 << 32)
        let totals = try await NotificationKillRun.run(backend, Programs.built(), kills: 4, seed: seed)
        print("Kill test of notifications, \(backend): \(totals), seed \(seed)")
        #expect(totals.wrong == [], "seed \(seed)")
        #expect(totals.kills == 4 && totals.arrived > 400, "seed \(seed)")
    }
}
