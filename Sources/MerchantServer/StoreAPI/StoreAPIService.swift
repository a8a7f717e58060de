import Foundation
import Logging
import Merchant
import ServiceLifecycle

/// Sends the requests that are queued for stores' APIs, and asks about subscriptions whose notifications may have been
/// lost: a bounded round of each, then a pause.
struct StoreAPIService: Service {
    /// The pause between two rounds.
    static let pause = Duration.seconds(10)

    let merchant: Merchant
    let storeAPI: StoreAPIClient
    let pacing: Pacing
    let logger: Logger

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                if storeAPI.hasKeys { await round() }
                do { try await pacing.sleep(Self.pause) } catch { return }
            }
        }
    }

    /// Makes one round.
    func round() async {
        do {
            try await merchant.sendStoreCalls()
        } catch {
            report("requests to the store were not sent", error)
        }
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
