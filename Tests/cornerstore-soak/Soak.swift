import Dispatch
import Foundation
import KillTesting
import Synchronization
import TestSupport

/// `cornerstore-soak SECONDS [SEED]`: kills apps, stores and merchants for so long, on SQLite and, when a server is
/// named, on PostgreSQL by turns, and says what became of the purchases.
///
/// `cornerstore-soak cluster SECONDS [SEED]` kills the processes of one store behind nginx instead, and
/// `cornerstore-soak failover` the primary of a PostgreSQL with a standby.
@main
struct Soak {
    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        if words.first == "failover" { exit(await Soak().failOver()) }
        let isCluster = words.first == "cluster"
        let arguments = words.dropFirst(isCluster ? 1 : 0).map { UInt64($0) }
        guard let seconds = arguments.first ?? 600, arguments.count < 2 || arguments.last ?? nil != nil else {
            say("usage: cornerstore-soak [[cluster] SECONDS [SEED]] | failover")
            exit(2)
        }
        let seed = arguments.count > 1 ? arguments.last ?? nil : nil
        if isCluster {
            exit(
                await Soak().runCluster(.seconds(Int(clamping: seconds)), seed: seed ?? .random(in: 0..<1 << 32)))
        }
        exit(await Soak().run(.seconds(Int(clamping: seconds)), seed: seed ?? .random(in: 0..<1 << 32)))
    }

    /// - Returns: the exit code.
    private func run(_ time: Duration, seed: UInt64) async -> Int32 {
        let begin = ContinuousClock.now
        let isInterrupted = Self.interruption()
        let goesOn: @Sendable () -> Bool = {
            ContinuousClock.now - begin < time && !isInterrupted.value.withLock { $0 }
        }
        say("soak: \(time.components.seconds) s on \(Backend.available), seed \(seed)")
        var totals = KillTotals()
        var isBroken = false
        var round: UInt64 = 0
        do {
            let programs = try Programs.built()
            repeat {
                let backend = Backend.available[Int(round) % Backend.available.count]
                let plan = KillRun.Plan(
                    times: 1...2, random: 40, store: 20, devices: 3, seed: seed &+ round &* 1000)
                let merchant = MerchantKillRun.Plan(times: 1...2, random: 20, clients: 4, seed: plan.seed)
                var result = try await MerchantKillRun.run(backend, programs, merchant, goesOn: goesOn)
                if goesOn() { result.add(try await KillRun.run(backend, programs, plan, goesOn: goesOn)) }
                if goesOn() { result.add(try await sendNotifications(backend, programs, seed: plan.seed)) }
                if goesOn() { result.add(try await renewSubscriptions(backend, programs, seed: plan.seed)) }
                totals.add(result)
                for problem in result.lost + result.doubled + result.wrong {
                    say("  \(backend), seed \(plan.seed): \(problem)")
                }
                let elapsed = (ContinuousClock.now - begin).components.seconds
                say("\(elapsed) s  \(backend)  \(totals.line)  (\(totals.detail))")
                round += 1
            } while goesOn()
        } catch {
            say("soak: \(error)")
            isBroken = true
        }
        say(totals.line)
        return totals.isGood && !isBroken ? 0 : 1
    }

    /// Kills a store while it sends notifications, to a server that accepts all and to one that refuses half.
    /// - Returns: the kills, and what is wrong.
    private func sendNotifications(
        _ backend: Backend, _ programs: Programs, seed: UInt64
    ) async throws -> KillTotals {
        var totals = KillTotals()
        for isUnsteady in [false, true] {
            let run = try await NotificationKillRun.run(
                backend, programs, kills: 4, seed: seed, isUnsteady: isUnsteady)
            totals.store += run.kills
            totals.wrong += run.wrong
            say(
                "  \(backend)  \(run.arrived) notifications, \(run.repeated) repeated requests, \(run.kills) kills, "
                    + "\(run.retries) retries")
        }
        return totals
    }

    /// Kills a store while it renews subscriptions, while payments fail and periods are refunded, and with the apps of
    /// two subscribers.
    /// - Returns: the kills, and what is wrong.
    private func renewSubscriptions(
        _ backend: Backend, _ programs: Programs, seed: UInt64
    ) async throws -> KillTotals {
        var totals = KillTotals()
        let renewals = try await RenewalKillRun.run(backend, programs, kills: 12, seed: seed)
        let troubles = try await TroubleKillRun.run(backend, programs, kills: 4, seed: seed)
        let apps = try await SubscriptionKillRun.run(
            backend, programs, launches: 30, seed: seed, patience: .seconds(90))
        totals.store += renewals.kills + troubles.kills + apps.store
        totals.random += apps.kills
        totals.wrong += renewals.wrong + troubles.wrong + apps.wrong
        say(
            "  \(backend)  \(renewals.renewals) renewals, \(troubles.subscriptions) subscriptions with troubles, "
                + "\(apps.periods) periods with apps")
        return totals
    }

    /// Kills the processes of one store, one at a time.
    /// - Returns: the exit code.
    private func runCluster(_ time: Duration, seed: UInt64) async -> Int32 {
        let isInterrupted = Self.interruption()
        say("soak: several stores for \(time.components.seconds) s, seed \(seed)")
        do {
            let plan = ClusterRun.Plan(
                customers: 64, time: time, pause: 2_000...5_000, hasRefunds: true, patience: .seconds(60), seed: seed)
            var totals = try await ClusterRun.run(Programs.built(), plan) {
                !isInterrupted.value.withLock { $0 }
            }
            if !isInterrupted.value.withLock({ $0 }) { totals.wrong += totals.missing }
            for problem in totals.wrong { say("  seed \(seed): \(problem)") }
            say(totals.line)
            return totals.wrong.isEmpty ? 0 : 1
        } catch {
            say("soak: \(error)")
            return 1
        }
    }

    /// Kills the primary of a PostgreSQL whose standby takes over: alone, together with its machine, and while the
    /// standby lacks some of its data.
    /// - Returns: the exit code.
    private func failOver() async -> Int32 {
        // So that a scenario stops its servers and removes its network also when the program is asked to end.
        let isInterrupted = Self.interruption()
        let goesOn = { !isInterrupted.value.withLock { $0 } }
        do {
            let programs = try Programs.built()
            let killed = try await FailoverRun.run(programs, losing: .processes)
            say("failover: \(killed.line)")
            var wrong = killed.wrong
            if let obstacle = try await FailoverRun.obstacle(programs) {
                say("failover from a machine that is gone: not tried, because \(obstacle)")
            } else if goesOn() {
                let gone = try await FailoverRun.run(programs, losing: .machine)
                say("failover from a machine that is gone: \(gone.line)")
                wrong += gone.wrong
            }
            if goesOn() {
                let lagging = try await FailoverRun.runWithLaggingStandby(programs)
                say(
                    "failover to a standby that lacks purchases: "
                        + (lagging.isEmpty ? "refused by all processes" : "wrong"))
                wrong += lagging
            }
            for problem in wrong { say("  \(problem)") }
            return wrong.isEmpty && goesOn() ? 0 : 1
        } catch {
            say("soak: \(error)")
            return 1
        }
    }

    /// At once, also into a file or a pipe.
    private static func say(_ line: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
    }

    private func say(_ line: String) { Self.say(line) }

    private final class Flag: Sendable {
        let value = Mutex(false)
    }

    /// Is set when the program is asked to end: then it ends the round in peace and says the totals.
    private static func interruption() -> Flag {
        let flag = Flag()
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { flag.value.withLock { $0 = true } }
            source.resume()
            sources.withLock { $0.append(Carried(source: source)) }
        }
        return flag
    }

    // @unchecked: only kept, never used again.
    private struct Carried: @unchecked Sendable { let source: any DispatchSourceSignal }
    private static let sources = Mutex<[Carried]>([])
}
