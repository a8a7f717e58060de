import Dispatch
import Foundation
import KillTesting
import Synchronization
import TestSupport

/// `cornerstore-soak SECONDS [SEED]`: kills apps, stores and merchants for so long, on SQLite and, when a server is
/// named, on PostgreSQL by turns, and says what became of the purchases.
@main
struct Soak {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst().map { UInt64($0) }
        guard let seconds = arguments.first ?? 600, arguments.count < 2 || arguments.last ?? nil != nil else {
            say("usage: cornerstore-soak [SECONDS [SEED]]")
            exit(2)
        }
        let seed = arguments.count > 1 ? arguments.last ?? nil : nil
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
