import Foundation
import KillTestApp
import KillTesting
import Merchant
import TestSupport
import Testing

@Suite("Repeated kills", .timeLimit(.minutes(1)))
struct KillTests {
    /// Three runs on each of two databases make 300 kills of this.
    private static let kills = 50

    /// - Parameter time: the how manieth time that an app comes to a point it is killed there.
    @Test(arguments: Backend.available, 1...3)
    func `apps and stores are killed at every point and at random, and every purchase is delivered once`(
        _ backend: Backend, _ time: Int
    ) async throws {
        let seed = UInt64.random(in: 0..<1 << 32)
        let begin = ContinuousClock.now
        let plan = KillRun.Plan(times: time...time, random: 17, store: 10, devices: 3, seed: seed)
        let totals = try await KillRun.run(backend, Programs.built(), plan)
        let seconds = (ContinuousClock.now - begin).components.seconds
        print("Kill test, \(backend), time \(time), \(seconds) s: \(totals.line) (\(totals.detail)), seed \(seed)")
        #expect(totals.lost == [], "seed \(seed)")
        #expect(totals.doubled == [], "seed \(seed)")
        #expect(totals.wrong == [], "seed \(seed)")
        #expect(totals.kills >= Self.kills, "seed \(seed)")
        #expect(totals.random >= plan.random && totals.store >= plan.store, "seed \(seed)")
        // Each launch comes to some of the points once only.
        if time == 1 {
            #expect(Set(KillPoint.allNames).subtracting(totals.points) == [], "seed \(seed): never killed there")
        }
        #expect(totals.purchases > totals.kills && totals.restores >= plan.devices, "seed \(seed)")
    }

    /// What `add` and `finishTransaction` journal is there when they return, whatever the app does next.
    @Test func `an app may exit right after it added a payment or finished a transaction`() async throws {
        let launches = 12
        let result = try await ExitRun.run(.sqlite, Programs.built(), launches: launches)
        #expect(result.verdict.lost == [])
        #expect(result.verdict.doubled == [])
        #expect(result.verdict.wrong == [])
        #expect(result.exits == launches)
        #expect(result.verdict.purchases == result.added && result.added >= launches / 2)
    }

    @Test(arguments: Backend.available)
    func `merchants are killed at every step and at random, and each grant, spend and event happens once`(
        _ backend: Backend
    ) async throws {
        let seed = UInt64.random(in: 0..<1 << 32)
        let begin = ContinuousClock.now
        let plan = MerchantKillRun.Plan(times: 1...1, random: 6, clients: 4, seed: seed)
        let totals = try await MerchantKillRun.run(backend, Programs.built(), plan)
        let seconds = (ContinuousClock.now - begin).components.seconds
        print("Kill test of the merchant, \(backend), \(seconds) s: \(totals.merchantDetail), seed \(seed)")
        #expect(totals.lost == [], "seed \(seed)")
        #expect(totals.doubled == [], "seed \(seed)")
        #expect(totals.wrong == [], "seed \(seed)")
        #expect(totals.merchant >= plan.random + MerchantStep.allCases.count, "seed \(seed)")
        #expect(
            Set(MerchantStep.allCases.map(\.rawValue)).subtracting(totals.merchantPoints) == [],
            "seed \(seed): never killed there")
        #expect(totals.redemptions > totals.merchant && totals.spends > 0, "seed \(seed)")
    }
}
