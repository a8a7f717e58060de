import KillTesting
import TestSupport
import Testing

/// `make test` also runs it for a minute, with more customers and refunds: `cornerstore-soak cluster 60`.
@Suite("Several stores", .serialized, .timeLimit(.minutes(1)))
struct SeveralStoresTests {
    @Test(.enabled(if: ClusterRun.isPossible))
    func `three stores and two merchants behind nginx are killed in turn, and every purchase is made once`()
        async throws
    {
        let seed = UInt64.random(in: 0..<1 << 32)
        let plan = ClusterRun.Plan(
            customers: 8, time: .seconds(12), pause: 200...800, hasRefunds: false, patience: .seconds(24), seed: seed)
        let totals = try await ClusterRun.run(Programs.built(), plan)
        print("Several stores: \(totals.line), seed \(seed)")
        #expect(totals.wrong == [], "seed \(seed)")
        // On a busy machine a start takes a while.
        #expect(!totals.killedStores.isEmpty, "seed \(seed)")
        #expect(totals.purchases > 0 && totals.refused > 0 && totals.redemptions > 0, "seed \(seed)")
    }

    @Test(.enabled(if: ClusterRun.isPossible))
    func `the documented example sells through nginx, and also after its primary was killed`() async throws {
        #expect(try await DocumentedRun.run(Programs.built()) == [])
    }
}
