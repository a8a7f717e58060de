import Foundation
import Logging
import Merchant
import ServiceLifecycle
import StoreWire

/// Sends the requests that are queued for stores' APIs, and asks about subscriptions whose notifications may have been
/// lost. The requests to each environment and the questions take turns by themselves: a bounded round, then a pause. A
/// host that does not answer delays only its own requests.
struct StoreAPIService: Service {
    /// The pause between two rounds.
    static let pause = Duration.seconds(10)

    let merchant: Merchant
    let storeAPI: StoreAPIClient
    let pacing: Pacing
    let logger: Logger

    func run() async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                for environment in StoreEnvironment.allCases {
                    group.addTask { await self.makeRounds { await self.sendCalls(to: environment) } }
                }
                group.addTask { await self.makeRounds { if self.storeAPI.hasKeys { await self.sweep() } } }
            }
        }
    }

    /// Makes rounds with pauses until the task is cancelled.
    private func makeRounds(_ round: @Sendable () async -> Void) async {
        while !Task.isCancelled {
            await round()
            do { try await pacing.sleep(Self.pause) } catch { return }
        }
    }

    private func sendCalls(to environment: StoreEnvironment) async {
        do {
            try await merchant.sendStoreCalls(to: environment) { [logger] call in
                logger.log(
                    level: call.isUnwanted ? .info : .warning, "gave up a request to the store",
                    metadata: [
                        "request": .string(call.kind), "app": .string(call.bundleID.rawValue),
                        "environment": .string(call.environment.rawValue),
                        "transaction": .string(call.transactionID), "reason": .string(call.reason),
                    ])
            }
        } catch {
            report("requests to the store were not sent", error)
        }
    }

    private func sweep() async {
        do {
            let round = try await merchant.sweep()
            if round.asked > 0 {
                logger.info(
                    "asked the store about subscriptions",
                    metadata: [
                        "asked": .stringConvertible(round.asked), "changed": .stringConvertible(round.changed),
                        "failed": .stringConvertible(round.failed),
                    ])
            }
        } catch {
            report("the store was not asked about subscriptions", error)
        }
    }

    private func report(_ text: Logger.Message, _ error: any Error) {
        guard !(error is CancellationError) else { return }
        logger.warning(text, metadata: ["error": .string(String(describing: error))])
    }
}
