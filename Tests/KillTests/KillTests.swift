import Foundation
import KillTestApp
import KillTesting
import Merchant
import TestSupport
import Testing

@Suite("Repeated kills", .timeLimit(.minutes(1)))
struct KillTests {
    /// What is killed in one run. All of it would take longer than a minute on a busy machine.
    enum Share: Sendable, CustomTestStringConvertible {
        /// The app, at every second point from `first` on, when it comes there for the `time`th time.
        case points(time: Int, first: Int)
        /// The app and the store, at random moments.
        case random(part: Int)

        static let all =
            (1...3).flatMap { [points(time: $0, first: 0), points(time: $0, first: 1)] } + (1...6).map(random)

        var testDescription: String {
            switch self {
            case .points(let time, let first): "points, time \(time), part \(first + 1)"
            case .random(let part): "random moments, part \(part)"
            }
        }

        func plan(seed: UInt64) -> KillRun.Plan {
            switch self {
            case .points(let time, let first):
                let names = KillPoint.allNames
                return KillRun.Plan(
                    points: stride(from: first, to: names.count, by: 2).map { names[$0] }, times: time...time,
                    random: 0, store: 0, devices: 3, seed: seed)
            case .random:
                return KillRun.Plan(points: [], times: 1...1, random: 9, store: 5, devices: 3, seed: seed)
            }
        }

        /// The fewest kills. In the twelve runs on each of two databases they add up to 312.
        var kills: Int {
            switch self {
            case .points: 12
            case .random: 14
            }
        }
    }

    @Test(arguments: Backend.available, Share.all)
    func `apps and stores are killed at every point and at random, and every purchase is delivered once`(
        _ backend: Backend, _ share: Share
    ) async throws {
        let seed = UInt64.random(in: 0..<1 << 32)
        let begin = ContinuousClock.now
        let plan = share.plan(seed: seed)
        let totals = try await KillRun.run(backend, Programs.built(), plan)
        let seconds = (ContinuousClock.now - begin).components.seconds
        print(
            "Kill test, \(backend), \(share.testDescription), \(seconds) s: \(totals.line) (\(totals.detail)), "
                + "seed \(seed)")
        #expect(totals.lost == [], "seed \(seed)")
        #expect(totals.doubled == [], "seed \(seed)")
        #expect(totals.wrong == [], "seed \(seed)")
        #expect(totals.kills >= share.kills, "seed \(seed)")
        #expect(totals.random >= plan.random && totals.store >= plan.store, "seed \(seed)")
        // Each launch comes to some of the points once only.
        if case .points(time: 1, _) = share {
            #expect(Set(plan.points).subtracting(totals.points) == [], "seed \(seed): never killed there")
        }
        #expect(totals.purchases > totals.named + totals.random && totals.restores >= plan.devices, "seed \(seed)")
    }

    @Test(arguments: Backend.available)
    func `a store is killed while its clock renews subscriptions, and each period is sold once`(
        _ backend: Backend
    ) async throws {
        let seed = UInt64.random(in: 0..<1 << 32)
        let totals = try await RenewalKillRun.run(backend, Programs.built(), kills: 6, seed: seed)
        print("Kill test of renewals, \(backend): \(totals), seed \(seed)")
        #expect(totals.wrong == [], "seed \(seed)")
        #expect(totals.kills == 6 && totals.cut > 0 && totals.renewals > 500, "seed \(seed)")
    }

    /// A crash changes no payment and no piece of news.
    @Test(arguments: Backend.available)
    func `a store is killed while payments fail, plans change and periods are refunded`(
        _ backend: Backend
    ) async throws {
        let seed = UInt64.random(in: 0..<1 << 32)
        let totals = try await TroubleKillRun.run(backend, Programs.built(), kills: 1, seed: seed)
        print("Kill test of troubled subscriptions, \(backend): \(totals), seed \(seed)")
        #expect(totals.wrong == [], "seed \(seed)")
        let days = TroubleKillRun.troubledDays.count
        #expect((2 + days...4 + days).contains(totals.kills) && totals.subscriptions == 70, "seed \(seed)")
        #expect(totals.cut[1] > 0 && totals.cut[2] > 0, "seed \(seed)")
    }

    @Test(arguments: Backend.available)
    func `apps with a subscription are killed, and ledger, receipts and grants agree`(_ backend: Backend) async throws {
        let seed = UInt64.random(in: 0..<1 << 32)
        let totals = try await SubscriptionKillRun.run(backend, Programs.built(), launches: 14, seed: seed)
        print("Kill test of subscribers, \(backend): \(totals), seed \(seed)")
        #expect(totals.wrong == [], "seed \(seed)")
        #expect(totals.kills >= 4 && totals.store > 0 && totals.periods >= 4 && totals.changes > 0, "seed \(seed)")
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
